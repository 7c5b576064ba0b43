-- Checks sealed data keys. The active keys are locked until the transaction ends.
--
-- Parameters:
--   @keys  JSON array of objects: id (of an active key), data (hexadecimal digits of 80 bytes).
--   @all   1: every active key must be there.
-- Called by: jobs_internal.store_secret, jobs_internal.reseal_secret, within their transactions.
-- Locks:     the rows of all keys (S).
-- Returns:   0.
-- Throws:
--   50075 the sealed secret is invalid.
--   50153 the secret is not sealed for exactly the active keys.
CREATE OR ALTER PROCEDURE jobs_internal.check_sealed_keys
    @keys NVARCHAR(MAX),
    @all  BIT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @active TABLE (key_id NVARCHAR(32) NOT NULL PRIMARY KEY);
    DECLARE @given TABLE (
        key_id NVARCHAR(32) NULL,
        data   VARBINARY(200) NULL
    );

    -- order: a scan of PK_secret_keys, which has few rows
    INSERT INTO @active (key_id)
    SELECT k.key_id
    FROM jobs_internal.secret_keys AS k WITH (REPEATABLEREAD)
    WHERE k.is_active = 1;
    IF NOT EXISTS (SELECT 1 FROM @active)
        THROW 50153, N'The control database has no active key for secrets. Make one with jobagent key generate.', 1;

    IF @keys IS NULL OR ISJSON(@keys) = 0
        THROW 50075, N'Invalid sealed secret: want keys, a JSON array. jobagent secret set seals a secret.', 1;
    INSERT INTO @given (key_id, data)
    SELECT g.id, TRY_CONVERT(VARBINARY(200), g.data, 2)
    FROM OPENJSON(@keys) WITH (
        id   NVARCHAR(32),
        data NVARCHAR(400)
    ) AS g;
    IF EXISTS (
        SELECT 1
        FROM @given AS g
        WHERE g.key_id IS NULL
            OR g.data IS NULL
            OR DATALENGTH(g.data) <> 80
    )
        OR EXISTS (SELECT 1 FROM @given AS g GROUP BY g.key_id HAVING COUNT(*) > 1)
        THROW 50075, N'Invalid sealed secret: want one data key of 80 bytes for each key. jobagent secret set seals a secret.', 1;
    -- plan: a few keys
    IF EXISTS (SELECT 1 FROM @given AS g WHERE g.key_id NOT IN (SELECT a.key_id FROM @active AS a))
        OR NOT EXISTS (SELECT 1 FROM @given)
        OR (@all = 1 AND EXISTS (SELECT 1 FROM @active AS a WHERE a.key_id NOT IN (SELECT g.key_id FROM @given AS g)))
        THROW 50153, N'The secret is not sealed for exactly the active keys: they have changed. Seal it again.', 1;
    RETURN 0;
END;
