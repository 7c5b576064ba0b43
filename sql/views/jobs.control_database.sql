-- One row: this control database.
--
-- Columns:
--   database_id      Its identity, made at installation. Sealed secrets are bound to it.
--   job_agent_state  State of its job agent (jobs.agent). None: there has never been one, and agents work without. Deleted: there is none
--                    any more, and agents do not work.
CREATE OR ALTER VIEW jobs.control_database
AS
SELECT
    i.database_id,
    a.state AS job_agent_state
FROM jobs_internal.control_identity AS i
CROSS JOIN jobs_internal.job_agent AS a;
