-- Reads a sealed secret.
--
-- Parameters:
--   @name           Name of the secret.
--   @owner          Owner of the secret: see jobs_internal.store_secret.
--   @with_username  1: a result set with the user name of the credential of this name comes first.
-- Called by: agent/secrets.go, for each attempt of an action that names the secret; jobagent key rotate.
-- Locks:     nothing.
-- Returns:   1: one row: database_id, name, version, nonce, ciphertext, hosts (see jobs_internal.secrets).
--            2: one row per active key: key_id, public_key, data (the data key; NULL: the secret is not sealed for this key).
-- Throws:
--   50150 the secret does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_secret
    @name          NVARCHAR(128),
    @owner         NVARCHAR(200) = N'',
    @with_username BIT = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @read TABLE (
        name       NVARCHAR(128) NOT NULL,
        version    INT NOT NULL,
        nonce      VARBINARY(12) NOT NULL,
        ciphertext VARBINARY(MAX) NOT NULL,
        hosts      NVARCHAR(4000) NULL,
        key_id     NVARCHAR(32) NULL,
        public_key VARBINARY(32) NULL,
        created_at DATETIME2(7) NULL,
        data       VARBINARY(200) NULL,
        username   NVARCHAR(128) NULL
    );

    -- One statement reads one state of the rows, so that a value does not come with the data keys of another version, nor a password with
    -- the user name of another one.
    INSERT INTO @read (name, version, nonce, ciphertext, hosts, key_id, public_key, created_at, data, username)
    SELECT s.name, s.version, s.nonce, s.ciphertext, s.hosts, k.key_id, k.public_key, k.created_at, d.data, c.username
    FROM jobs_internal.secrets AS s
    LEFT JOIN jobs_internal.credentials AS c ON @with_username = 1 AND c.name = s.name
    LEFT JOIN jobs_internal.secret_keys AS k ON k.is_active = 1
    LEFT JOIN jobs_internal.secret_data_keys AS d ON d.key_id = k.key_id AND d.secret_id = s.secret_id
    WHERE s.owner = @owner
        AND s.name = @name;
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The secret ''', @name, N''' does not exist. The view jobs.secrets lists all secrets.'
        ), N'%', N'%%');
        THROW 50150, @message, 1;
    END;
    IF @with_username = 1
        SELECT TOP (1) r.username
        FROM @read AS r;
    SELECT TOP (1) i.database_id, r.name, r.version, r.nonce, r.ciphertext, r.hosts
    FROM jobs_internal.control_identity AS i
    CROSS JOIN @read AS r;
    SELECT r.key_id, r.public_key, r.data
    FROM @read AS r
    WHERE r.key_id IS NOT NULL
    ORDER BY r.created_at DESC, r.key_id;
    RETURN 0;
END;
