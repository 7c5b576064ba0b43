-- Deletes a secret. Attempts of actions that name it fail from then on, before they send anything.
--
-- Parameters:
--   @name  Name of the secret.
-- Called by: members of the role jobs_author.
-- Locks:     the secret's row (X) and its rows of secret_data_keys (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50074 the name of a secret is missing or invalid.
--   50097 a text is longer than its limit.
--   50150 the secret does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_secret
    @name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_before NVARCHAR(MAX);

    IF DATALENGTH(@name) > 256
        THROW 50097, N'Invalid @name: want at most 128 characters, not 129 or more.', 1;

    EXECUTE jobs_internal.check_secret_name @name = @name;
    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    EXECUTE jobs_internal.state_of_secret @owner = N'', @name = @name, @state = @audit_before OUTPUT;
    DELETE s
    FROM jobs_internal.secrets AS s
    WHERE s.owner = N''
        AND s.name = @name;
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The secret ''', @name, N''' does not exist. The view jobs.secrets lists all secrets.'
        ), N'%', N'%%');
        THROW 50150, @message, 1;
    END;
    EXECUTE jobs_internal.audit
        @action = N'sp_delete_secret',
        @object_kind = N'Secret',
        @object_name = @name,
        @before = @audit_before;
    COMMIT TRANSACTION;
    RETURN 0;
END;
