-- Creates a stored credential, or replaces an existing one. Agents use it for steps, targets and outputs that name it, unless their
-- configuration has a credential of this name. There is no way to give a password in clear.
--
-- Parameters:
--   @credential_name  Name; an existing credential keeps its spelling.
--   @username         Name of the login.
--   @sealed           The sealed password, for the owner credential and this name; see jobs.sp_set_secret. NULL: the stored one
--                     stays, which is allowed only if the user name stays, too.
--   @if_match         The credential's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @created          Receives 1 if the credential is new.
--   @revision         Receives its revision.
-- Called by: members of the role jobs_admin.
-- Locks:     the name in credentials (U, X), the rows of all keys (S), the name in secrets (U, X), its
--            rows of secret_data_keys (X).
-- Returns:   0.
-- Throws:
--   50074 the name of a secret is missing or invalid.
--   50075 the sealed secret is invalid.
--   50080 a name is missing or empty.
--   50081 a credential lacks its password.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50153 the secret is not sealed for exactly the active keys.
--   50154 the version is not the next one.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50403 the server name has not the form host, host\instance or host,port.
CREATE OR ALTER PROCEDURE jobs.sp_set_credential
    @credential_name NVARCHAR(129),
    @username        NVARCHAR(129),
    @sealed          NVARCHAR(MAX) = NULL,
    @if_match        BIGINT = NULL,
    @created         BIT = NULL OUTPUT,
    @revision        BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The credential ''', @credential_name, N'''');
    DECLARE @stored_username NVARCHAR(128);
    DECLARE @version INT;
    DECLARE @names NVARCHAR(MAX);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@credential_name) > 256
        THROW 50097, N'Invalid @credential_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@username) > 256
        THROW 50097, N'Invalid @username: want at most 128 characters, not 129 or more.', 1;

    IF @username IS NULL OR LTRIM(@username) = N''
        THROW 50080, N'Missing user name: @username is NULL or empty.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    SET @revision = NULL;
    SELECT
        @revision = c.revision,
        @stored_username = c.username
    FROM jobs_internal.credentials AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @credential_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    SET @created = CASE WHEN @revision IS NULL THEN 1 ELSE 0 END;
    IF @created = 1
        EXECUTE jobs_internal.check_name @name = @credential_name, @parameter = N'@credential_name';
    IF @created = 1 OR CAST(@username AS VARBINARY(256)) <> CAST(@stored_username AS VARBINARY(256))
    BEGIN
        SET @names = (SELECT N'@username' AS parameter, @username AS name FOR JSON PATH);
        EXECUTE jobs_internal.check_external_names @names = @names;
    END;
    IF @sealed IS NULL
        AND (@created = 1 OR CAST(@username AS VARBINARY(256)) <> CAST(@stored_username AS VARBINARY(256)))
    BEGIN
        SET @message = REPLACE(CONCAT(
            @object, N' needs a password',
            CASE WHEN @created = 0 THEN N', because its user name changes' END, N'.'
        ), N'%', N'%%');
        THROW 50081, @message, 1;
    END;
    IF @sealed IS NULL
    BEGIN
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    SET @revision_before = @revision;
    EXECUTE jobs_internal.store_secret @owner = N'credential', @name = @credential_name, @sealed = @sealed, @version = @version OUTPUT;
    SET @revision = COALESCE(@revision, 0) + 1;
    IF @created = 1
        INSERT INTO jobs_internal.credentials (name, username, revision, created_at, updated_at, updated_by)
        VALUES (@credential_name, @username, @revision, @now, @now, @caller);
    ELSE
        UPDATE c
        SET c.username = @username,
            c.revision = @revision,
            c.updated_at = @now,
            c.updated_by = @caller
        FROM jobs_internal.credentials AS c
        WHERE c.name = @credential_name;
    SET @before = CASE
        WHEN @created = 0
            THEN CONCAT(N'{"username":"', STRING_ESCAPE(@stored_username, N'json'), N'","password_version":', @version - 1, N'}')
    END;
    SET @after = CONCAT(N'{"username":"', STRING_ESCAPE(@username, N'json'), N'","password_version":', @version, N'}');
    EXECUTE jobs_internal.audit
        @action = N'sp_set_credential',
        @object_kind = N'Credential',
        @object_name = @credential_name,
        @before = @before,
        @after = @after,
        @revision_before = @revision_before,
        @revision_after = @revision,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
