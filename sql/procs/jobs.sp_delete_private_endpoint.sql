-- Deletes a private endpoint.
--
-- Parameters:
--   @private_endpoint_name  Its name.
--   @if_match               Its revision must be this one; NULL: any.
-- Called by: members of the role jobs_admin.
-- Locks:     the private endpoint's row (U, X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50158 the private endpoint does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_private_endpoint
    @private_endpoint_name NVARCHAR(129),
    @if_match              BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The private endpoint ''', @private_endpoint_name, N'''');
    DECLARE @revision BIGINT;
    DECLARE @before NVARCHAR(MAX);

    IF DATALENGTH(@private_endpoint_name) > 256
        THROW 50097, N'Invalid @private_endpoint_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    SELECT @revision = p.revision
    FROM jobs_internal.private_endpoints AS p WITH (UPDLOCK, HOLDLOCK)
    WHERE p.name = @private_endpoint_name;
    IF @revision IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(@object, N' does not exist. The view jobs.private_endpoints lists all of them.'), N'%', N'%%');
        THROW 50158, @message, 1;
    END;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    SET @before = (
        SELECT CONCAT(N'{"target":"', STRING_ESCAPE(p.target_server_resource_id, N'json'), N'"}')
        FROM jobs_internal.private_endpoints AS p
        WHERE p.name = @private_endpoint_name
    );
    DELETE p
    FROM jobs_internal.private_endpoints AS p
    WHERE p.name = @private_endpoint_name;
    EXECUTE jobs_internal.audit
        @action = N'sp_delete_private_endpoint',
        @object_kind = N'PrivateEndpoint',
        @object_name = @private_endpoint_name,
        @before = @before,
        @revision_before = @revision;

    COMMIT TRANSACTION;
    RETURN 0;
END;
