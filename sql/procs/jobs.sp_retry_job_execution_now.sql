-- Makes the next attempt due of all targets of a run that wait for a retry, or of some, such as after their data was mended. The attempt
-- counts as it would have later. What runs, has not begun or is final stays as it is; jobs.sp_rerun_job_execution runs again what is final.
-- A run that is set aside (jobs.set_asides) is tried again at once.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @step_id           Only of this step; NULL: of all steps.
--   @target_id         Only this target, as in jobs.job_executions; NULL: all, and resolutions of target groups.
--   @changed           Receives the number of targets and resolutions that were changed; 0: nothing waits for a retry there.
--   @slice             Number of targets that one transaction changes at most. For tests only.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.change_retries.
-- Audit:     jobs_internal.change_retries writes an entry for each slice, in its transaction.
-- Job agent: in each state: what waits would be due anyway.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_retry_job_execution_now
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @step_id          INT = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL,
    @changed          INT = NULL OUTPUT,
    @slice            INT = 5000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0
        THROW 50136, N'Retries are not made due inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    EXECUTE jobs_internal.change_retries
        @job_execution_id = @job_execution_id,
        @step_id = @step_id,
        @target_id = @target_id,
        @give_up = 0,
        @changed = @changed OUTPUT,
        @slice = @slice;
    RETURN 0;
END;
