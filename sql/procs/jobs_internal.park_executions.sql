-- Parks steps whose active targets all wait for callbacks, and runs whose active steps are all parked. Passes read neither.
-- Only jobs_internal.end_callbacks ends such a wait, and it ends the parking of the step; so no change of a parked row is
-- missed (DESIGN.md, "Parking").
--
-- Cost: (steps and runs that are active and not parked), some keys each, however many targets wait.
--
-- Parameters:
--   @slice  Maximum number of steps, and of runs, that it parks; the next pass parks the rest.
-- Called by: jobs_internal.advance, within a transaction that holds the application lock jobagent.advance.
-- Locks:     the steps (X), the runs (U, then X), skipping locked runs, which wait for a later pass.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.park_executions
    @slice INT = 5000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);

    -- Steps that have only waiting targets: one waits, none is due, and no agent holds one. This is one statement, and so one state of the
    -- rows (READ_COMMITTED_SNAPSHOT): an outcome makes a target due in the transaction that ends its task. A target that waits does so
    -- until this transaction ends, because only jobs_internal.advance ends a wait. Plan: per active step one key each of
    -- IX_target_executions_waiting and IX_target_executions_due; IX_task_executions_held once, which the hint ensures: no index begins with
    -- the step, so loops would read all held tasks for each step. The waiting targets are not read.
    IF EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.lifecycle = N'WaitingForCallback')
        -- reads: the tasks that agents hold
        INSERT INTO @steps (step_execution_id)
        SELECT TOP (@slice) s.step_execution_id
        FROM jobs_internal.step_executions AS s
        LEFT HASH JOIN (
            SELECT DISTINCT k.step_execution_id
            FROM jobs_internal.task_executions AS k
            WHERE k.ended_at IS NULL
        ) AS h ON h.step_execution_id = s.step_execution_id
        WHERE s.is_active = 1
            AND s.parked = 0
            AND s.lifecycle = N'WaitingForChildJobExecutions'
            AND h.step_execution_id IS NULL
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND s.execution_id BETWEEN z.first_id AND z.last_id
            )
            AND EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = s.step_execution_id
                    AND t.lifecycle = N'WaitingForCallback'
            )
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = s.step_execution_id
                    AND t.next_attempt_at IS NOT NULL
            );
    IF EXISTS (SELECT 1 FROM @steps AS w)
        UPDATE s
        SET s.parked = 1
        FROM @steps AS w
        INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id;

    -- Plan: IX_job_executions_hot, and per run one key each of IX_step_executions_hot and IX_step_executions_active.
    INSERT INTO @runs (execution_id)
    SELECT TOP (@slice) e.execution_id
    FROM jobs_internal.job_executions AS e
    WHERE e.is_active = 1
        AND e.parked = 0
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND e.execution_id BETWEEN z.first_id AND z.last_id
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = e.execution_id
                AND s.is_active = 1
                AND s.parked = 0
        )
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = e.execution_id
                AND s.is_active = 1
        )
        AND NOT EXISTS ( -- a step that ended just now, and that others may come after
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = e.execution_id
                AND s.unfollowed = 1
                AND s.is_active = 0
        );
    IF @@ROWCOUNT = 0
        RETURN 0;
    -- allow_overlap is in no index, so that the locks are on the clustered key.
    INSERT INTO @locked (execution_id, allow_overlap)
    SELECT e.execution_id, e.allow_overlap
    FROM @runs AS r
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = r.execution_id;
    UPDATE e
    SET e.parked = 1
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
    WHERE e.stop_requested_at IS NULL; -- a run with a stop request is not parked
    RETURN 0;
END;
