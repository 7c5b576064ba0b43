-- Gives up all targets of a run that wait for a retry, or some: they end as Failed with their last error, and the run goes on without them.
-- What runs, has not begun or is final stays as it is; jobs.sp_stop_job ends the whole run.
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
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_give_up_job_execution
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
        THROW 50136, N'Targets are not given up inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    EXECUTE jobs_internal.change_retries
        @job_execution_id = @job_execution_id,
        @step_id = @step_id,
        @target_id = @target_id,
        @give_up = 1,
        @changed = @changed OUTPUT,
        @slice = @slice;
    RETURN 0;
END;
