-- What holds targets of steps, with the number of targets that it holds (DESIGN.md, "Held targets"). Read it by step_execution_id: a
-- range of IX_target_executions_holds, and for each row a key of target_pauses or window_answers.
--
-- Columns:
--   step_execution_id  The step.
--   targets            How many of its targets it holds.
--   ends_at            When it ends (UTC); NULL: that is not known, or it does not end by itself.
--   is_over            1: it has ended, and the next pass looks again; ends_at means nothing then.
CREATE OR ALTER VIEW jobs_internal.step_holds
AS
SELECT
    g.step_execution_id,
    g.targets,
    CASE WHEN a.holds_until IS NOT NULL THEN a.changes_at ELSE p.ends_at END AS ends_at,
    CASE WHEN p.resumed_at IS NOT NULL OR a.is_open = 1 THEN 1 ELSE 0 END AS is_over
FROM (
    SELECT t.step_execution_id, t.held_by, COUNT(*) AS targets
    FROM jobs_internal.target_executions AS t
    WHERE t.held_by IS NOT NULL
        AND t.next_attempt_at IS NOT NULL
    GROUP BY t.step_execution_id, t.held_by
) AS g
LEFT JOIN jobs_internal.target_pauses AS p ON p.pause_id = -g.held_by
LEFT JOIN jobs_internal.window_answers AS a ON a.answer_id = g.held_by;
