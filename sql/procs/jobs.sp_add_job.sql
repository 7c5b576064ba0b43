-- Adds a job without steps; its version is 0. The first step makes it version 1.
--
-- Parameters:
--   @job_name                 Name; unique among jobs; must not contain %.
--   @description              Free text; NULL is stored as empty text.
--   @enabled                  1: the schedule starts runs. 0: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case.
--   @schedule_interval_count  Units between two runs; at least 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC). The default, in the year 1, means at once.
--   @schedule_end_time        Time after which no run may begin (UTC).
--   @job_id                   Receives the new id.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in jobs (U); then inserts into jobs, job_versions, schedules; an insert
--            into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50004 the schedule interval type is invalid.
--   50005 the schedule interval count is below 1.
--   50006 the schedule ends before it starts.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50101 a job of this name exists already.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_job
    @job_name                NVARCHAR(129),
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = 0,
    @schedule_interval_type  NVARCHAR(51) = N'Once',
    @schedule_interval_count INT = 1,
    @schedule_start_time     DATETIME2 = '0001-01-01 00:00:00.0000000',
    @schedule_end_time       DATETIME2 = '9999-12-31 11:59:59.0000000',
    @job_id                  UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_job
        @mode = N'Add',
        @job_name = @job_name,
        @description = @description,
        @enabled = @enabled,
        @schedule_interval_type = @schedule_interval_type,
        @schedule_interval_count = @schedule_interval_count,
        @schedule_start_time = @schedule_start_time,
        @schedule_end_time = @schedule_end_time,
        @job_id = @job_id OUTPUT;
    RETURN 0;
END;
