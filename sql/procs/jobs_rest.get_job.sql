-- Reads a job of the SAP surface with its schedules (E3, E4).
--
-- Parameters:
--   @tenant     The tenant; NULL: the provider.
--   @job        The _id; NULL: @name names the job. If both are given, they must belong together.
--   @name       Name of the job. The provider finds a job of its own tenant first, then one of any other tenant that alone has this name
--               (S-13).
--   @of_tenant  Only a job of this tenant; NULL: no restriction.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: the job, as in jobs_rest.list_jobs.
--            2: its schedules, as in jobs_rest.list_schedules.
-- Throws:
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50176 several tenants have a job of this name.
CREATE OR ALTER PROCEDURE jobs_rest.get_job
    @tenant    NVARCHAR(129),
    @job       BIGINT = NULL,
    @name      NVARCHAR(4000) = NULL,
    @of_tenant NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @found TABLE (rest_job_id INT NOT NULL PRIMARY KEY, is_own BIT NOT NULL);
    DECLARE @rest_job_id INT;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@of_tenant) > 256
        THROW 50097, N'Invalid @of_tenant: want at most 128 characters, not 129 or more.', 1;

    -- Plan: one key of PK_rest_jobs, or for each tenant one of UQ_rest_jobs_name.
    IF @job IS NOT NULL
        INSERT INTO @found (rest_job_id, is_own)
        SELECT r.rest_job_id, 1
        FROM jobs_internal.rest_jobs AS r
        WHERE r.rest_job_id = @job
            AND (@name IS NULL OR (r.name = @name AND DATALENGTH(r.name) = DATALENGTH(@name))) -- plan: the row is found by its key
            AND r.tenant_id = COALESCE(@tenant, r.tenant_id)
            AND r.tenant_id = COALESCE(@of_tenant, r.tenant_id);
    ELSE
        INSERT INTO @found (rest_job_id, is_own)
        SELECT r.rest_job_id, n.is_provider
        FROM jobs_internal.tenants AS n
        INNER JOIN jobs_internal.rest_jobs AS r ON r.tenant_id = n.tenant_id
        WHERE r.name = @name
            AND DATALENGTH(r.name) = DATALENGTH(@name) -- = ignores spaces at the end
            AND n.tenant_id = COALESCE(@tenant, n.tenant_id)
            AND n.tenant_id = COALESCE(@of_tenant, n.tenant_id);
    SET @rest_job_id = COALESCE(
        (SELECT f.rest_job_id FROM @found AS f WHERE f.is_own = 1),
        (SELECT MIN(f.rest_job_id) FROM @found AS f)
    );
    IF @rest_job_id IS NULL
        THROW 50172, N'The job does not exist.', 1;
    IF (SELECT COUNT(*) FROM @found AS f) > 1 AND NOT EXISTS (SELECT 1 FROM @found AS f WHERE f.is_own = 1)
        THROW 50176, N'Several tenants have a job of this name: want tenantId', 1;

    SELECT
        r.rest_job_id AS id,
        r.tenant_id,
        r.subdomain,
        r.name,
        r.description,
        r.action,
        r.http_method,
        r.active,
        r.start_at,
        r.end_at,
        r.start_text,
        r.end_text,
        r.user_name,
        r.has_password,
        r.ans_config,
        r.calm_config,
        r.job_type,
        r.created_at,
        r.active_count,
        r.inactive_count
    FROM jobs_internal.rest_job_details AS r
    WHERE r.rest_job_id = @rest_job_id;
    SELECT
        s.rest_schedule_id AS schedule_id,
        s.rest_job_id AS job_id,
        s.mode,
        s.spec,
        s.start_at,
        s.end_at,
        s.description,
        s.active,
        s.data,
        s.next_due_at AS next_run_at,
        s.created_at,
        s.updated_at AS modified_at
    FROM jobs_internal.rest_schedule_details AS s
    WHERE s.rest_job_id = @rest_job_id
    ORDER BY s.schedule_id;
    RETURN 0;
END;
