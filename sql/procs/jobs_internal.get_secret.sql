-- Reads a sealed secret.
--
-- Parameters:
--   @name   Name of the secret.
--   @owner  Owner of the secret: see jobs_internal.store_secret.
-- Called by: agent/secrets.go, for each attempt of an action that names the secret; jobagent key rotate.
-- Locks:     nothing.
-- Returns:   1: one row: database_id, name, version, nonce, ciphertext, hosts (see jobs_internal.secrets).
--            2: one row per active key: key_id, public_key, data (the data key; NULL: the secret is not sealed for this key).
-- Throws:
--   50150 the secret does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_secret
    @name  NVARCHAR(128),
    @owner NVARCHAR(200) = N''
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @secret_id BIGINT;
    DECLARE @stored_name NVARCHAR(128);
    DECLARE @version INT;
    DECLARE @nonce VARBINARY(12);
    DECLARE @ciphertext VARBINARY(MAX);
    DECLARE @hosts NVARCHAR(4000);

    SELECT
        @secret_id = s.secret_id,
        @stored_name = s.name,
        @version = s.version,
        @nonce = s.nonce,
        @ciphertext = s.ciphertext,
        @hosts = s.hosts
    FROM jobs_internal.secrets AS s
    WHERE s.owner = @owner
        AND s.name = @name;
    IF @secret_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The secret ''', @name, N''' does not exist. The view jobs.secrets lists all secrets.'
        ), N'%', N'%%');
        THROW 50150, @message, 1;
    END;
    SELECT
        i.database_id,
        @stored_name AS name,
        @version AS version,
        @nonce AS nonce,
        @ciphertext AS ciphertext,
        @hosts AS hosts
    FROM jobs_internal.control_identity AS i;
    SELECT
        k.key_id,
        k.public_key,
        d.data
    FROM jobs_internal.secret_keys AS k
    LEFT JOIN jobs_internal.secret_data_keys AS d ON d.key_id = k.key_id AND d.secret_id = @secret_id
    WHERE k.is_active = 1
    ORDER BY k.created_at DESC, k.key_id;
    RETURN 0;
END;
