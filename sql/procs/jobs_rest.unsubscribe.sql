-- Removes a subscription of a tenant of the SAP surface. With the last one, its jobs are deleted with their schedules and logs, its
-- active runs are canceled, and its tokens are refused from then on (S-59). The row of the tenant stays. The jobs are deleted one
-- transaction each; if the call is interrupted, a repetition deletes the rest. Jobs that another call has deleted are passed over.
--
-- A deleted job is in no view any more, and no run uses its secrets. Their sealed values and the data of its runs stay in tables until
-- agents delete them, when its runs have ended: see jobs_internal.delete_leftovers.
--
-- The audit log has one entry for each subscription that ends. Jobs that a repetition deletes belong to the entry of the first call.
--
-- Parameters:
--   @tenant  Id of the tenant.
--   @app     Name of the application.
-- Called by: members of the role jobs_admin.
-- Locks:     the tenant's row (U, X), its subscription (X); then see jobs_internal.delete_rest_job.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50192 the tenant has no such subscription.
CREATE OR ALTER PROCEDURE jobs_rest.unsubscribe
    @tenant NVARCHAR(129),
    @app    NVARCHAR(201)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @created_at DATETIME2(7);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @is_provider BIT;
    DECLARE @subscribed BIT;
    DECLARE @job INT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@app) > 400
        THROW 50097, N'Invalid @app: want at most 200 characters, not 201 or more.', 1;

    BEGIN TRANSACTION;

    -- created_at is in no index, so that the lock is on the clustered key.
    SELECT
        @created_at = n.created_at,
        @is_provider = n.is_provider,
        @subscribed = n.is_subscribed
    FROM jobs_internal.tenants AS n WITH (UPDLOCK, ROWLOCK)
    WHERE n.tenant_id = @tenant;
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @app = @app, @state = @before OUTPUT;
    DELETE s
    FROM jobs_internal.tenant_subscriptions AS s
    WHERE s.tenant_id = @tenant
        AND s.app = @app;
    IF @@ROWCOUNT = 0 AND COALESCE(@subscribed, 1) = 1
        THROW 50192, N'The tenant has no such subscription.', 1;
    IF @is_provider = 0 AND NOT EXISTS (SELECT 1 FROM jobs_internal.tenant_subscriptions AS s WHERE s.tenant_id = @tenant)
    BEGIN
        UPDATE n
        SET n.is_subscribed = 0
        FROM jobs_internal.tenants AS n
        WHERE n.tenant_id = @tenant;
        SET @subscribed = 0;
    END;

    -- A repetition leaves no entry: nothing differs.
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @app = @app, @state = @after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'jobs_rest.unsubscribe',
        @object_kind = N'Tenant',
        @object_name = @tenant,
        @before = @before,
        @after = @after;

    COMMIT TRANSACTION;
    IF @subscribed = 1
        RETURN 0;

    -- No job is added any more: jobs_internal.lock_tenant refuses it.
    SET @job = 0;
    WHILE 1 = 1
    BEGIN
        SET @job = (
            SELECT TOP (1) r.rest_job_id
            FROM jobs_internal.rest_jobs AS r
            WHERE r.tenant_id = @tenant
                AND r.rest_job_id > @job
            ORDER BY r.rest_job_id
        );
        IF @job IS NULL
            BREAK;
        BEGIN TRANSACTION;
        EXECUTE jobs_internal.check_job_agent;
        SET @job_id = (SELECT r.job_id FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job);
        -- As in jobs_internal.lock_rest_job: current_version is in no index, so that the lock is on the clustered key.
        SELECT @version = j.current_version
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, ROWLOCK)
        WHERE j.job_id = @job_id;
        -- Another session may have deleted the job before.
        IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job)
        BEGIN
            EXECUTE jobs_internal.lock_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
            EXECUTE jobs_internal.delete_rest_job @job = @job, @job_id = @job_id;
        END;
        COMMIT TRANSACTION;
    END;
    RETURN 0;
END;
