-- Databases to which target groups were resolved, by the last list of targets of each group, and those that earlier lists had. Lists of
-- runs on chosen databases, of reruns, and of steps that run on the targets that failed do not count. The last list may be old: a group is
-- resolved when a job runs on it.
--
-- Columns:
--   target_group_id    Id of the target group.
--   target_group_name  Name of the target group.
--   target_id          Id of the database, as in jobs.targets.
--   server_name        Name of the server.
--   database_name      Name of the database.
--   found_time         When a list of the group first had it, or had it again (UTC).
--   is_gone            1: the last list of the group does not have it.
--   gone_time          When a list of the group first did not have it (UTC); NULL: the last one has it.
--   resolved_time      When the last list of the group was made (UTC).
CREATE OR ALTER VIEW jobs.target_group_targets
AS
SELECT
    g.target_group_id,
    g.name AS target_group_name,
    t.target_id,
    t.server_name,
    t.database_name,
    m.found_at AS found_time,
    CAST(CASE WHEN m.gone_at IS NULL THEN 0 ELSE 1 END AS BIT) AS is_gone,
    m.gone_at AS gone_time,
    l.resolved_at AS resolved_time
FROM jobs_internal.group_targets AS m
INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = m.target_group_id
INNER JOIN jobs_internal.group_lists AS l ON l.target_group_id = m.target_group_id
INNER JOIN jobs_internal.targets AS t ON t.target_id = m.target_id;
