-- Gives a roll-out more time until its deadline. One that has paused at its deadline, or whose deadline has passed during a pause, gets a
-- new one, and stays paused until it is resumed (jobs.sp_resume_rollout).
--
-- Parameters:
--   @job_execution_id  The roll-out: the id of its own run.
--   @seconds           By how many seconds, 1 to 31536000 (365 days): from the deadline on, or from now on if it has passed.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.change_rollout.
-- Audit:     jobs_internal.change_rollout writes an entry, in its transaction.
-- Job agent: in each state: a roll-out that goes on runs nothing while agents do not work.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50097 a text is longer than its limit.
--   50111 the job execution does not exist.
--   50188 the state of the roll-out does not permit it.
--   50191 the roll-out has no such wave or target.
--   50410 the job execution is not a roll-out.
--   50453 the deadline is extended by less than a second or more than 365 days.
CREATE OR ALTER PROCEDURE jobs.sp_extend_rollout_deadline
    @job_execution_id UNIQUEIDENTIFIER,
    @seconds          INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @seconds IS NULL OR @seconds < 1 OR @seconds > 31536000
        THROW 50453, N'Invalid @seconds: want 1 to 31536000 (365 days).', 1;
    EXECUTE jobs_internal.change_rollout
        @job_execution_id = @job_execution_id,
        @action = N'Deadline',
        @seconds = @seconds;
    RETURN 0;
END;
