-- Searches schedules of the SAP surface (E21).
--
-- Parameters:
--   @tenant  The tenant; NULL: the provider, who sees all schedules.
--   @search  JSON object as in jobs_rest.list_jobs; words occur in description or data, and active and the bounds are those of the
--            schedules.
--   @offset  Number of schedules to leave out.
--   @size    Maximum number of schedules; NULL: all.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: one row: total, the number of schedules of all pages.
--            2: the schedules, as in jobs_rest.list_schedules, with columns of their jobs.
-- Throws:
--   50090 an argument is missing or out of range.
--   50091 the filter, the search or the order is invalid.
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.search_schedules
    @tenant NVARCHAR(129),
    @search NVARCHAR(MAX),
    @offset INT = 0,
    @size   INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @active BIT;
    DECLARE @words TABLE (word_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY, word NVARCHAR(4000) NOT NULL);
    DECLARE @bounds TABLE (
        bound_id  INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        field     NVARCHAR(20) NOT NULL,
        operation NVARCHAR(2) NOT NULL,
        at        DATETIME2(7) NOT NULL
    );
    DECLARE @found TABLE (place INT NOT NULL PRIMARY KEY, schedule_id BIGINT NOT NULL);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    IF @offset < 0 OR @size < 1 OR @offset IS NULL
        THROW 50090, N'Invalid page: want @offset of at least 0, and @size of at least 1.', 1;
    IF @search IS NULL OR ISJSON(@search) = 0
        THROW 50091, N'Invalid @search: want a JSON object.', 1;
    SET @active = TRY_CAST(JSON_VALUE(@search, '$.active') AS BIT);
    INSERT INTO @words (word)
    SELECT w.value
    FROM OPENJSON(@search, '$.words') AS w;
    INSERT INTO @bounds (field, operation, at)
    SELECT b.field, b.operator, b.at
    FROM OPENJSON(@search, '$.bounds') WITH (
        field    NVARCHAR(20),
        operator NVARCHAR(2),
        at       DATETIME2(7)
    ) AS b;

    INSERT INTO @found (place, schedule_id)
    SELECT ROW_NUMBER() OVER (ORDER BY s.rest_job_id, s.schedule_id), s.schedule_id
    FROM jobs_internal.rest_schedule_details AS s
    WHERE (@tenant IS NULL OR s.tenant_id = @tenant)
        AND (@active IS NULL OR s.active = @active)
        AND NOT EXISTS (
            SELECT 1
            FROM @words AS w
            WHERE CHARINDEX(w.word COLLATE Latin1_General_100_CI_AS, COALESCE(s.description, N'') COLLATE Latin1_General_100_CI_AS) = 0
                AND CHARINDEX(w.word COLLATE Latin1_General_100_CI_AS, COALESCE(s.data, N'') COLLATE Latin1_General_100_CI_AS) = 0
        )
        AND NOT EXISTS (
            SELECT 1
            FROM @bounds AS b
            CROSS APPLY (SELECT CASE b.field WHEN N'startTime' THEN s.start_at ELSE s.end_at END AS at) AS v
            WHERE CASE
                WHEN b.operation = N'<' AND v.at < b.at THEN 1
                WHEN b.operation = N'>' AND v.at > b.at THEN 1
                WHEN b.operation = N'<=' AND v.at <= b.at THEN 1
                WHEN b.operation = N'>=' AND v.at >= b.at THEN 1
                ELSE 0
            END = 0
        )
    OPTION (RECOMPILE);

    SELECT COUNT(*) AS total
    FROM @found AS f;
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
        s.updated_at AS modified_at,
        r.name AS job_name,
        r.tenant_id,
        n.subdomain,
        r.action,
        r.http_method,
        r.active AS job_active,
        r.start_at AS job_start_at,
        r.end_at AS job_end_at,
        r.user_name,
        r.description AS job_description
    FROM @found AS f
    INNER JOIN jobs_internal.rest_schedule_details AS s ON s.schedule_id = f.schedule_id
    INNER JOIN jobs_internal.rest_jobs AS r ON r.rest_job_id = s.rest_job_id
    INNER JOIN jobs_internal.tenants AS n ON n.tenant_id = r.tenant_id
    WHERE f.place > @offset
        AND f.place <= CAST(@offset AS BIGINT) + COALESCE(@size, 2147483647)
    ORDER BY f.place;
    RETURN 0;
END;
