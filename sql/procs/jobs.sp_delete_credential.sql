-- Deletes a stored credential with its password. The current version of a job, and target groups, must not name it.
--
-- Parameters:
--   @credential_name  Name of the credential.
--   @if_match         The credential's revision must be this one; NULL: any.
-- Called by: members of the role jobs_admin.
-- Locks:     the credential's row (U, X), its secret (X) and the rows of it in secret_data_keys (X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50156 the credential does not exist.
--   50157 the credential is used by a job's current version, or by a target group.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_credential
    @credential_name NVARCHAR(129),
    @if_match        BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The credential ''', @credential_name, N'''');
    DECLARE @revision BIGINT;
    DECLARE @user NVARCHAR(400);
    DECLARE @username NVARCHAR(128);
    DECLARE @before NVARCHAR(MAX);

    IF DATALENGTH(@credential_name) > 256
        THROW 50097, N'Invalid @credential_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    SELECT
        @revision = c.revision,
        @username = c.username
    FROM jobs_internal.credentials AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @credential_name;
    IF @revision IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(@object, N' does not exist. The view jobs.credentials lists all credentials.'), N'%', N'%%');
        THROW 50156, @message, 1;
    END;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;

    -- Plan: the current versions of all jobs, and all members. Credentials are deleted seldom.
    SELECT TOP (1) @user = CONCAT(N'step ', s.step_id, N' ''', s.step_name, N''' of the job ''', j.name, N'''')
    FROM jobs_internal.jobs AS j
    INNER JOIN jobs_internal.job_steps AS s ON s.job_id = j.job_id AND s.version = j.current_version
    WHERE j.deleted_at IS NULL
        AND (s.credential_name = @credential_name OR s.output_credential_name = @credential_name)
    ORDER BY j.name, s.step_id;
    IF @user IS NULL
        SELECT TOP (1) @user = CONCAT(N'the target group ''', g.name, N'''')
        FROM jobs_internal.target_group_members AS m
        INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = m.target_group_id
        WHERE m.refresh_credential_name = @credential_name
        ORDER BY g.name;
    IF @user IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(@object, N' is used by ', @user, N'. Assign another credential there first.'), N'%', N'%%');
        THROW 50157, @message, 1;
    END;

    SET @before = CONCAT(N'{"username":"', STRING_ESCAPE(@username, N'json'), N'"}');
    DELETE s
    FROM jobs_internal.secrets AS s
    WHERE s.owner = N'credential'
        AND s.name = @credential_name;
    DELETE c
    FROM jobs_internal.credentials AS c
    WHERE c.name = @credential_name;
    EXECUTE jobs_internal.audit
        @action = N'sp_delete_credential',
        @object_kind = N'Credential',
        @object_name = @credential_name,
        @before = @before,
        @revision_before = @revision;

    COMMIT TRANSACTION;
    RETURN 0;
END;
