-- Creates the executions of due instants, records what is not run (I10), and moves the schedules and backfills on, in one
-- transaction. A firing whose due instant is not the stored one any more does nothing: somebody was faster (I2). Of several
-- firings of one schedule only one is carried out, its own before those of backfills; the others come again.
-- Each instant to run meets the overlap policy: it is run, waits for an earlier run of the schedule to end, or is
-- recorded as skipped. Under CancelOther and TerminateOther only the last of several instants is not skipped.
-- An instant of a job without steps is recorded as skipped (decision 18). A schedule of type Once is disabled when it has
-- fired (decision 12); if the job had no steps then, it stays enabled and fires when the first step is added.
-- An instant that has a run already, through a backfill, is neither run nor recorded once more.
-- A firing is left, and comes again, while another transaction holds its job or schedule, or a run that its overlap policy is to end (I14).
--
-- Parameters:
--   @term_id  Who calls.
--   @firings  JSON array of objects: schedule_id, due_at (the stored instant, of a backfill its next_at; NULL: not set yet),
--             revision (of the schedule that was read; NULL: is not checked), backfill_id (NULL: the schedule itself), runs (array of
--             instants to run; NULL: due_at), skips (array of due_at, count, cause, reason), last_due_at (last instant that
--             this firing deals with; NULL: the latest of due_at and runs), next_due_at (NULL: no more), next_fire_at (NULL: next_due_at),
--             upcoming (array of at most ten instants, or NULL), limit (runs that the schedule may start since its kind or text changed; NULL:
--             any number. The instant that uses it up is the last one, D-P3), error (of a backfill: why it cannot go on).
--   @now      Tests only.
-- Called by: agent/scheduler.go, once per batch of due schedules.
-- Locks:     the jobs (S) and the schedules (U, X), skipping those that others have locked, the schedules' rows in schedule_buffer (X), backfills (X), runs that are to end (X); inserts into
--            schedule_buffer, job_executions and schedule_skips.
-- Returns:   one row per instant to run, or per firing without any that is stale, left or skips something: schedule_id, job_name,
--            job_execution_id, due_at, result (Started, Buffered, Skipped, Stale, Locked), reason.
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
    DECLARE @wanted_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @wanted_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, job_id UNIQUEIDENTIFIER NOT NULL);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @wanted_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, schedule_id BIGINT NOT NULL); -- that may have to end
    DECLARE @locked_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @left TABLE (schedule_id BIGINT NOT NULL, due_at DATETIME2(7) NULL);
    DECLARE @given TABLE (
        firing_no    INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        schedule_id  BIGINT NOT NULL,
        due_at       DATETIME2(7) NULL,
        revision     INT NULL,
        backfill_id  BIGINT NULL,
        runs         NVARCHAR(MAX) NULL,
        skips        NVARCHAR(MAX) NULL,
        last_due_at  DATETIME2(7) NULL,
        next_due_at  DATETIME2(7) NULL,
        next_fire_at DATETIME2(7) NULL,
        upcoming     NVARCHAR(MAX) NULL,
        limit        BIGINT NULL,
        error        NVARCHAR(4000) NULL
    );
    -- The firings that are carried out: at most one of a schedule.
    DECLARE @moved TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        firing_no   INT NOT NULL,
        backfill_id BIGINT NULL,
        job_id      UNIQUEIDENTIFIER NOT NULL,
        job_version INT NULL,
        overlap     NVARCHAR(20) NULL,
        has_steps   BIT NOT NULL DEFAULT 0,
        active      BIT NOT NULL DEFAULT 0, -- a run of the schedule is active
        waiting     BIT NOT NULL DEFAULT 0, -- an instant waits for it
        room        BIGINT NULL             -- runs that may still be started; NULL: any number
    );
    DECLARE @runs TABLE (
        schedule_id      BIGINT NOT NULL,
        due_at           DATETIME2(7) NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NULL,
        result           NVARCHAR(10) NOT NULL,
        cause            NVARCHAR(20) NULL,
        reason           NVARCHAR(4000) NULL,
        PRIMARY KEY (schedule_id, due_at)
    );
    DECLARE @replaced TABLE (
        schedule_id BIGINT NOT NULL,
        job_id      UNIQUEIDENTIFIER NOT NULL,
        due_at      DATETIME2(7) NOT NULL
    );
    DECLARE @recorded TABLE (
        schedule_id BIGINT NOT NULL,
        due_at      DATETIME2(7) NOT NULL,
        skipped     INT NOT NULL,
        cause       NVARCHAR(20) NOT NULL,
        PRIMARY KEY (schedule_id, due_at)
    );
    DECLARE @made TABLE (
        schedule_id      BIGINT NOT NULL,
        execution_id     BIGINT NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        PRIMARY KEY (schedule_id, execution_id)
    );

    IF @firings IS NULL OR ISJSON(@firings) = 0
        THROW 50029, N'fire_schedules needs @firings as a JSON array.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @now = @now;

    INSERT INTO @given (
        schedule_id, due_at, revision, backfill_id, runs, skips, last_due_at, next_due_at, next_fire_at, upcoming, limit,
        error
    )
    SELECT
        f.schedule_id, f.due_at, f.revision, f.backfill_id, f.runs, f.skips, f.last_due_at, f.next_due_at, f.next_fire_at,
        f.upcoming, f.limit, f.error
    FROM OPENJSON(@firings) WITH (
        schedule_id  BIGINT,
        due_at       DATETIME2(7),
        revision     INT,
        backfill_id  BIGINT,
        runs         NVARCHAR(MAX) AS JSON,
        skips        NVARCHAR(MAX) AS JSON,
        last_due_at  DATETIME2(7),
        next_due_at  DATETIME2(7),
        next_fire_at DATETIME2(7),
        upcoming     NVARCHAR(MAX) AS JSON,
        limit        BIGINT,
        error        NVARCHAR(4000)
    ) AS f;

    BEGIN TRANSACTION;

    -- Jobs before schedules, and each in the order of its key. A job's version must not change until commit. The columns
    -- current_version, revision and allow_overlap are in no index, so that the locks are on the clustered keys.
    INSERT INTO @wanted_schedules (schedule_id, job_id)
    SELECT DISTINCT s.schedule_id, s.job_id
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id;
    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT w.job_id
    FROM @wanted_schedules AS w;
    INSERT INTO @locked_jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (REPEATABLEREAD, READPAST, ROWLOCK) ON j.job_id = w.job_id;
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @wanted_schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = w.schedule_id
    WHERE w.job_id IN (SELECT l.job_id FROM @locked_jobs AS l);

    -- Runs that CancelOther and TerminateOther may have to end.
    INSERT INTO @wanted_runs (execution_id, schedule_id)
    SELECT e.execution_id, e.schedule_id
    FROM @locked_schedules AS l
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = l.schedule_id
    INNER JOIN jobs_internal.job_executions AS e ON e.schedule_id = l.schedule_id
    WHERE e.is_active = 1
        AND (
            s.overlap IN (N'CancelOther', N'TerminateOther')
            OR EXISTS (
                SELECT 1
                FROM jobs_internal.schedule_backfills AS f
                WHERE f.schedule_id = l.schedule_id
                    AND f.state = N'Open'
                    AND f.overlap IN (N'CancelOther', N'TerminateOther')
            )
        );
    IF EXISTS (SELECT 1 FROM @wanted_runs)
    BEGIN
        INSERT INTO @locked_runs (execution_id, allow_overlap)
        SELECT e.execution_id, e.allow_overlap
        FROM @wanted_runs AS w
        INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = w.execution_id;
        DELETE l
        FROM @locked_schedules AS l
        WHERE EXISTS (
            SELECT 1
            FROM @wanted_runs AS w
            WHERE w.schedule_id = l.schedule_id
                AND NOT EXISTS (SELECT 1 FROM @locked_runs AS r WHERE r.execution_id = w.execution_id)
        );
    END;

    DELETE g
    OUTPUT deleted.schedule_id, deleted.due_at
    INTO @left (schedule_id, due_at)
    FROM @given AS g
    INNER JOIN @wanted_schedules AS w ON w.schedule_id = g.schedule_id
    WHERE NOT EXISTS (SELECT 1 FROM @locked_schedules AS l WHERE l.schedule_id = g.schedule_id);

    UPDATE s
    SET s.next_due_at = g.next_due_at,
        s.next_fire_at = CASE WHEN g.next_due_at IS NOT NULL THEN COALESCE(g.next_fire_at, g.next_due_at) END,
        s.last_due_at = COALESCE(
            g.last_due_at,
            (SELECT MAX(CAST(r.value AS DATETIME2(7))) FROM OPENJSON(g.runs) AS r WHERE CAST(r.value AS DATETIME2(7)) > g.due_at),
            g.due_at
        ),
        s.upcoming = g.upcoming
    OUTPUT inserted.schedule_id, g.firing_no, inserted.job_id
    INTO @moved (schedule_id, firing_no, job_id)
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE g.backfill_id IS NULL
        AND g.firing_no IN (SELECT MIN(x.firing_no) FROM @given AS x WHERE x.backfill_id IS NULL GROUP BY x.schedule_id)
        AND s.enabled = 1
        AND s.paused = 0
        AND s.next_due_at = g.due_at
        AND (g.revision IS NULL OR s.revision = g.revision)
        AND j.deleted_at IS NULL;

    IF EXISTS (SELECT 1 FROM @given AS g WHERE g.backfill_id IS NOT NULL)
        UPDATE f
        SET f.next_at = g.next_due_at,
            f.state = CASE WHEN g.error IS NOT NULL THEN N'Faulted' WHEN g.next_due_at IS NULL THEN N'Completed' ELSE f.state END,
            f.reason = g.error,
            f.ended_at = CASE WHEN g.error IS NOT NULL OR g.next_due_at IS NULL THEN @now END
        OUTPUT inserted.schedule_id, g.firing_no, inserted.backfill_id, s.job_id, inserted.overlap
        INTO @moved (schedule_id, firing_no, backfill_id, job_id, overlap)
        FROM @given AS g
        INNER JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = g.backfill_id AND f.schedule_id = g.schedule_id
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        WHERE g.firing_no IN (SELECT MIN(x.firing_no) FROM @given AS x WHERE x.backfill_id IS NOT NULL GROUP BY x.schedule_id)
            AND NOT EXISTS (SELECT 1 FROM @moved AS m WHERE m.schedule_id = g.schedule_id)
            AND f.state = N'Open'
            AND (f.next_at = g.due_at OR (f.next_at IS NULL AND g.due_at IS NULL))
            AND (g.revision IS NULL OR s.revision = g.revision)
            AND j.deleted_at IS NULL;

    UPDATE m
    SET m.job_version = j.current_version,
        m.overlap = COALESCE(m.overlap, s.overlap),
        m.has_steps = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.job_steps AS d WHERE d.job_id = j.job_id AND d.version = j.current_version) THEN 1
            ELSE 0
        END,
        m.active = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.schedule_id = m.schedule_id AND e.is_active = 1) THEN 1
            ELSE 0
        END,
        m.waiting = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = m.schedule_id) THEN 1
            ELSE 0
        END,
        m.room = g.limit - (s.executions - s.counted_from)
            - (SELECT COUNT(*) FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = m.schedule_id AND b.backfill_id IS NULL)
    FROM @moved AS m
    INNER JOIN @given AS g ON g.firing_no = m.firing_no
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id;

    -- The overlap policies. place counts the instants of a schedule that may run, from 1; number is how many there are.
    INSERT INTO @runs (schedule_id, due_at, job_execution_id, result, cause, reason)
    SELECT
        p.schedule_id,
        p.due_at,
        CASE WHEN p.result = N'Started' THEN NEWID() END,
        p.result,
        CASE WHEN p.duplicate = 1 THEN N'Duplicate' WHEN p.has_steps = 0 THEN N'NoSteps' WHEN p.result = N'Skipped' THEN N'Overlap' END,
        CASE
            WHEN p.duplicate = 1 THEN N'The instant has an execution already.'
            WHEN p.has_steps = 0 THEN N'The job has no steps.'
            WHEN p.result = N'Skipped' AND p.overlap IN (N'CancelOther', N'TerminateOther')
                THEN CONCAT(N'Overlap policy ', p.overlap, N': a later instant was due, too, and took its place.')
            WHEN p.result = N'Skipped' AND p.overlap = N'BufferOne' THEN N'Overlap policy BufferOne: another instant waited already for the earlier run to end.'
            WHEN p.result = N'Skipped' THEN N'Overlap policy Skip: an earlier run of the schedule was active.'
        END
    FROM (
        SELECT
            o.schedule_id,
            o.due_at,
            o.duplicate,
            o.has_steps,
            o.overlap,
            CASE
                WHEN o.duplicate = 1 OR o.has_steps = 0 THEN N'Skipped'
                WHEN o.overlap IN (N'AllowAll', N'Elastic') THEN N'Started'
                WHEN o.overlap = N'TerminateOther' THEN CASE WHEN o.place = o.number THEN N'Started' ELSE N'Skipped' END
                WHEN o.overlap = N'CancelOther' THEN CASE
                    WHEN o.place < o.number THEN N'Skipped'
                    WHEN o.active = 1 THEN N'Buffered'
                    ELSE N'Started'
                END
                WHEN o.place = 1 AND o.active = 0 AND o.waiting = 0 THEN N'Started'
                WHEN o.overlap = N'BufferAll' THEN N'Buffered'
                WHEN o.overlap = N'BufferOne' AND o.waiting = 0 AND o.place = CASE WHEN o.active = 1 THEN 1 ELSE 2 END THEN N'Buffered'
                ELSE N'Skipped'
            END AS result
        FROM (
            SELECT
                i.schedule_id,
                i.due_at,
                i.duplicate,
                m.has_steps,
                m.overlap,
                m.active,
                m.waiting,
                ROW_NUMBER() OVER (PARTITION BY i.schedule_id, i.duplicate ORDER BY i.due_at) AS place,
                COUNT(*) OVER (PARTITION BY i.schedule_id, i.duplicate) AS number
            FROM (
                SELECT
                    d.schedule_id,
                    d.due_at,
                    CASE
                        WHEN EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.schedule_id = d.schedule_id AND e.due_at = d.due_at) THEN 1
                        WHEN EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = d.schedule_id AND b.due_at = d.due_at) THEN 1
                        ELSE 0
                    END AS duplicate
                FROM (
                    SELECT v.schedule_id, g.due_at
                    FROM @moved AS v
                    INNER JOIN @given AS g ON g.firing_no = v.firing_no
                    WHERE g.runs IS NULL
                        AND g.due_at IS NOT NULL
                    UNION
                    SELECT v.schedule_id, CAST(r.value AS DATETIME2(7))
                    FROM @moved AS v
                    INNER JOIN @given AS g ON g.firing_no = v.firing_no
                    CROSS APPLY OPENJSON(g.runs) AS r
                    WHERE g.runs IS NOT NULL
                ) AS d
            ) AS i
            INNER JOIN @moved AS m ON m.schedule_id = i.schedule_id
        ) AS o
    ) AS p;

    -- What comes after the last run that a count allows is not due at all.
    IF EXISTS (SELECT 1 FROM @moved AS m WHERE m.room IS NOT NULL)
    BEGIN
        DELETE r
        FROM @moved AS m
        INNER JOIN @runs AS r ON r.schedule_id = m.schedule_id
        WHERE m.room <= 0
            OR r.due_at > (
                SELECT x.due_at
                FROM (
                    SELECT
                        o.schedule_id,
                        o.due_at,
                        ROW_NUMBER() OVER (PARTITION BY o.schedule_id ORDER BY o.due_at) AS place
                    FROM @runs AS o
                    WHERE o.result <> N'Skipped'
                ) AS x
                WHERE x.schedule_id = m.schedule_id
                    AND x.place = m.room
            );
        UPDATE s
        SET s.next_due_at = NULL,
            s.next_fire_at = NULL,
            s.upcoming = NULL
        FROM @moved AS m
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
        WHERE m.backfill_id IS NULL
            AND m.room <= (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped');
    END;

    IF EXISTS (SELECT 1 FROM @moved AS m WHERE m.overlap IN (N'CancelOther', N'TerminateOther') AND (m.active = 1 OR m.waiting = 1))
    BEGIN
        DELETE b
        OUTPUT deleted.schedule_id, deleted.job_id, deleted.due_at
        INTO @replaced (schedule_id, job_id, due_at)
        FROM @moved AS m
        INNER JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = m.schedule_id
        WHERE m.overlap IN (N'CancelOther', N'TerminateOther')
            AND EXISTS (SELECT 1 FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped');
        UPDATE e
        SET e.stop_requested_at = @now,
            e.stop_requested_by = LEFT(CONCAT(N'schedule ''', s.name, N''''), 128)
        FROM @moved AS m
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
        INNER JOIN jobs_internal.job_executions AS e ON e.schedule_id = m.schedule_id
        WHERE m.overlap IN (N'CancelOther', N'TerminateOther')
            AND e.is_active = 1
            AND e.stop_requested_at IS NULL
            AND EXISTS (SELECT 1 FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped');
    END;

    INSERT INTO jobs_internal.schedule_buffer (schedule_id, due_at, job_id, backfill_id, buffered_at)
    SELECT r.schedule_id, r.due_at, m.job_id, m.backfill_id, @now
    FROM @runs AS r
    INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
    WHERE r.result = N'Buffered';

    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, schedule_id, due_at, backfill_id,
        allow_overlap, unaccounted, last_message
    )
    OUTPUT inserted.execution_id, inserted.schedule_id, inserted.job_execution_id
    INTO @made (execution_id, schedule_id, job_execution_id)
    SELECT
        r.job_execution_id, m.job_id, m.job_version, N'Created', 1, @now, r.schedule_id, r.due_at, m.backfill_id,
        CASE WHEN m.overlap IN (N'AllowAll', N'TerminateOther') THEN 1 ELSE 0 END, 1, N'Job execution created.'
    FROM @runs AS r
    INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
    WHERE r.result = N'Started'
    ORDER BY r.due_at, r.schedule_id;

    -- An instant has one record, and none when it has a run.
    INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, cause, reason, recorded_at)
    OUTPUT inserted.schedule_id, inserted.due_at, inserted.skipped, inserted.cause
    INTO @recorded (schedule_id, due_at, skipped, cause)
    SELECT x.schedule_id, m.job_id, x.due_at, x.skipped, x.cause, x.reason, @now
    FROM (
        SELECT
            k.schedule_id,
            k.due_at,
            k.skipped,
            k.cause,
            k.reason,
            ROW_NUMBER() OVER (PARTITION BY k.schedule_id, k.due_at ORDER BY k.skipped DESC) AS place
        FROM (
            SELECT r.schedule_id, r.due_at, 1 AS skipped, r.cause, r.reason
            FROM @runs AS r
            WHERE r.result = N'Skipped'
                AND r.cause <> N'Duplicate'
            UNION ALL
            SELECT p.schedule_id, p.due_at, 1, N'Overlap', N'A later instant was due before the earlier run had ended, and took its place.'
            FROM @replaced AS p
            UNION ALL
            SELECT v.schedule_id, w.due_at, COALESCE(w.[count], 1), COALESCE(w.cause, N'Other'), COALESCE(w.reason, N'')
            FROM @moved AS v
            INNER JOIN @given AS g ON g.firing_no = v.firing_no
            CROSS APPLY OPENJSON(g.skips) WITH (
                due_at  DATETIME2(7),
                [count] INT,
                cause   NVARCHAR(20),
                reason  NVARCHAR(4000)
            ) AS w
            WHERE g.skips IS NOT NULL
        ) AS k
    ) AS x
    INNER JOIN @moved AS m ON m.schedule_id = x.schedule_id
    WHERE x.place = 1
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_skips AS o
            WHERE o.schedule_id = x.schedule_id
                AND o.due_at = x.due_at
        )
        AND (x.skipped > 1 OR NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.schedule_id = x.schedule_id
                AND e.due_at = x.due_at
        ));

    UPDATE s
    SET s.executions = s.executions + c.started,
        s.counted_from = s.counted_from + CASE WHEN m.backfill_id IS NULL THEN 0 ELSE c.started END,
        s.skips = s.skips + c.skips,
        s.skips_overlap = s.skips_overlap + c.skips_overlap,
        s.skips_catch_up = s.skips_catch_up + c.skips_catch_up,
        s.buffered = s.buffered + c.buffered - c.replaced,
        s.last_started_at = CASE WHEN c.started > 0 AND m.backfill_id IS NULL THEN @now ELSE s.last_started_at END,
        s.last_execution_id = COALESCE(n.execution_id, s.last_execution_id),
        s.last_job_execution_id = COALESCE(n.job_execution_id, s.last_job_execution_id),
        s.last_lifecycle = CASE WHEN c.started > 0 THEN NULL ELSE s.last_lifecycle END,
        s.enabled = CASE WHEN m.backfill_id IS NULL AND s.spec IS NULL AND s.interval_type = N'Once' AND c.started > 0 THEN 0 ELSE s.enabled END,
        s.state = CASE
            WHEN m.backfill_id IS NULL AND s.next_due_at IS NULL AND (c.accepted > 0 OR s.spec IS NOT NULL OR s.interval_type <> N'Once') THEN N'Completed'
            ELSE s.state
        END,
        s.closed_at = CASE WHEN m.backfill_id IS NULL AND s.next_due_at IS NULL AND s.name <> N'' THEN @now ELSE s.closed_at END,
        s.reason = CASE
            WHEN m.backfill_id IS NOT NULL THEN s.reason
            WHEN s.next_due_at IS NULL AND (c.accepted > 0 OR c.reason IS NULL) THEN N'No due instant is left.'
            WHEN c.accepted > 0 THEN NULL
            ELSE c.reason
        END
    FROM @moved AS m
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
    INNER JOIN (
        SELECT
            v.schedule_id,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = v.schedule_id AND r.result = N'Started') AS started,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = v.schedule_id AND r.result <> N'Skipped') AS accepted,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = v.schedule_id AND r.result = N'Buffered') AS buffered,
            (SELECT COUNT(*) FROM @replaced AS p WHERE p.schedule_id = v.schedule_id) AS replaced,
            (SELECT COALESCE(SUM(d.skipped), 0) FROM @recorded AS d WHERE d.schedule_id = v.schedule_id) AS skips,
            (SELECT COALESCE(SUM(d.skipped), 0) FROM @recorded AS d WHERE d.schedule_id = v.schedule_id AND d.cause = N'Overlap') AS skips_overlap,
            (SELECT COALESCE(SUM(d.skipped), 0) FROM @recorded AS d WHERE d.schedule_id = v.schedule_id AND d.cause = N'CatchUp') AS skips_catch_up,
            (SELECT MAX(e.execution_id) FROM @made AS e WHERE e.schedule_id = v.schedule_id) AS execution_id,
            COALESCE(
                (SELECT MIN(r.reason) FROM @runs AS r WHERE r.schedule_id = v.schedule_id AND r.result = N'Skipped'),
                JSON_VALUE(g.skips, '$[0].reason')
            ) AS reason
        FROM @moved AS v
        INNER JOIN @given AS g ON g.firing_no = v.firing_no
    ) AS c ON c.schedule_id = m.schedule_id
    LEFT JOIN @made AS n ON n.schedule_id = c.schedule_id AND n.execution_id = c.execution_id;

    UPDATE f
    SET f.started = f.started + c.started,
        f.skipped = f.skipped + c.skipped
    FROM @moved AS m
    INNER JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = m.backfill_id
    INNER JOIN (
        SELECT
            r.schedule_id,
            SUM(CASE WHEN r.result = N'Started' THEN 1 ELSE 0 END) AS started,
            SUM(CASE WHEN r.result = N'Skipped' THEN 1 ELSE 0 END) AS skipped
        FROM @runs AS r
        GROUP BY r.schedule_id
    ) AS c ON c.schedule_id = m.schedule_id;

    COMMIT TRANSACTION;

    SELECT
        z.schedule_id,
        z.job_name,
        z.job_execution_id,
        z.due_at,
        z.result,
        z.reason
    FROM (
        SELECT r.schedule_id, j.name AS job_name, r.job_execution_id, r.due_at, r.result, r.reason
        FROM @runs AS r
        INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
        UNION ALL
        SELECT
            g.schedule_id, j.name, NULL, g.due_at,
            CASE WHEN m.firing_no IS NULL THEN N'Stale' ELSE N'Skipped' END,
            CASE WHEN m.firing_no IS NOT NULL THEN JSON_VALUE(g.skips, '$[0].reason') END
        FROM @given AS g
        LEFT JOIN @moved AS m ON m.firing_no = g.firing_no
        LEFT JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
        WHERE m.firing_no IS NULL
            OR (JSON_VALUE(g.skips, '$[0].reason') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @runs AS r WHERE r.schedule_id = m.schedule_id))
        UNION ALL
        SELECT f.schedule_id, j.name, NULL, f.due_at, N'Locked', N'Another transaction holds the job, the schedule or a run that is to end.'
        FROM @left AS f
        INNER JOIN @wanted_schedules AS w ON w.schedule_id = f.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = w.job_id
    ) AS z
    ORDER BY z.due_at, z.schedule_id;
    RETURN 0;
END;
