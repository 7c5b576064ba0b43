-- Whether passes advance executions, and whether schedules fire: one row. Executions do not advance while a session
-- that is not an agent's pass holds the application lock jobagent.advance, or while a pass takes long. A schedule does
-- not fire while another transaction has locked it or its job, or while no live agent supports its kind.
--
-- Columns:
--   last_advanced_at  When a pass of any agent last advanced executions (UTC), to within a second; a time in 2000:
--                     never.
--   skipped_since     Set if executions are active and an agent is live, but no pass has advanced them for ten seconds
--                     or longer: the time since when. NULL otherwise.
--   unfired_since     Set if an agent is live and the job agent permits firings, but a schedule has been due for a minute
--                     or longer: the time since when. NULL otherwise.
--
-- Plan: the first key of IX_job_executions_hot with its row, the terms that last, and the first key of
-- IX_schedules_next_fire_at.
CREATE OR ALTER VIEW jobs_internal.advance_status
AS
WITH waiting AS (
    SELECT
        a.last_advanced_at,
        (
            SELECT TOP (1) e.create_time
            FROM jobs_internal.job_executions AS e
            WHERE e.is_active = 1
                AND e.parked = 0
            ORDER BY e.execution_id
        ) AS first_run_at,
        (
            SELECT MIN(t.started_at)
            FROM jobs_internal.terms AS t
            WHERE t.ended_at IS NULL
                AND t.expires_at > SYSUTCDATETIME()
        ) AS first_term_at,
        (
            SELECT TOP (1) s.next_fire_at
            FROM jobs_internal.schedules AS s
            INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
            CROSS JOIN jobs_internal.job_agent AS g
            WHERE s.next_fire_at IS NOT NULL
                AND s.next_fire_at < DATEADD(SECOND, -60, SYSUTCDATETIME())
                AND j.deleted_at IS NULL
                AND g.state IN (N'None', N'Creating', N'Ready', N'Updating')
                AND g.paused_at IS NULL
            ORDER BY s.next_fire_at
        ) AS first_due_at
    FROM jobs_internal.advance_state AS a
),
skipped AS (
    SELECT
        w.last_advanced_at,
        CASE
            WHEN w.first_run_at IS NOT NULL AND w.first_term_at IS NOT NULL
                THEN (SELECT MAX(v.at) FROM (VALUES (w.last_advanced_at), (w.first_run_at), (w.first_term_at)) AS v (at))
        END AS since,
        CASE
            WHEN w.first_due_at IS NOT NULL AND w.first_term_at IS NOT NULL
                THEN (SELECT MAX(v.at) FROM (VALUES (w.first_due_at), (w.first_term_at)) AS v (at))
        END AS due_since
    FROM waiting AS w
)
SELECT
    s.last_advanced_at,
    CASE WHEN s.since < DATEADD(SECOND, -10, SYSUTCDATETIME()) THEN s.since END AS skipped_since,
    CASE WHEN s.due_since < DATEADD(SECOND, -60, SYSUTCDATETIME()) THEN s.due_since END AS unfired_since
FROM skipped AS s;
