-- Returns a sealed secret that the definition of a channel of alerts names. The caller opens it with a private key of its configuration;
-- without one, the sealed value is of no use.
--
-- Parameters:
--   @name  Name of the secret.
-- Called by: agent/secrets.go, in agents and fronts.
-- Locks:     nothing.
-- Returns:   As jobs_internal.get_secret.
-- Throws:
--   50150 no channel names the secret, or it does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_alert_secret
    @name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);

    -- Plan: there are few channels.
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.alert_channels AS c
        WHERE c.needs_secrets = 1
            AND CHARINDEX(CONCAT(N'$(secret.', @name, N')'), c.definition) > 0
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'No alert channel names a secret ''', @name, N'''.'), N'%', N'%%');
        THROW 50150, @message, 1;
    END;
    EXECUTE jobs_internal.get_secret @name = @name;
    RETURN 0;
END;
