-- Returns the state of a member of a target group for the audit log: its definition, without secrets and without what passes
-- and agents change. A new column of the definition must be added here.
--
-- Parameters:
--   @target_group_id  The target group.
--   @target_id        The member.
--   @state            Receives a JSON object; NULL: there is no such object.
--   @revision         Receives the revision of the target group.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_member
    @target_group_id UNIQUEIDENTIFIER,
    @target_id       UNIQUEIDENTIFIER,
    @state           NVARCHAR(MAX) OUTPUT,
    @revision        BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SELECT @revision = g.revision
    FROM jobs_internal.target_groups AS g
    WHERE g.target_group_id = @target_group_id;
    SET @state = (
        SELECT
            m.membership_type, m.target_type, m.refresh_credential_name, m.server_name, m.database_name, m.elastic_pool_name,
            m.shard_map_name, m.tag_filter, m.query,
            (SELECT n.name FROM jobs_internal.target_groups AS n WHERE n.target_group_id = m.member_group_id) AS member_group_name
        FROM jobs_internal.target_group_members AS m
        WHERE m.target_group_id = @target_group_id
            AND m.target_id = @target_id
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
