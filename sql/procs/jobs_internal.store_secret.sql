-- Stores a sealed value: the next version of a secret.
--
-- Parameters:
--   @owner    Empty: a secret that authors name in actions. rest: a secret of an action that REST stored, named rest- and 32
--             hexadecimal digits; it belongs to @job_id. credential: the password of the credential of this name.
--   @name     Name of the secret.
--   @sealed   The sealed value, as in jobs.sp_set_secret.
--   @job_id   The job to which a secret of the owner rest belongs; NULL for all others.
--   @version  Receives the version.
-- Called by: jobs.sp_set_secret and the procedures of REST that store secrets, within their transactions, the job's row locked.
-- Locks:     the rows of all keys (S), the name in secrets (U, X), its rows of secret_data_keys (X).
-- Returns:   0.
-- Throws:
--   50029 an argument is missing or out of range.
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50153 the secret is not sealed for exactly the active keys.
--   50154 the version is not the next one.
CREATE OR ALTER PROCEDURE jobs_internal.store_secret
    @owner   NVARCHAR(200),
    @name    NVARCHAR(128),
    @sealed  NVARCHAR(MAX),
    @job_id  UNIQUEIDENTIFIER = NULL,
    @version INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @nonce VARBINARY(MAX);
    DECLARE @ciphertext VARBINARY(MAX);
    DECLARE @keys NVARCHAR(MAX);
    DECLARE @hosts NVARCHAR(MAX);
    DECLARE @secret_id BIGINT;
    DECLARE @stored INT;
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF @owner IS NULL
        OR @owner NOT IN (N'', N'rest', N'credential')
        OR (@owner = N'rest' AND @job_id IS NULL)
        OR (@owner <> N'rest' AND @job_id IS NOT NULL)
        THROW 50029, N'Invalid arguments of store_secret: want a known @owner, and @job_id for the owner rest only.', 1;
    IF @name IS NULL
        OR @name = N''
        OR (@owner = N'rest'
            AND (LEN(@name) <> 37
                OR LEFT(@name, 5) COLLATE Latin1_General_100_BIN2 <> N'rest-'
                OR SUBSTRING(@name, 6, 32) COLLATE Latin1_General_100_BIN2 LIKE N'%[^0-9a-f]%'))
        THROW 50074, N'Invalid secret name: want a name, which is rest- and 32 hexadecimal digits in lower case for a secret of REST.', 1;
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
    WHERE s.owner = @owner
        AND s.name = @name;
    IF @version <> COALESCE(@stored, 0) + 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            CASE @owner WHEN N'credential' THEN N'The password of the credential ''' ELSE N'The secret ''' END, @name,
            N''' has version ', COALESCE(@stored, 0), N': version ', @version,
            N' cannot follow it. Another session has set it; seal the value again.'
        ), N'%', N'%%');
        THROW 50154, @message, 1;
    END;

    IF @secret_id IS NULL
    BEGIN
        INSERT INTO jobs_internal.secrets (owner, name, version, nonce, ciphertext, hosts, created_at, updated_at, updated_by, job_id)
        VALUES (@owner, @name, @version, @nonce, @ciphertext, @hosts, @now, @now, @by, @job_id);
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
            s.updated_by = @by
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
