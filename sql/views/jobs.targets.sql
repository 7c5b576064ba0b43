-- Databases that are known: those to which target groups were ever resolved, and those that have tags. Agents register the databases of a
-- list of targets some seconds after it was made.
--
-- Columns:
--   target_id          Id of the database, as in jobs.job_executions.
--   server_name        Name of the server.
--   database_name      Name of the database.
--   elastic_pool_name  Elastic pool in which it was last found; NULL: none.
--   first_seen_time    When a list of targets first had it (UTC); NULL: none has had it yet, but it has tags.
--   last_seen_time     When a list last had it (UTC), to within an hour; NULL likewise.
--   is_gone            1: it was resolved earlier, and no target group resolves it any more.
--   gone_time          Since when it is gone (UTC); NULL: it is not.
--   tags               Its tags: a JSON object of texts. The view jobs.target_tags has a row for each.
--   paused_time        Since when it is paused (UTC), so that no attempt starts on it: jobs.target_pauses. NULL: it is not.
--   pause_end_time     When the pause ends by itself (UTC); NULL: somebody has to end it.
--   pause_reason       Why it is paused; NULL: no reason was given.
CREATE OR ALTER VIEW jobs.targets
AS
SELECT
    t.target_id,
    t.server_name,
    t.database_name,
    t.elastic_pool_name,
    t.first_seen_at AS first_seen_time,
    t.last_seen_at AS last_seen_time,
    CAST(CASE WHEN t.gone_at IS NULL THEN 0 ELSE 1 END AS BIT) AS is_gone,
    t.gone_at AS gone_time,
    CONCAT(N'{', g.members, N'}') AS tags,
    p.paused_at AS paused_time,
    p.ends_at AS pause_end_time,
    p.reason AS pause_reason
FROM jobs_internal.targets AS t
LEFT JOIN jobs_internal.target_pauses AS p ON p.target_id = t.target_id
    AND p.resumed_at IS NULL
    AND (p.ends_at IS NULL OR p.ends_at > SYSUTCDATETIME())
OUTER APPLY (
    SELECT
        STRING_AGG(
            CAST(CONCAT(N'"', g.name, N'":"', STRING_ESCAPE(g.value, N'json'), N'"') AS NVARCHAR(MAX)),
            N','
        ) WITHIN GROUP (ORDER BY g.name) AS members
    FROM jobs_internal.target_tags AS g
    WHERE g.target_id = t.target_id
) AS g;
