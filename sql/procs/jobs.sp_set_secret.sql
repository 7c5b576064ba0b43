-- Sets a secret to a sealed value, which nobody but agents can open. There is no way to give a value in clear.
--
-- Parameters:
--   @name    Name of the secret: the NAME of $(secret.NAME). Names that begin with rest- are reserved.
--   @sealed  JSON object that jobagent secret set makes: version (1 for a new name, else one more than the stored one), nonce (24
--            hexadecimal digits), ciphertext (hexadecimal digits), keys (array of id and data, one for each active key), and
--            hosts (array of the patterns of the hosts that may receive the value, for which it was sealed; absent: any host).
-- Called by: members of the role jobs_author.
-- Locks:     the rows of all keys (S), the name in secrets (U, X), its rows of secret_data_keys (X);
--            an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50077 the name of the secret is reserved for REST.
--   50097 a text is longer than its limit.
--   50153 the secret is not sealed for exactly the active keys.
--   50154 the version is not the next one.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_set_secret
    @name   NVARCHAR(129),
    @sealed NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@name) > 256
        THROW 50097, N'Invalid @name: want at most 128 characters, not 129 or more.', 1;

    EXECUTE jobs_internal.check_secret_name @name = @name;
    IF @name LIKE N'rest-%'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid secret name ''', @name, N''': names that begin with rest- are reserved for secrets that REST stores.'
        ), N'%', N'%%');
        THROW 50077, @message, 1;
    END;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    EXECUTE jobs_internal.state_of_secret @owner = N'', @name = @name, @state = @audit_before OUTPUT;
    EXECUTE jobs_internal.store_secret @owner = N'', @name = @name, @sealed = @sealed;
    EXECUTE jobs_internal.state_of_secret @owner = N'', @name = @name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_secret',
        @object_kind = N'Secret',
        @object_name = @name,
        @before = @audit_before,
        @after = @audit_after;
    COMMIT TRANSACTION;
    RETURN 0;
END;
