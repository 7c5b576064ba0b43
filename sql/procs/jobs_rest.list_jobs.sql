-- Lists jobs of the SAP surface (E2, E20).
--
-- Parameters:
--   @tenant          The tenant; NULL: the provider, who sees all jobs.
--   @of_tenant       Only jobs of this tenant; a filter replaces it. NULL: no restriction.
--   @job_type        HTTP_ENDPOINT or CF_TASK; NULL: both.
--   @filter          JSON array of arrays of objects: property (name, subDomain or tenantId), contains (true: substring without regard to
--                    case, else equal), value. All conditions of one of the arrays must hold. NULL: no filter.
--   @search          JSON object, all members of which must hold: words (array of texts that occur in name, description or action),
--                    active, bounds (array of objects: field startTime or endTime, operator <, >, <= or >=, at). NULL: no search.
--   @sort            name, _id, createdAt or active; NULL: _id.
--   @descending      1: from the last one.
--   @with_schedules  1: read the schedules of the jobs, too.
--   @offset          Number of jobs to leave out.
--   @size            Maximum number of jobs; NULL: all.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: one row: total, the number of jobs of all pages.
--            2: the jobs, with the columns of jobs_internal.rest_job_details; id is the _id.
--            3: their schedules, as in jobs_rest.list_schedules.
-- Throws:
--   50090 an argument is missing or out of range.
--   50091 the filter, the search or the order is invalid.
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.list_jobs
    @tenant         NVARCHAR(129),
    @of_tenant      NVARCHAR(129) = NULL,
    @job_type       NVARCHAR(21) = NULL,
    @filter         NVARCHAR(MAX) = NULL,
    @search         NVARCHAR(MAX) = NULL,
    @sort           NVARCHAR(21) = NULL,
    @descending     BIT = 0,
    @with_schedules BIT = 0,
    @offset         INT = 0,
    @size           INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @active BIT;
    DECLARE @conditions TABLE (
        condition_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        list_no      INT NOT NULL,
        property     NVARCHAR(20) NOT NULL,
        is_contained BIT NOT NULL,
        value        NVARCHAR(4000) COLLATE Latin1_General_100_BIN2 NOT NULL
    );
    DECLARE @words TABLE (word_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY, word NVARCHAR(4000) NOT NULL);
    DECLARE @bounds TABLE (
        bound_id  INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        field     NVARCHAR(20) NOT NULL,
        operation NVARCHAR(2) NOT NULL,
        at        DATETIME2(7) NOT NULL
    );
    DECLARE @found TABLE (place INT NOT NULL PRIMARY KEY, rest_job_id INT NOT NULL);
    DECLARE @page TABLE (rest_job_id INT NOT NULL PRIMARY KEY, place INT NOT NULL);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@of_tenant) > 256
        THROW 50097, N'Invalid @of_tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@job_type) > 40
        THROW 50097, N'Invalid @job_type: want at most 20 characters, not 21 or more.', 1;
    IF DATALENGTH(@sort) > 40
        THROW 50097, N'Invalid @sort: want at most 20 characters, not 21 or more.', 1;

    SET @sort = COALESCE(@sort, N'_id');
    IF @offset < 0 OR @size < 1 OR @offset IS NULL
        THROW 50090, N'Invalid page: want @offset of at least 0, and @size of at least 1.', 1;
    IF @sort NOT IN (N'name', N'_id', N'createdAt', N'active') OR ISJSON(@filter) = 0 OR ISJSON(@search) = 0
        THROW 50091, N'Invalid list of jobs: want a known @sort, and @filter and @search as JSON.', 1;
    INSERT INTO @conditions (list_no, property, is_contained, value)
    SELECT CAST(l.[key] AS INT), c.property, COALESCE(c.[contains], 0), COALESCE(c.value, N'')
    FROM OPENJSON(@filter) AS l
    CROSS APPLY OPENJSON(l.value) WITH (
        property   NVARCHAR(20),
        [contains] BIT,
        value      NVARCHAR(4000)
    ) AS c;
    IF EXISTS (SELECT 1 FROM @conditions AS c WHERE c.property NOT IN (N'name', N'subDomain', N'tenantId'))
        THROW 50091, N'Invalid filter: want the properties name, subDomain and tenantId.', 1;
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
    SET @of_tenant = CASE WHEN @filter IS NULL THEN @of_tenant END;

    WITH matching AS (
        SELECT
            r.rest_job_id,
            CASE @sort
                WHEN N'name' THEN r.name
                WHEN N'createdAt' THEN CONVERT(NVARCHAR(33), r.created_at, 126)
                WHEN N'active' THEN CAST(r.active AS NVARCHAR(1))
                ELSE N''
            END AS sort_key
        FROM jobs_internal.rest_jobs AS r
        INNER JOIN jobs_internal.tenants AS n ON n.tenant_id = r.tenant_id
        WHERE (@tenant IS NULL OR r.tenant_id = @tenant)
            AND (@of_tenant IS NULL OR r.tenant_id = @of_tenant)
            AND (@job_type IS NULL OR r.job_type = @job_type)
            AND (@active IS NULL OR r.active = @active)
            AND (
                @filter IS NULL
                OR EXISTS (
                    SELECT 1
                    FROM (SELECT DISTINCT d.list_no FROM @conditions AS d) AS l
                    WHERE NOT EXISTS (
                        SELECT 1
                        FROM @conditions AS c
                        CROSS APPLY (
                            SELECT CASE c.property
                                WHEN N'name' THEN r.name
                                WHEN N'subDomain' THEN n.subdomain COLLATE Latin1_General_100_BIN2
                                ELSE r.tenant_id
                            END AS value
                        ) AS v
                        WHERE c.list_no = l.list_no
                            AND CASE
                                WHEN c.is_contained = 0 AND v.value = c.value AND DATALENGTH(v.value) = DATALENGTH(c.value) THEN 1
                                WHEN c.is_contained = 1
                                    AND CHARINDEX(
                                        c.value COLLATE Latin1_General_100_CI_AS, v.value COLLATE Latin1_General_100_CI_AS
                                    ) > 0 THEN 1
                                WHEN c.is_contained = 1 AND c.value = N'' THEN 1
                                ELSE 0
                            END = 0
                    )
                )
            )
            AND NOT EXISTS (
                SELECT 1
                FROM @words AS w
                WHERE CHARINDEX(w.word COLLATE Latin1_General_100_CI_AS, r.name COLLATE Latin1_General_100_CI_AS) = 0
                    AND CHARINDEX(w.word COLLATE Latin1_General_100_CI_AS, r.description COLLATE Latin1_General_100_CI_AS) = 0
                    AND CHARINDEX(w.word COLLATE Latin1_General_100_CI_AS, r.action COLLATE Latin1_General_100_CI_AS) = 0
            )
            AND NOT EXISTS (
                SELECT 1
                FROM @bounds AS b
                CROSS APPLY (SELECT CASE b.field WHEN N'startTime' THEN r.start_at ELSE r.end_at END AS at) AS v
                WHERE CASE
                    WHEN b.operation = N'<' AND v.at < b.at THEN 1
                    WHEN b.operation = N'>' AND v.at > b.at THEN 1
                    WHEN b.operation = N'<=' AND v.at <= b.at THEN 1
                    WHEN b.operation = N'>=' AND v.at >= b.at THEN 1
                    ELSE 0
                END = 0
            )
    )
    INSERT INTO @found (place, rest_job_id)
    SELECT
        ROW_NUMBER() OVER (
            ORDER BY
                CASE WHEN @descending = 0 THEN m.sort_key END,
                CASE WHEN @descending = 1 THEN m.sort_key END DESC,
                CASE WHEN @descending = 1 THEN -m.rest_job_id ELSE m.rest_job_id END
        ),
        m.rest_job_id
    FROM matching AS m
    OPTION (RECOMPILE);
    INSERT INTO @page (rest_job_id, place)
    SELECT f.rest_job_id, f.place
    FROM @found AS f
    WHERE f.place > @offset
        AND f.place <= CAST(@offset AS BIGINT) + COALESCE(@size, 2147483647);

    SELECT COUNT(*) AS total
    FROM @found AS f;
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
    FROM @page AS p
    INNER JOIN jobs_internal.rest_job_details AS r ON r.rest_job_id = p.rest_job_id
    ORDER BY p.place;
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
    FROM @page AS p
    INNER JOIN jobs_internal.rest_schedule_details AS s ON s.rest_job_id = p.rest_job_id
    WHERE @with_schedules = 1
    ORDER BY p.place, s.schedule_id;
    RETURN 0;
END;
