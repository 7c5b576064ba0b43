-- Returns the state of a secret for the audit log: its definition, without secrets and without what passes and agents change. A
-- new column of the definition must be added here.
--
-- Parameters:
--   @owner  Owner of the secret: see jobs_internal.store_secret.
--   @name   Name of the secret.
--   @state  Receives a JSON object; NULL: there is no such object.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_secret
    @owner NVARCHAR(200),
    @name  NVARCHAR(128),
    @state NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT
            s.version,
            JSON_QUERY(CASE WHEN ISJSON(s.hosts) = 1 THEN s.hosts END) AS hosts,
            (SELECT COUNT(*) FROM jobs_internal.secret_data_keys AS d WHERE d.secret_id = s.secret_id) AS keys
        FROM jobs_internal.secrets AS s
        WHERE s.owner = @owner
            AND s.name = @name
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
