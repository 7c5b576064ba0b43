-- Creates runs for instants that waited for an earlier run of their schedule to end: for each schedule without an
-- active run, the run of the earliest instant. A job or schedule that another transaction holds waits for the next pass
-- (I14), and a roll-out until no other one of the job is active.
--
-- Cost: (schedules with waiting instants), a key each of their active runs; and at most @slice schedules that start a run or skip an
-- instant.
--
-- Parameters:
--   @slice  Maximum number of schedules, at least 1.
--   @more   Output. 1: schedules may be left, so the next pass should follow at once.
-- Called by: jobs_internal.advance, before it takes other locks.
-- Locks:     the jobs (U) and the schedules (U, X), skipping locked rows,
--            rows of schedule_buffer (X); inserts into job_executions and schedule_skips.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_buffered_runs
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @idle TABLE (
        schedule_id     BIGINT NOT NULL PRIMARY KEY,
        job_id          UNIQUEIDENTIFIER NOT NULL,
        current_version INT NOT NULL
    );
    DECLARE @next TABLE (
        schedule_id      BIGINT NOT NULL PRIMARY KEY,
        due_at           DATETIME2(7) NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        backfill_id      BIGINT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL DEFAULT NEWID(),
        job_version      INT NULL, -- NULL: the instant is skipped
        fault            NVARCHAR(2048) NULL, -- why the schedule's parameters do not fit what the job declares
        is_old           BIT NOT NULL DEFAULT 0 -- before @skip_until
    );
    DECLARE @skip_until DATETIME2(7);
    DECLARE @picked INT;
    DECLARE @created TABLE (
        execution_id BIGINT NOT NULL,
        schedule_id  BIGINT NOT NULL PRIMARY KEY
    );
    DECLARE @recorded TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY); -- whose instant had no record yet

    -- Plan: IX_schedules_buffered, usually empty.
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.schedules AS s WHERE s.buffered > 0)
        RETURN 0;
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1
            AND a.state IN (N'None', N'Creating', N'Ready', N'Updating')
            AND a.paused_at IS NULL
    )
        RETURN 0;

    -- This reads schedules, not waiting instants: a backfill may leave very many. The jobs are locked in the statement that picks the
    -- schedules, so that those of a locked job take no place of others. The hint LOOP keeps the order of the joins, so the jobs of
    -- schedules with an active run are not locked. current_version is in no index, so that the locks are on the clustered keys. READPAST
    -- never waits, so the order of the jobs does not matter. Plan: IX_schedules_buffered in its order; per schedule one key of
    -- IX_job_executions_active_schedule_id, of PK_jobs and of PK_job_versions, until there are @slice; and
    -- IX_job_executions_active_job_id if the job has a plan.
    INSERT INTO @idle (schedule_id, job_id, current_version)
    SELECT TOP (@slice) s.schedule_id, j.job_id, j.current_version
    FROM (
        SELECT o.schedule_id, o.job_id
        FROM jobs_internal.schedules AS o
        WHERE o.buffered > 0
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Schedule'
                    AND o.schedule_id BETWEEN z.first_id AND z.last_id
            )
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.schedule_id = o.schedule_id
                    AND e.schedule_id IS NOT NULL
                    AND e.is_active = 1
            )
    ) AS s
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = s.job_id
    WHERE j.deleted_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_versions AS w
            INNER JOIN jobs_internal.rollout_runs AS r ON r.job_id = w.job_id
            WHERE w.job_id = j.job_id
                AND w.version = j.current_version
                AND w.rollout_plan IS NOT NULL
                AND r.is_active = 1
        )
    ORDER BY s.schedule_id;
    SET @picked = @@ROWCOUNT;
    IF @picked = 0
        RETURN 0;

    -- end_scheduled_runs has locked schedules in this transaction already, so this does not wait. Firings skip a schedule
    -- that is locked here, so no firing also finds the schedule idle.
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @idle AS i
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = i.schedule_id;
    DELETE i
    FROM @idle AS i
    WHERE NOT EXISTS (SELECT 1 FROM @locked_schedules AS l WHERE l.schedule_id = i.schedule_id);

    INSERT INTO @next (schedule_id, due_at, job_id, backfill_id, job_version)
    SELECT
        b.schedule_id,
        b.due_at,
        b.job_id,
        b.backfill_id,
        CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.job_steps AS d WHERE d.job_id = i.job_id AND d.version = i.current_version)
                THEN i.current_version
        END
    FROM @idle AS i
    INNER JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = i.schedule_id
    WHERE b.due_at = (SELECT MIN(f.due_at) FROM jobs_internal.schedule_buffer AS f WHERE f.schedule_id = i.schedule_id)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.schedule_id = i.schedule_id
                AND e.schedule_id IS NOT NULL
                AND e.is_active = 1
        );
    -- Other sessions hold all of them, or have started runs meanwhile.
    IF NOT EXISTS (SELECT 1 FROM @next)
        RETURN 0;
    SET @more = CASE WHEN @picked = @slice THEN 1 ELSE 0 END;
    SELECT @skip_until = a.skip_until
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    UPDATE n
    SET n.is_old = 1,
        n.job_version = NULL
    FROM @next AS n
    WHERE n.due_at < @skip_until
        AND n.backfill_id IS NULL;

    UPDATE n
    SET n.fault = s.parameters_fault,
        n.job_version = NULL
    FROM @next AS n
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = n.schedule_id
    WHERE s.parameters_fault IS NOT NULL
        AND n.job_version IS NOT NULL;

    -- Of several schedules of a job, one starts a roll-out; those of the others wait.
    DELETE n
    FROM @next AS n
    INNER JOIN jobs_internal.job_versions AS w ON w.job_id = n.job_id AND w.version = n.job_version
    WHERE w.rollout_plan IS NOT NULL
        AND EXISTS (
            SELECT 1
            FROM @next AS o
            WHERE o.job_id = n.job_id
                AND o.schedule_id < n.schedule_id
                AND o.job_version IS NOT NULL
        );

    DELETE b
    FROM @next AS n
    INNER LOOP JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = n.schedule_id AND b.due_at = n.due_at;

    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, schedule_id, due_at, backfill_id,
        allow_overlap, unaccounted, payload_id, last_message
    )
    OUTPUT inserted.execution_id, inserted.schedule_id
    INTO @created (execution_id, schedule_id)
    SELECT
        n.job_execution_id, n.job_id, n.job_version, N'Created', 1, @now, n.schedule_id, n.due_at, n.backfill_id,
        0, 1, COALESCE(s.run_payload_id, s.payload_id), N'Job execution created.'
    FROM @next AS n
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = n.schedule_id
    WHERE n.job_version IS NOT NULL
    ORDER BY n.due_at, n.schedule_id;

    INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, cause, reason, recorded_at)
    OUTPUT inserted.schedule_id
    INTO @recorded (schedule_id)
    SELECT
        n.schedule_id, n.job_id, n.due_at, 1,
        CASE WHEN n.is_old = 1 THEN N'Paused' WHEN n.fault IS NOT NULL THEN N'Other' ELSE N'NoSteps' END,
        CASE
            WHEN n.is_old = 1 THEN N'The control database was paused and resumed; instants before that time were to be skipped.'
            WHEN n.fault IS NOT NULL THEN n.fault
            ELSE N'The job has no steps.'
        END,
        @now
    FROM @next AS n
    WHERE n.job_version IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_skips AS o
            WHERE o.schedule_id = n.schedule_id
                AND o.due_at = n.due_at
        );

    UPDATE s
    SET s.executions = s.executions + CASE WHEN m.execution_id IS NULL THEN 0 ELSE 1 END,
        s.counted_from = s.counted_from + CASE WHEN m.execution_id IS NULL OR n.backfill_id IS NULL THEN 0 ELSE 1 END,
        s.skips = s.skips + CASE WHEN EXISTS (SELECT 1 FROM @recorded AS k WHERE k.schedule_id = n.schedule_id) THEN 1 ELSE 0 END,
        s.buffered = s.buffered - 1,
        s.last_started_at = CASE WHEN m.execution_id IS NOT NULL AND n.backfill_id IS NULL THEN @now ELSE s.last_started_at END,
        s.last_execution_id = COALESCE(m.execution_id, s.last_execution_id),
        s.last_job_execution_id = CASE WHEN m.execution_id IS NULL THEN s.last_job_execution_id ELSE n.job_execution_id END,
        s.last_lifecycle = CASE WHEN m.execution_id IS NULL THEN s.last_lifecycle END
    FROM @next AS n
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = n.schedule_id
    LEFT JOIN @created AS m ON m.schedule_id = n.schedule_id;

    UPDATE f
    SET f.started = f.started + CASE WHEN n.job_version IS NULL THEN 0 ELSE 1 END,
        f.skipped = f.skipped + CASE WHEN n.job_version IS NULL THEN 1 ELSE 0 END
    FROM @next AS n
    INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = n.backfill_id;
    RETURN 0;
END;
