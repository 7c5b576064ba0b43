-- Reads a stored credential with its sealed password.
--
-- Parameters:
--   @name  Name of the credential.
-- Called by: agent/credentials.go, for names that the agent's configuration does not have.
-- Locks:     nothing.
-- Returns:   1: one row: username.
--            2 and 3: as jobs_internal.get_secret.
-- Throws:
--   50150 the secret does not exist.
--   50156 the credential does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_credential
    @name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.credentials AS c WHERE c.name = @name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The credential ''', @name, N''' does not exist. The view jobs.credentials lists all credentials.'
        ), N'%', N'%%');
        THROW 50156, @message, 1;
    END;
    EXECUTE jobs_internal.get_secret @name = @name, @owner = N'credential', @with_username = 1;
    RETURN 0;
END;
