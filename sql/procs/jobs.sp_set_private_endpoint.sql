-- Creates a private endpoint, or replaces an existing one. It is stored and shown, and has no effect.
--
-- Parameters:
--   @private_endpoint_name      Name; an existing private endpoint keeps its spelling.
--   @target_server_resource_id  Resource id of the target's server.
--   @if_match                   Its revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @private_endpoint_id        Receives its id.
--   @created                    Receives 1 if the private endpoint is new.
--   @revision                   Receives its revision.
-- Called by: members of the role jobs_admin.
-- Locks:     the name in private_endpoints (U, X).
-- Returns:   0.
-- Throws:
--   50080 a name is missing or empty.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_private_endpoint
    @private_endpoint_name     NVARCHAR(129),
    @target_server_resource_id NVARCHAR(1001),
    @if_match                  BIGINT = NULL,
    @private_endpoint_id       NVARCHAR(200) = NULL OUTPUT,
    @created                   BIT = NULL OUTPUT,
    @revision                  BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @object NVARCHAR(400) = CONCAT(N'The private endpoint ''', @private_endpoint_name, N'''');
    DECLARE @stored NVARCHAR(1000);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@private_endpoint_name) > 256
        THROW 50097, N'Invalid @private_endpoint_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@target_server_resource_id) > 2000
        THROW 50097, N'Invalid @target_server_resource_id: want at most 1000 characters, not 1001 or more.', 1;

    IF @private_endpoint_name IS NULL OR LTRIM(@private_endpoint_name) = N''
        THROW 50080, N'Missing name: @private_endpoint_name is NULL or empty.', 1;
    IF @target_server_resource_id IS NULL OR LTRIM(@target_server_resource_id) = N''
        THROW 50080, N'Missing target: @target_server_resource_id is NULL or empty.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    SET @revision = NULL;
    SELECT
        @revision = p.revision,
        @private_endpoint_id = p.private_endpoint_id,
        @stored = p.target_server_resource_id
    FROM jobs_internal.private_endpoints AS p WITH (UPDLOCK, HOLDLOCK)
    WHERE p.name = @private_endpoint_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    SET @revision_before = @revision;
    SET @created = CASE WHEN @revision IS NULL THEN 1 ELSE 0 END;
    IF @created = 1
    BEGIN
        EXECUTE jobs_internal.check_name @name = @private_endpoint_name, @parameter = N'@private_endpoint_name';
        SET @private_endpoint_id = CONCAT(N'EJ_', CONVERT(NVARCHAR(36), NEWID()), N'_', @private_endpoint_name);
        SET @revision = 1;
        INSERT INTO jobs_internal.private_endpoints (name, private_endpoint_id, target_server_resource_id, revision, created_at)
        VALUES (@private_endpoint_name, @private_endpoint_id, @target_server_resource_id, @revision, @now);
    END;
    ELSE IF CAST(@stored AS VARBINARY(2000)) <> CAST(@target_server_resource_id AS VARBINARY(2000))
    BEGIN
        SET @revision = @revision + 1;
        UPDATE p
        SET p.target_server_resource_id = @target_server_resource_id,
            p.revision = @revision
        FROM jobs_internal.private_endpoints AS p
        WHERE p.name = @private_endpoint_name;
    END;
    SET @before = CASE WHEN @created = 0 THEN CONCAT(N'{"target":"', STRING_ESCAPE(@stored, N'json'), N'"}') END;
    SET @after = CONCAT(N'{"target":"', STRING_ESCAPE(@target_server_resource_id, N'json'), N'"}');
    EXECUTE jobs_internal.audit
        @action = N'sp_set_private_endpoint',
        @object_kind = N'PrivateEndpoint',
        @object_name = @private_endpoint_name,
        @before = @before,
        @after = @after,
        @revision_before = @revision_before,
        @revision_after = @revision,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
