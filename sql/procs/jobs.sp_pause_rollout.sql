-- Pauses a roll-out: no target and no wave of it starts any more. Attempts that run go on to their end, and a bake goes on.
--
-- Parameters:
--   @job_execution_id  The roll-out: the id of its own run.
--   @reason            Why; at most 1000 characters. NULL: none is given.
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
CREATE OR ALTER PROCEDURE jobs.sp_pause_rollout
    @job_execution_id UNIQUEIDENTIFIER,
    @reason           NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.change_rollout
        @job_execution_id = @job_execution_id,
        @action = N'Pause',
        @text = @reason;
    RETURN 0;
END;
