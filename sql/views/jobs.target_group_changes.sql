-- How target groups have changed: one row for each list of targets that has other databases than the one before it of the same group. Lists
-- of runs on chosen databases, of reruns, and of steps that run on the targets that failed do not count. Rows are as old as the history of
-- runs. jobs.target_group_targets has the databases: those with this found_time came, and those with this gone_time went.
--
-- Columns:
--   target_group_id    Id of the target group.
--   target_group_name  Name of the target group.
--   resolved_time      When the list was made (UTC).
--   targets_before     Number of databases that the group had before; 0 for its first list.
--   targets_found      Number of databases that came.
--   targets_lost       Number of databases that went.
--   targets            Number of databases of the list.
CREATE OR ALTER VIEW jobs.target_group_changes
AS
SELECT
    g.target_group_id,
    g.name AS target_group_name,
    c.resolved_at AS resolved_time,
    c.had AS targets_before,
    c.found AS targets_found,
    c.lost AS targets_lost,
    c.had + c.found - c.lost AS targets
FROM jobs_internal.group_changes AS c
INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = c.target_group_id;
