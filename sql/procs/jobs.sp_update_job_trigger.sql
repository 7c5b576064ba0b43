-- Changes a trigger. An argument that is NULL leaves its value. Events that wait are recorded as skipped if the trigger then watches
-- something else, or is disabled.
--
-- Parameters:
--   @job_name       Name of the job that it starts.
--   @trigger_name   Name of the trigger; unique within the job.
--   @upstream_jobs  Names of the jobs that it watches: a JSON array of 1 to 50 names. With several, the job starts when a run of each of
--                   them has ended since it was last started.
--   @run_when       What their runs end with: Succeeded (or SucceededWithSkipped), Failed (or TimedOut), or Finished (anything).
--   @enabled        1: runs that end start the job. 0: they are not stored.
--   @trigger_id     Receives the id.
--   @targets        Which databases its runs have: All, those of the job's target groups, or Succeeded, those of them on which the
--                   upstream jobs succeeded: with several, all of them. Of several runs of an upstream job, the last that had the
--                   database counts, of the latest five.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), job_triggers (U as a whole), the trigger (X), its upstreams (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50097 a text is longer than its limit.
--   50100 the job, or an upstream job, does not exist.
--   50134 the trigger does not exist.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50470 the trigger name is missing or empty.
--   50471 @run_when is invalid.
--   50472 @upstream_jobs is invalid.
--   50475 the job, or an upstream job, can have no triggers.
--   50476 the job would start itself.
--   50481 @targets is invalid.
--   50482 @targets is Succeeded, and no step of the job, or of an upstream job, runs on databases.
CREATE OR ALTER PROCEDURE jobs.sp_update_job_trigger
    @job_name      NVARCHAR(129),
    @trigger_name  NVARCHAR(129),
    @upstream_jobs NVARCHAR(MAX) = NULL,
    @run_when      NVARCHAR(11) = NULL,
    @enabled       BIT = NULL,
    @trigger_id    BIGINT = NULL OUTPUT,
    @targets       NVARCHAR(11) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_trigger
        @mode = N'Update',
        @job_name = @job_name,
        @trigger_name = @trigger_name,
        @upstream_jobs = @upstream_jobs,
        @run_when = @run_when,
        @enabled = @enabled,
        @trigger_id = @trigger_id OUTPUT,
        @targets = @targets;
    RETURN 0;
END;
