-- I20: an undo runs only on targets that its roll-out has changed.
SELECT CONCAT(N'roll-out ', r.execution_id, N' undoes ', r.undo_of, N', and has ', t.server_name, N'/', t.database_name, N', which is ', o.state, N' there') AS detail
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.rollout_targets AS t ON t.execution_id = r.execution_id
LEFT JOIN jobs_internal.rollout_targets AS o ON o.execution_id = r.undo_of AND o.target_id = t.target_id
WHERE r.undo_of IS NOT NULL
    AND EXISTS (SELECT 1 FROM jobs_internal.rollouts AS u WHERE u.execution_id = r.undo_of)
    AND (o.ran IS NULL OR o.ran = 0 OR o.state NOT IN (SELECT p.value FROM STRING_SPLIT(r.undo_states, N',') AS p));
