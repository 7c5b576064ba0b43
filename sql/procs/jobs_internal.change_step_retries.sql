-- Changes resolutions of target groups that wait for another attempt in a run: makes the next attempt due, or gives it up.
--
-- Parameters:
--   @execution_id  The run.
--   @step_id       Only of this step; NULL: of all steps.
--   @give_up       1: they end as Failed, with their last error. 0: their next attempt is due now.
--   @by            Who gives them up.
--   @changed       Receives the number of steps that were changed.
--   @now           The time of the call; attempts that are due by then are not made due.
-- Called by: jobs_internal.change_retries, within a transaction of its own.
-- Locks:     the steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.change_step_retries
    @execution_id BIGINT,
    @step_id      INT = NULL,
    @give_up      BIT,
    @by           NVARCHAR(128),
    @changed      INT OUTPUT,
    @now          DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY, step_id INT NOT NULL);
    SET @changed = 0;

    -- A run that is being stopped cancels what waits. Plan: the run's range of IX_step_executions_active.
    INSERT INTO @steps (step_execution_id, step_id)
    SELECT s.step_execution_id, s.step_id
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
    WHERE e.execution_id = @execution_id
        AND e.is_active = 1
        AND e.stop_requested_at IS NULL
        AND s.is_active = 1
        AND s.lifecycle = N'WaitingForRetry';
    IF @step_id IS NOT NULL
        DELETE FROM @steps WHERE step_id <> @step_id;
    IF @give_up = 1
        UPDATE s
        SET s.lifecycle = N'Failed',
            s.is_active = 0,
            s.end_time = @now,
            s.next_attempt_at = NULL,
            s.last_message = CONCAT(
                s.last_message, CASE WHEN s.last_message NOT LIKE N'%[.!?]' THEN N'.' END,
                N' Given up by ', @by, N' after ', s.attempts, CASE WHEN s.attempts = 1 THEN N' attempt.' ELSE N' attempts.' END
            )
        FROM @steps AS w
        INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
        WHERE s.lifecycle = N'WaitingForRetry'; -- it may have been claimed meanwhile
    ELSE
        UPDATE s
        SET s.next_attempt_at = @now
        FROM @steps AS w
        INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
        WHERE s.lifecycle = N'WaitingForRetry'
            AND s.next_attempt_at > @now;
    SET @changed = @@ROWCOUNT;
    RETURN 0;
END;
