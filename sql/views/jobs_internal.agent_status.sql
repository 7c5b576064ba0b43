-- Agents and their latest terms, for `jobagent agent status`.
--
-- Columns:
--   agent_id                The agent.
--   host_name               Machine of the latest term.
--   version                 Program version of the latest term.
--   max_concurrent_targets  Limit of the latest term.
--   term_id                 The latest term.
--   started_at              When it began (UTC).
--   expires_at              When it ends unless renewed.
--   ended_at                When the term ended; NULL while it has not been ended.
--   end_reason              Ended, Replaced, Expired or Outdated; NULL while it has not been ended.
--   is_live                 1: the term has neither ended nor expired.
--   held_tasks              Number of tasks that the term holds.
--   protocol                Protocol of the latest term (jobs_internal.agent_protocols).
--   command_types           The types of commands that the agent runs in the latest term, separated by commas.
--   first_seen_at           When its first term began.
--   engine                  Program and digest of the time zone rules that compute its schedules; NULL: an agent of an earlier release.
--                           Agents whose engines differ may compute other instants for the same schedule.
--   zone_data               Source of these rules, and their version if it is known; NULL likewise.
--   recent_terms            Number of its terms that began within 24 hours, of the latest 100: more than one means restarts.
CREATE OR ALTER VIEW jobs_internal.agent_status
AS
SELECT
    a.agent_id,
    a.host_name,
    a.version,
    a.max_concurrent_targets,
    t.term_id,
    t.started_at,
    t.expires_at,
    t.ended_at,
    t.end_reason,
    CAST(CASE WHEN t.ended_at IS NULL AND t.expires_at > SYSUTCDATETIME() THEN 1 ELSE 0 END AS BIT) AS is_live,
    (
        SELECT COUNT(*)
        FROM jobs_internal.task_executions AS k
        WHERE k.term_id = t.term_id
            AND k.ended_at IS NULL
    ) AS held_tasks,
    t.protocol,
    t.command_types,
    a.first_seen_at,
    a.engine,
    a.zone_data,
    (
        SELECT COUNT(*)
        FROM (
            SELECT TOP (100) x.started_at
            FROM jobs_internal.terms AS x
            WHERE x.agent_id = a.agent_id
            ORDER BY x.term_id DESC
        ) AS l
        WHERE l.started_at > DATEADD(HOUR, -24, SYSUTCDATETIME())
    ) AS recent_terms
FROM jobs_internal.agents AS a
INNER JOIN jobs_internal.terms AS t ON t.agent_id = a.agent_id
WHERE t.term_id = (SELECT MAX(x.term_id) FROM jobs_internal.terms AS x WHERE x.agent_id = a.agent_id);
