-- Changes targets that wait for another attempt in a run: makes the next attempt due, or gives it up. Attempts that agents hold, targets
-- that wait for their first attempt, and callbacks stay as they are.
--
-- Cost: (targets that wait for a retry in the run), at most @slice of them in a call (I15); one key for a single target.
--
-- Parameters:
--   @execution_id  The run.
--   @step_id       Only of this step; NULL: of all steps.
--   @target_id     Only this target; NULL: all.
--   @give_up       1: they end as Failed, with their last error. 0: their next attempt is due now.
--   @by            Who gives them up.
--   @slice         Maximum number of targets that are changed, at least 1.
--   @changed       Receives the number of targets that were changed.
--   @more          Receives 1 if targets may be left.
--   @now           The time of the call; attempts that are due by then are not made due.
-- Called by: jobs_internal.change_retries, within a transaction of its own.
-- Locks:     the targets (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.change_target_retries
    @execution_id BIGINT,
    @step_id      INT = NULL,
    @target_id    UNIQUEIDENTIFIER = NULL,
    @give_up      BIT,
    @by           NVARCHAR(128),
    @slice        INT = 5000,
    @changed      INT OUTPUT,
    @more         BIT OUTPUT,
    @now          DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY, step_id INT NOT NULL);
    DECLARE @targets TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    SET @changed = 0;
    SET @more = 0;

    -- A run that is being stopped cancels what waits. Plan: the run's range of IX_step_executions_active.
    INSERT INTO @steps (step_execution_id, step_id)
    SELECT s.step_execution_id, s.step_id
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
    WHERE e.execution_id = @execution_id
        AND e.is_active = 1
        AND e.stop_requested_at IS NULL
        AND s.is_active = 1
        AND s.lifecycle = N'WaitingForChildJobExecutions';
    IF @step_id IS NOT NULL
        DELETE FROM @steps WHERE step_id <> @step_id;

    -- Only targets that have had an attempt, or are held, have a deadline. Plan: per step a range of IX_target_executions_due, each key
    -- that has one with its row; or its key of UQ_target_executions_target_id.
    IF @target_id IS NOT NULL
        INSERT INTO @targets (target_execution_id)
        SELECT t.target_execution_id
        FROM @steps AS s
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
        WHERE t.target_id = @target_id;
    ELSE IF @give_up = 1
        INSERT INTO @targets (target_execution_id)
        SELECT TOP (@slice) t.target_execution_id
        FROM @steps AS s
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.deadline_at IS NOT NULL
            AND t.lifecycle = N'WaitingForRetry';
    ELSE
        INSERT INTO @targets (target_execution_id)
        SELECT TOP (@slice) t.target_execution_id
        FROM @steps AS s
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
            AND t.deadline_at IS NOT NULL
            AND t.next_attempt_at > @now
            AND t.lifecycle = N'WaitingForRetry';
    IF @@ROWCOUNT = @slice
        SET @more = 1;

    IF @give_up = 1
        UPDATE t
        SET t.lifecycle = N'Failed',
            t.is_active = 0,
            t.end_time = @now,
            t.next_attempt_at = NULL,
            t.last_message = CONCAT(
                t.last_message, CASE WHEN t.last_message NOT LIKE N'%[.!?]' THEN N'.' END,
                N' Given up by ', @by, N' after ', t.attempts, CASE WHEN t.attempts = 1 THEN N' attempt.' ELSE N' attempts.' END
            )
        FROM @targets AS w
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
        WHERE t.lifecycle = N'WaitingForRetry'; -- it may have been claimed meanwhile
    ELSE
        UPDATE t
        SET t.next_attempt_at = @now,
            t.held_by = NULL -- the next claim looks whether it may start
        FROM @targets AS w
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
        WHERE t.lifecycle = N'WaitingForRetry'
            AND t.next_attempt_at > @now;
    SET @changed = @@ROWCOUNT;
    RETURN 0;
END;
