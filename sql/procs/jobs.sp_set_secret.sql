-- Sets a secret to a sealed value, which nobody but agents can open. There is no way to give a value in clear.
--
-- Parameters:
--   @name    Name of the secret: the NAME of $(secret.NAME).
--   @sealed  JSON object that jobagent secret set makes: version (1 for a new name, else one more than the stored one), nonce (24
--            hexadecimal digits), ciphertext (hexadecimal digits), keys (array of id and data, one for each active key), and
--            hosts (array of the patterns of the hosts that may receive the value, for which it was sealed; absent: any host).
-- Called by: members of the role jobs_author.
-- Locks:     the rows of all keys (S), the name in secrets (U, X), its rows of secret_data_keys (X).
-- Returns:   0.
-- Throws:
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50153 the secret is not sealed for exactly the active keys.
--   50154 the version is not the next one.
CREATE OR ALTER PROCEDURE jobs.sp_set_secret
    @name   NVARCHAR(128),
    @sealed NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @version INT;
    DECLARE @nonce VARBINARY(MAX);
    DECLARE @ciphertext VARBINARY(MAX);
    DECLARE @keys NVARCHAR(MAX);
    DECLARE @hosts NVARCHAR(MAX);
    DECLARE @secret_id BIGINT;
    DECLARE @stored INT;

    EXECUTE jobs_internal.check_secret_name @name = @name;
    IF @sealed IS NULL OR ISJSON(@sealed) = 0 OR LEFT(LTRIM(@sealed), 1) <> N'{'
        THROW 50075, N'Invalid sealed secret: want a JSON object, not a value in clear. jobagent secret set seals a secret.', 1;
    SELECT
        @version = TRY_CONVERT(INT, g.version),
        @nonce = TRY_CONVERT(VARBINARY(MAX), g.nonce, 2),
        @ciphertext = TRY_CONVERT(VARBINARY(MAX), g.ciphertext, 2),
        @keys = g.keys,
        @hosts = g.hosts
    FROM OPENJSON(@sealed) WITH (
        version    NVARCHAR(20),
        nonce      NVARCHAR(100),
        ciphertext NVARCHAR(MAX),
        keys       NVARCHAR(MAX) AS JSON,
        hosts      NVARCHAR(MAX) AS JSON
    ) AS g;
    IF @version IS NULL
        OR @nonce IS NULL
        OR DATALENGTH(@nonce) <> 12
        OR @ciphertext IS NULL
        OR DATALENGTH(@ciphertext) NOT BETWEEN 17 AND 65552
        THROW 50075, N'Invalid sealed secret: want version, a nonce of 12 bytes and a ciphertext. jobagent secret set seals a secret.', 1;

    -- A member hosts of another type would be NULL, as if any host might receive the value.
    IF EXISTS (SELECT 1 FROM OPENJSON(@sealed) AS o WHERE o.[key] = N'hosts')
        AND (@hosts IS NULL
            OR LEFT(@hosts, 1) <> N'['
            OR LEN(@hosts) > 4000
            OR NOT EXISTS (SELECT 1 FROM OPENJSON(@hosts) AS h)
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(@hosts) AS h
                WHERE h.type <> 1
                    OR h.value = N''
                    OR REPLACE(REPLACE(h.value, N'[', N''), N']', N'') COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9._*:-]%'
            ))
        THROW 50075, N'Invalid sealed secret: want hosts, a JSON array of patterns in at most 4000 characters, such as "*.example.com".', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_sealed_keys @keys = @keys, @all = 1;
    -- index: UQ_secrets_name, in which other sessions may add the same name
    SELECT
        @secret_id = s.secret_id,
        @stored = s.version
    FROM jobs_internal.secrets AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.owner = N''
        AND s.name = @name;
    IF @version <> COALESCE(@stored, 0) + 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The secret ''', @name, N''' has version ', COALESCE(@stored, 0), N': version ', @version,
            N' cannot follow it. Another session has set it; seal the value again.'
        ), N'%', N'%%');
        THROW 50154, @message, 1;
    END;

    IF @secret_id IS NULL
    BEGIN
        INSERT INTO jobs_internal.secrets (owner, name, version, nonce, ciphertext, hosts, created_at, updated_at, updated_by)
        VALUES (N'', @name, @version, @nonce, @ciphertext, @hosts, @now, @now, ORIGINAL_LOGIN());
        SET @secret_id = SCOPE_IDENTITY();
    END;
    ELSE
    BEGIN
        UPDATE s
        SET s.version = @version,
            s.nonce = @nonce,
            s.ciphertext = @ciphertext,
            s.hosts = @hosts,
            s.updated_at = @now,
            s.updated_by = ORIGINAL_LOGIN()
        FROM jobs_internal.secrets AS s
        WHERE s.secret_id = @secret_id;
        DELETE d
        FROM jobs_internal.secret_data_keys AS d
        WHERE d.secret_id = @secret_id;
    END;
    INSERT INTO jobs_internal.secret_data_keys (secret_id, key_id, data)
    SELECT @secret_id, g.id, CONVERT(VARBINARY(200), g.data, 2)
    FROM OPENJSON(@keys) WITH (
        id   NVARCHAR(32),
        data NVARCHAR(400)
    ) AS g;

    COMMIT TRANSACTION;
    RETURN 0;
END;
