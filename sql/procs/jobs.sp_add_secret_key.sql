-- Adds a public key for which secrets are sealed from now on. Secrets that exist are sealed for it by an agent that has its
-- private key and another one: see jobagent key rotate. Adding a key that is active already changes nothing.
--
-- Parameters:
--   @public_key  The 32 bytes of an X25519 key. jobagent key generate makes one and calls this procedure.
--   @key_id      Receives the id of the key.
-- Called by: members of the role jobs_admin.
-- Locks:     the key's range in secret_keys (U); then an insert into secret_keys; an insert into audit_entries.
-- Job agent: in each state: it is for administrators, and defines no job.
-- Returns:   0.
-- Throws:
--   50076 the public key does not have 32 bytes.
--   50155 the key was retired.
CREATE OR ALTER PROCEDURE jobs.sp_add_secret_key
    @public_key VARBINARY(200),
    @key_id     NVARCHAR(32) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @is_active BIT;
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF @public_key IS NULL OR DATALENGTH(@public_key) <> 32
        THROW 50076, N'Invalid @public_key: want the 32 bytes of an X25519 key, which jobagent key generate makes.', 1;
    SET @key_id = LEFT(CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', @public_key), 2), 32);

    BEGIN TRANSACTION;

    -- is_active is in no other index, so the lock is on the clustered key.
    SELECT @is_active = k.is_active
    FROM jobs_internal.secret_keys AS k WITH (UPDLOCK, HOLDLOCK)
    WHERE k.key_id = @key_id;
    IF @is_active = 0
    BEGIN
        SET @message = REPLACE(CONCAT(N'The key ', @key_id, N' was retired. Generate another one.'), N'%', N'%%');
        THROW 50155, @message, 1;
    END;
    IF @is_active IS NULL
    BEGIN
        INSERT INTO jobs_internal.secret_keys (key_id, public_key, created_at, created_by)
        VALUES (@key_id, @public_key, @now, @by);
        EXECUTE jobs_internal.audit
            @action = N'sp_add_secret_key',
            @object_kind = N'SecretKey',
            @object_id = @key_id,
            @after = N'{"is_active":true}',
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
