-- Changes a job. Omitted or NULL values stay unchanged. The job's version does not change.
--
-- Parameters:
--   @job_name                 Name of the job.
--   @new_name                 New name; unique; must not contain %.
--   @description              Free text.
--   @enabled                  1: the schedule starts runs. 0: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case.
--   @schedule_interval_count  Units between two runs; at least 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC).
--   @schedule_end_time        Time after which no run may begin (UTC).
--   @if_match                 The job's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U, X), the range of the new name (U), the job's schedule (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name, or the new name, is missing or empty.
--   50002 the new name contains %.
--   50003 the new name is reserved for system jobs.
--   50004 the schedule interval type is invalid.
--   50005 the schedule interval count is below 1.
--   50006 the schedule ends before it starts.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50101 a job of the new name exists already.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_update_job
    @job_name                NVARCHAR(129),
    @new_name                NVARCHAR(129) = NULL,
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = NULL,
    @schedule_interval_type  NVARCHAR(51) = NULL,
    @schedule_interval_count INT = NULL,
    @schedule_start_time     DATETIME2 = NULL,
    @schedule_end_time       DATETIME2 = NULL,
    @if_match                BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_job
        @mode = N'Update',
        @job_name = @job_name,
        @new_name = @new_name,
        @description = @description,
        @enabled = @enabled,
        @schedule_interval_type = @schedule_interval_type,
        @schedule_interval_count = @schedule_interval_count,
        @schedule_start_time = @schedule_start_time,
        @schedule_end_time = @schedule_end_time,
        @if_match = @if_match;
    RETURN 0;
END;
