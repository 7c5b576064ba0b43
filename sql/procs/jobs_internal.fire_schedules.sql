-- Creates the executions of due instants, records what is not run (I10), and moves the schedules on, in one
-- transaction. A firing whose due instant is not the stored one any more does nothing: somebody was faster (I2).
-- A job without steps is recorded as skipped (decision 18). A schedule of type Once is disabled when it has fired
-- (decision 12); if the job had no steps then, it stays enabled and fires when the first step is added.
--
-- Parameters:
--   @term_id  Who calls.
--   @firings  JSON array of objects: schedule_id, due_at (the stored instant), next_due_at (NULL: no more), skip_reason
--             (not NULL: due_at itself is not run), skips (array of due_at, count, reason).
--   @now      Tests only.
-- Called by: agent/scheduler.go, once per batch of due schedules.
-- Locks:     the jobs (S), the schedules (X); inserts into job_executions and schedule_skips.
-- Returns:   one row per firing: schedule_id, job_name, job_execution_id, due_at, result (Started, Skipped, Stale), reason.
-- Throws:
--   50029 the firings are missing.
--   50201 the term has ended or expired.
CREATE OR ALTER PROCEDURE jobs_internal.fire_schedules
    @term_id BIGINT,
    @firings NVARCHAR(MAX),
    @now     DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @jobs INT;
    DECLARE @given TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        due_at      DATETIME2(7) NOT NULL,
        next_due_at DATETIME2(7) NULL,
        skip_reason NVARCHAR(4000) NULL,
        skips       NVARCHAR(MAX) NULL
    );
    DECLARE @moved TABLE (
        schedule_id      BIGINT NOT NULL PRIMARY KEY,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NULL,
        job_version      INT NULL,
        skip_reason      NVARCHAR(4000) NULL
    );

    IF @firings IS NULL OR ISJSON(@firings) = 0
        THROW 50029, N'fire_schedules needs @firings as a JSON array.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @now = @now;

    INSERT INTO @given (schedule_id, due_at, next_due_at, skip_reason, skips)
    SELECT f.schedule_id, f.due_at, f.next_due_at, f.skip_reason, f.skips
    FROM OPENJSON(@firings) WITH (
        schedule_id BIGINT,
        due_at      DATETIME2(7),
        next_due_at DATETIME2(7),
        skip_reason NVARCHAR(4000),
        skips       NVARCHAR(MAX) AS JSON
    ) AS f;

    BEGIN TRANSACTION;

    -- Jobs before schedules, as everywhere: their versions must not change until commit.
    SELECT @jobs = COUNT(*)
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j WITH (REPEATABLEREAD) ON j.job_id = s.job_id;

    UPDATE s
    SET s.next_due_at = g.next_due_at,
        s.last_due_at = g.due_at
    OUTPUT inserted.schedule_id, inserted.job_id
    INTO @moved (schedule_id, job_id)
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE s.enabled = 1
        AND s.next_due_at = g.due_at
        AND j.deleted_at IS NULL;

    UPDATE m
    SET m.job_execution_id = NEWID(),
        m.job_version = j.current_version,
        m.skip_reason = CASE
            WHEN g.skip_reason IS NOT NULL THEN g.skip_reason
            WHEN NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS d
                WHERE d.job_id = j.job_id
                    AND d.version = j.current_version
            ) THEN N'The job has no steps.'
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.schedule_id = m.schedule_id
                    AND e.due_at = g.due_at
            ) THEN N'The instant has an execution already.'
        END
    FROM @moved AS m
    INNER JOIN @given AS g ON g.schedule_id = m.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id;

    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, schedule_id, due_at, last_message
    )
    SELECT
        m.job_execution_id, m.job_id, m.job_version, N'Created', 1, @now, m.schedule_id, g.due_at, N'Job execution created.'
    FROM @moved AS m
    INNER JOIN @given AS g ON g.schedule_id = m.schedule_id
    WHERE m.skip_reason IS NULL;

    INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, reason, recorded_at)
    SELECT m.schedule_id, m.job_id, x.due_at, x.skipped, x.reason, @now
    FROM @moved AS m
    INNER JOIN (
        SELECT g.schedule_id, g.due_at, 1 AS skipped, v.skip_reason AS reason
        FROM @given AS g
        INNER JOIN @moved AS v ON v.schedule_id = g.schedule_id
        WHERE v.skip_reason IS NOT NULL
        UNION ALL
        SELECT g.schedule_id, k.due_at, k.[count], k.reason
        FROM @given AS g
        CROSS APPLY OPENJSON(g.skips) WITH (
            due_at  DATETIME2(7),
            [count] INT,
            reason  NVARCHAR(4000)
        ) AS k
        WHERE g.skips IS NOT NULL
    ) AS x ON x.schedule_id = m.schedule_id
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.schedule_skips AS o
        WHERE o.schedule_id = m.schedule_id
            AND o.due_at = x.due_at
    );

    UPDATE s
    SET s.executions = s.executions + CASE WHEN m.skip_reason IS NULL THEN 1 ELSE 0 END,
        s.skips = s.skips
            + CASE WHEN m.skip_reason IS NULL THEN 0 ELSE 1 END
            + COALESCE(c.skipped, 0),
        s.enabled = CASE WHEN s.kind = N'elastic' AND s.interval_type = N'Once' AND m.skip_reason IS NULL THEN 0 ELSE s.enabled END,
        s.state = CASE
            WHEN s.next_due_at IS NULL AND (m.skip_reason IS NULL OR s.kind <> N'elastic' OR s.interval_type <> N'Once') THEN N'Completed'
            ELSE s.state
        END,
        s.reason = CASE
            WHEN s.next_due_at IS NULL AND m.skip_reason IS NULL THEN N'No due instant is left.'
            ELSE m.skip_reason
        END
    FROM @moved AS m
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
    LEFT JOIN (
        SELECT
            g.schedule_id,
            SUM(k.[count]) AS skipped
        FROM @given AS g
        CROSS APPLY OPENJSON(g.skips) WITH ([count] INT) AS k
        WHERE g.skips IS NOT NULL
        GROUP BY g.schedule_id
    ) AS c ON c.schedule_id = s.schedule_id;

    COMMIT TRANSACTION;

    SELECT
        g.schedule_id,
        j.name AS job_name,
        CASE WHEN m.skip_reason IS NULL THEN m.job_execution_id END AS job_execution_id,
        g.due_at,
        CASE
            WHEN m.schedule_id IS NULL THEN N'Stale'
            WHEN m.skip_reason IS NOT NULL THEN N'Skipped'
            ELSE N'Started'
        END AS result,
        m.skip_reason AS reason
    FROM @given AS g
    LEFT JOIN @moved AS m ON m.schedule_id = g.schedule_id
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
    ORDER BY g.due_at, g.schedule_id;
    RETURN 0;
END;
