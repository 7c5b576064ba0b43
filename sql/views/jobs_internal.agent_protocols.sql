-- The agent protocols that this schema supports: one row. A protocol is a version of the contract between agents and
-- the procedures that they call. Within a protocol, procedures may get parameters with defaults, and result sets and
-- columns at the end; every other change makes a new protocol. A schema supports its own protocol and all protocols since the
-- previous release, so that agents can be upgraded one after the other once the schema has been migrated.
--
--   1  The first release.
--   2  The agent carries out steps of type Upkeep by its own calls to the control database. Agents of protocol 1 get no such tasks.
--   3  A term names the types of commands that its agent runs, and gets no other tasks. Agents of protocols 1 and 2 run TSql. Before an
--      action sends, the agent calls jobs_internal.begin_send. The outcomes Accepted and NoAnswer exist.
--   4  The agent makes a GUID for its term and one for each pass, and names them in its calls and outcomes.
--
-- Columns:
--   oldest  The oldest supported protocol.
--   newest  The newest supported protocol.
CREATE OR ALTER VIEW jobs_internal.agent_protocols
AS
SELECT
    1 AS oldest,
    4 AS newest;
