-- Adds the rows of a new job of the SAP surface: without steps and schedules, and not active. In T-SQL, the job of the provider's tenant
-- has its own name; all others have the name, # and the _id (S-67). So has a job whose name is in use there.
--
-- Parameters:
--   @tenant_id    The tenant.
--   @name         The name, which no other job of the tenant has; the caller has locked it.
--   @rest_job_id  Receives the _id.
--   @job_id       Receives the id.
--   @now          Time of the change.
-- Called by: jobs_rest.set_job, within its transaction.
-- Locks:     the range of the name in jobs (U); inserts into jobs, job_versions and rest_jobs.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.add_rest_job
    @tenant_id   NVARCHAR(128),
    @name        NVARCHAR(128),
    @rest_job_id INT OUTPUT,
    @job_id      UNIQUEIDENTIFIER OUTPUT,
    @now         DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @job_name NVARCHAR(128) = @name;
    DECLARE @suffix NVARCHAR(60);
    DECLARE @short_name NVARCHAR(128);

    SET @job_id = NEWID();
    -- index: UQ_jobs_name, in which other sessions may add the same name
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
        WHERE j.name = @name
            AND j.deleted_at IS NULL
    )
        OR NOT EXISTS (SELECT 1 FROM jobs_internal.tenants AS n WHERE n.tenant_id = @tenant_id AND n.is_provider = 1)
        SET @job_name = CAST(@job_id AS NVARCHAR(36)); -- until the _id is known
    INSERT INTO jobs_internal.jobs (job_id, name, created_at)
    VALUES (@job_id, @job_name, @now);
    INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
    VALUES (@job_id, 0, @now);
    INSERT INTO jobs_internal.rest_jobs (
        job_id, tenant_id, name, description, action, http_method, active, created_at, updated_at
    )
    VALUES (@job_id, @tenant_id, @name, N'', N'', N'POST', 0, @now, @now);
    SET @rest_job_id = SCOPE_IDENTITY();
    IF @job_name <> @name
    BEGIN
        SET @suffix = CONCAT(N'#', @rest_job_id);
        -- The column counts units of UTF-16, as LEFT does with this collation only.
        SET @short_name = CONCAT(LEFT(@name COLLATE Latin1_General_100_BIN2, 128 - LEN(@suffix)), @suffix);
        -- A job of T-SQL may have taken the name.
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j
            WHERE j.name = @short_name
                AND j.deleted_at IS NULL
        )
        BEGIN
            SET @suffix = CONCAT(@suffix, N'#', @job_name);
            SET @short_name = CONCAT(LEFT(@name COLLATE Latin1_General_100_BIN2, 128 - LEN(@suffix)), @suffix);
        END;
        UPDATE j
        SET j.name = @short_name
        FROM jobs_internal.jobs AS j
        WHERE j.job_id = @job_id;
    END;
    RETURN 0;
END;
