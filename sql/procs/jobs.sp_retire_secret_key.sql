-- Retires a key: secrets are no longer sealed for it, and its data keys are deleted. Whoever has the private key and a copy
-- of the database from before can still open the values of that time: set secrets anew if a private key was exposed.
--
-- Parameters:
--   @key_id  Id of the key.
-- Called by: members of the role jobs_admin.
-- Locks:     the key's row (X), then rows of secret_data_keys (X); an insert into audit_entries.
-- Job agent: in each state: it is for administrators, and defines no job.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50151 the key does not exist, or was retired.
--   50152 a secret is sealed for this key alone.
CREATE OR ALTER PROCEDURE jobs.sp_retire_secret_key
    @key_id NVARCHAR(33)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(128);
    DECLARE @total INT;
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@key_id) > 64
        THROW 50097, N'Invalid @key_id: want at most 32 characters, not 33 or more.', 1;

    BEGIN TRANSACTION;

    -- The key is inactive before the secrets are read, so no secret is sealed for it meanwhile.
    UPDATE k
    SET k.is_active = 0,
        k.retired_at = @now,
        k.retired_by = @by
    FROM jobs_internal.secret_keys AS k
    WHERE k.key_id = @key_id
        AND k.is_active = 1;
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'No active key has the id ''', @key_id, N'''. The view jobs.secret_keys lists all keys.'
        ), N'%', N'%%');
        THROW 50151, @message, 1;
    END;

    SELECT
        @name = MIN(s.name),
        @total = COUNT(*)
    FROM jobs_internal.secret_data_keys AS d
    INNER JOIN jobs_internal.secrets AS s ON s.secret_id = d.secret_id
    WHERE d.key_id = @key_id
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.secret_data_keys AS o
            INNER JOIN jobs_internal.secret_keys AS k ON k.key_id = o.key_id
            WHERE o.secret_id = d.secret_id
                AND k.is_active = 1
        );
    IF @total > 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The key ', @key_id, N' cannot be retired: ', @total, N' secrets are sealed for it alone, among them ''', @name,
            N'''. Seal them for another key with jobagent key rotate, set them anew, or delete them first.'
        ), N'%', N'%%');
        THROW 50152, @message, 1;
    END;

    DELETE d
    FROM jobs_internal.secret_data_keys AS d
    WHERE d.key_id = @key_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_retire_secret_key',
        @object_kind = N'SecretKey',
        @object_id = @key_id,
        @before = N'{"is_active":true}',
        @after = N'{"is_active":false}',
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
