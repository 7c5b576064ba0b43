-- The protocols of agents that this schema understands: one row. A protocol is a number for what an agent takes for
-- granted about the procedures that it calls. Within a protocol, procedures may get parameters with defaults, and result sets
-- and columns at the end; what else changes makes the next number. A schema understands its own and, so that agents can be
-- upgraded one after the other once the schema has been, the one before it.
--
--   1  The first release.
--   2  The agent carries out steps of type Upkeep: calls of its own on the control database. Agents of protocol 1 get no such tasks.
--
-- Columns:
--   oldest  The oldest protocol that is understood.
--   newest  The newest one.
CREATE OR ALTER VIEW jobs_internal.agent_protocols
AS
SELECT
    1 AS oldest,
    2 AS newest;
