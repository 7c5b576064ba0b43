-- Stores data keys of a secret that were sealed for further keys. The value stays as it is. A secret that was set or deleted
-- meanwhile stays as it is, too.
--
-- Parameters:
--   @name     Name of the secret.
--   @version  Version whose data key was sealed.
--   @keys     JSON array of objects: id (of an active key), data (hexadecimal digits of 80 bytes). They replace the stored ones
--             of these keys.
--   @owner    Owner of the secret: see jobs_internal.store_secret.
-- Called by: agent/secrets.go and jobagent key rotate, which have the private keys of all keys in @keys.
-- Locks:     the rows of all keys (S), the secret's row (U), its rows of secret_data_keys (X).
-- Returns:   0.
-- Throws:
--   50075 the sealed secret is invalid.
--   50153 the secret is not sealed for exactly the active keys.
CREATE OR ALTER PROCEDURE jobs_internal.reseal_secret
    @name    NVARCHAR(128),
    @version INT,
    @keys    NVARCHAR(MAX),
    @owner   NVARCHAR(200) = N''
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @secret_id BIGINT;
    DECLARE @stored INT;
    DECLARE @given TABLE (
        key_id NVARCHAR(32) NOT NULL PRIMARY KEY,
        data   VARBINARY(200) NOT NULL
    );

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_sealed_keys @keys = @keys, @all = 0;
    INSERT INTO @given (key_id, data)
    SELECT g.id, CONVERT(VARBINARY(200), g.data, 2)
    FROM OPENJSON(@keys) WITH (
        id   NVARCHAR(32),
        data NVARCHAR(400)
    ) AS g;
    -- index: UQ_secrets_name, in which other sessions may add the same name
    SELECT
        @secret_id = s.secret_id,
        @stored = s.version
    FROM jobs_internal.secrets AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.owner = @owner
        AND s.name = @name;
    IF @stored = @version
    BEGIN
        DELETE d
        FROM @given AS g
        INNER LOOP JOIN jobs_internal.secret_data_keys AS d ON d.secret_id = @secret_id AND d.key_id = g.key_id;
        INSERT INTO jobs_internal.secret_data_keys (secret_id, key_id, data)
        SELECT @secret_id, g.key_id, g.data
        FROM @given AS g;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
