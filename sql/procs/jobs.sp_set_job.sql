-- Creates a job, or replaces the description and schedule of an existing one: what is omitted gets its default. Setting the same
-- values again changes nothing and does not start the schedule anew. The errors of sp_add_job and sp_update_job are errors of this
-- procedure, too.
--
-- Parameters:
--   @job_name                 Name of the job. An existing job keeps its spelling.
--   @description              Free text; NULL: empty.
--   @enabled                  1: the schedule starts runs. 0 or NULL: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case; NULL: Once.
--   @schedule_interval_count  Units between two runs; NULL: 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC); NULL: 0001-01-01.
--   @schedule_end_time        Time after which no run may begin (UTC); NULL: 9999-12-31T11:59:59.
--   @if_match                 The job's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @job_id                   Receives its id.
--   @created                  Receives 1 if the job is new.
--   @revision                 Receives its revision.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in jobs (U), the job's row (U, X), the job's schedule (X).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_job
    @job_name                NVARCHAR(129),
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = NULL,
    @schedule_interval_type  NVARCHAR(51) = NULL,
    @schedule_interval_count INT = NULL,
    @schedule_start_time     DATETIME2 = NULL,
    @schedule_end_time       DATETIME2 = NULL,
    @if_match                BIGINT = NULL,
    @job_id                  UNIQUEIDENTIFIER = NULL OUTPUT,
    @created                 BIT = NULL OUTPUT,
    @revision                BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_job
        @mode = N'Set',
        @job_name = @job_name,
        @description = @description,
        @enabled = @enabled,
        @schedule_interval_type = @schedule_interval_type,
        @schedule_interval_count = @schedule_interval_count,
        @schedule_start_time = @schedule_start_time,
        @schedule_end_time = @schedule_end_time,
        @if_match = @if_match,
        @job_id = @job_id OUTPUT,
        @created = @created OUTPUT,
        @revision = @revision OUTPUT;
    RETURN 0;
END;
