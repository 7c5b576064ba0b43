-- How long targets of steps took. Plan: the target by its key, and its attempts by IX_task_executions_execution_id.
--
-- Columns:
--   target_execution_id  The target of a step of a run.
--   duration_ms          From the first attempt to the end of the last one, waits between them included. The last one counts by the
--                        agent's clock: by the database's, it would last until its outcome was stored, and agents send outcomes together.
--                        By the database's clock alone where no attempt ended the target (it was canceled while it waited, or a report
--                        decided). At least 0, also after a jump of the clock. NULL: not final, or no attempt has begun.
CREATE OR ALTER VIEW jobs_internal.target_durations
AS
SELECT
    t.target_execution_id,
    CASE
        WHEN t.start_time IS NOT NULL AND t.end_time IS NOT NULL
            THEN (
                SELECT CASE WHEN d.ms < 0 THEN 0 ELSE d.ms END
                FROM (
                    SELECT COALESCE((
                        SELECT TOP (1) DATEDIFF_BIG(MILLISECOND, t.start_time, k.claimed_at) + k.elapsed_ms
                        FROM jobs_internal.task_executions AS k
                        WHERE k.execution_id = t.execution_id
                            AND k.step_execution_id = t.step_execution_id
                            AND k.target_execution_id = t.target_execution_id
                            AND k.ended_at = t.end_time
                        ORDER BY k.task_id DESC
                    ), DATEDIFF_BIG(MILLISECOND, t.start_time, t.end_time)) AS ms
                ) AS d
            )
    END AS duration_ms
FROM jobs_internal.target_executions AS t;
