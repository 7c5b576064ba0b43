-- One row: this control database.
--
-- Columns:
--   database_id      Its identity, made at installation. Sealed secrets are bound to it.
--   job_agent_state  State of its job agent (jobs.agent). None: there has never been one, and agents work without. Deleted: there is none
--                    any more, and agents do not work.
--   incarnation      Changes with each jobs.sp_after_restore.
--   paused_time      Since when it is paused (UTC); NULL: it is not. While it is paused, no schedule fires, no run starts, and agents
--                    claim nothing; attempts in flight end.
--   paused_by        Login that paused it, or jobagent if it has paused itself.
--   pause_reason     Why, and what to do.
--   skip_until       Instants of schedules before it are recorded as skipped (UTC); NULL: none.
CREATE OR ALTER VIEW jobs.control_database
AS
SELECT
    i.database_id,
    a.state AS job_agent_state,
    i.incarnation,
    a.paused_at AS paused_time,
    a.paused_by,
    a.pause_reason,
    a.skip_until
FROM jobs_internal.control_identity AS i
CROSS JOIN jobs_internal.job_agent AS a;
