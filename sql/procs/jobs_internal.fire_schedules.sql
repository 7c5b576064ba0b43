-- Creates the executions of due instants, records the instants that are not run (I10), and stores the next due instants
-- of schedules and backfills, in one transaction. A firing whose due instant is no longer the stored one, or is not due yet, has no
-- effect, because another agent was faster (I2). Of several firings of one schedule only one is carried out, the schedule's own
-- before those of backfills; the others remain due.
--
-- The overlap policy decides on each instant to run: it is run, waits for an earlier run of the schedule to end, or is
-- recorded as skipped. Under CancelOther and TerminateOther only the last of several instants is not skipped. An
-- instant of a job without steps is recorded as skipped (decision 18), and so is one of a schedule whose parameters
-- do not fit those that the job declares. A schedule of type Once is disabled after it has
-- fired (decision 12); if the job had no steps then, it stays enabled and fires when the first step is added. An
-- instant that already has a run, through a backfill, is neither run nor recorded again.
--
-- A firing is left out, and remains due, while another transaction holds its job, its schedule, or a run that its
-- overlap policy would end (I14), and all are while the job agent is Disabled, Faulted or being deleted, or
-- the control database is paused. An instant before job_agent.skip_until (jobs.sp_resume_control_database) is recorded as skipped.
--
-- Cost: (firings, at most the agent's schedulesPerCall) × (their instants), by keys; it does not depend on the number
-- of schedules or of ended runs.
--
-- Parameters:
--   @term_id    The caller's term.
--   @firings    JSON array of objects: schedule_id, due_at (the stored instant, of a backfill its next_at; NULL: not set yet),
--               revision (of the schedule that was read; NULL: not checked), backfill_id (NULL: the schedule itself), runs (array of
--               instants to run; NULL: due_at), skips (array of due_at, count, cause, reason), last_due_at (last instant of
--               this firing; NULL: the latest of due_at and runs), next_due_at (NULL: no more), next_fire_at (NULL: next_due_at),
--               upcoming (array of at most ten instants, or NULL), limit (runs that the schedule may start since its kind or text
--               changed; NULL: no limit. The instant that reaches it is the last one, D-P3), error (of a backfill: why it
--               cannot continue).
--   @term_guid  The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/scheduler.go, once per batch of due schedules.
-- Locks:     the jobs (S; U if they have a plan of roll-outs) and the schedules (U, X), skipping locked rows, the schedules' rows in
--            schedule_buffer (X), backfills (X), runs to end (X); inserts into schedule_buffer, job_executions,
--            schedule_skips and rest_action_log.
-- Returns:   one row per instant to run, and one per firing without such instants that is stale, locked or only skips:
--            schedule_id, job_name, job_execution_id, due_at, result (Started, Buffered, Skipped, Stale, Locked), reason.
-- Throws:
--   50029 the firings are missing.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.fire_schedules
    @term_id   BIGINT,
    @firings   NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @skip_until DATETIME2(7);
    DECLARE @closed NVARCHAR(400); -- why nothing is fired; NULL: it is
    DECLARE @wanted_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @planned_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- whose runs are roll-outs
    DECLARE @exclusive_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @wanted_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, job_id UNIQUEIDENTIFIER NOT NULL);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @wanted_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, schedule_id BIGINT NOT NULL); -- that the overlap policy may end
    DECLARE @locked_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @blocked TABLE (schedule_id BIGINT NOT NULL, due_at DATETIME2(7) NULL);
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
        max_runs     BIGINT NULL,
        error        NVARCHAR(4000) NULL
    );
    -- The firings to carry out: at most one per schedule.
    DECLARE @moved TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        firing_no   INT NOT NULL,
        backfill_id BIGINT NULL,
        job_id      UNIQUEIDENTIFIER NOT NULL,
        job_version INT NULL,
        overlap     NVARCHAR(20) NULL,
        has_steps   BIT NOT NULL DEFAULT 0,
        active      BIT NOT NULL DEFAULT 0, -- a run of the schedule is active
        waiting     BIT NOT NULL DEFAULT 0, -- an instant waits for that run
        fault       NVARCHAR(2048) NULL,    -- why its parameters do not fit what the job declares, or another roll-out is active
        next_run_id UNIQUEIDENTIFIER NULL,  -- of a schedule of the SAP surface: id of its first run
        room        BIGINT NULL             -- number of runs that may still start; NULL: no limit
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
        due_at      DATETIME2(7) NOT NULL,
        backfill_id BIGINT NULL
    );
    DECLARE @recorded TABLE (
        schedule_id BIGINT NOT NULL,
        due_at      DATETIME2(7) NOT NULL,
        skipped     INT NOT NULL,
        cause       NVARCHAR(20) NOT NULL,
        PRIMARY KEY (schedule_id, due_at)
    );
    DECLARE @created TABLE (
        schedule_id      BIGINT NOT NULL,
        execution_id     BIGINT NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        PRIMARY KEY (schedule_id, execution_id)
    );

    IF @firings IS NULL OR ISJSON(@firings) = 0
        THROW 50029, N'Invalid @firings of fire_schedules: want a JSON array.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    INSERT INTO @given (
        schedule_id, due_at, revision, backfill_id, runs, skips, last_due_at, next_due_at, next_fire_at, upcoming,
        max_runs, error
    )
    SELECT
        i.schedule_id, i.due_at, i.revision, i.backfill_id, i.runs, i.skips, i.last_due_at, i.next_due_at, i.next_fire_at,
        i.upcoming, i.max_runs, i.error
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
        max_runs     BIGINT '$.limit',
        error        NVARCHAR(4000)
    ) AS i;

    EXECUTE jobs_internal.check_restored @after_gap = 1, @now = @now;
    SELECT @skip_until = a.skip_until
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;

    BEGIN TRANSACTION;

    -- Jobs before schedules, and each in the order of its key. A job's version must not change until commit. The columns
    -- current_version, revision and allow_overlap are in no index, so that the locks are on the clustered keys.
    INSERT INTO @wanted_schedules (schedule_id, job_id)
    SELECT DISTINCT s.schedule_id, s.job_id
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id;
    SELECT @closed = CASE
        WHEN a.state NOT IN (N'None', N'Creating', N'Ready', N'Updating') THEN CONCAT(N'The job agent is ', a.state, N'.')
        WHEN a.paused_at IS NOT NULL THEN N'The control database is paused.'
    END
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT ws.job_id
    FROM @wanted_schedules AS ws
    WHERE @closed IS NULL;
    INSERT INTO @locked_jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS wj
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (REPEATABLEREAD, READPAST, ROWLOCK) ON j.job_id = wj.job_id;
    -- A job has one roll-out, and S does not keep others from starting one: two firings may have it at once, and jobs.sp_start_job has U.
    INSERT INTO @planned_jobs (job_id)
    SELECT lj.job_id
    FROM @locked_jobs AS lj
    INNER JOIN jobs_internal.job_versions AS w ON w.job_id = lj.job_id AND w.version = lj.current_version
    WHERE w.rollout_plan IS NOT NULL;
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @exclusive_jobs (job_id, current_version)
        SELECT j.job_id, j.current_version
        FROM @planned_jobs AS p
        INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = p.job_id;
        DELETE lj
        FROM @locked_jobs AS lj
        INNER JOIN @planned_jobs AS p ON p.job_id = lj.job_id
        WHERE NOT EXISTS (SELECT 1 FROM @exclusive_jobs AS x WHERE x.job_id = lj.job_id);
    END;
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @wanted_schedules AS ws
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = ws.schedule_id
    WHERE ws.job_id IN (SELECT lj.job_id FROM @locked_jobs AS lj);

    -- Runs that CancelOther and TerminateOther may have to end. Plan: per schedule a range of IX_job_executions_active_schedule_id.
    INSERT INTO @wanted_runs (execution_id, schedule_id)
    SELECT e.execution_id, e.schedule_id
    FROM @locked_schedules AS ls
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = ls.schedule_id
    INNER JOIN jobs_internal.job_executions AS e ON e.schedule_id = ls.schedule_id
    WHERE e.schedule_id IS NOT NULL
        AND e.is_active = 1
        AND (
            s.overlap IN (N'CancelOther', N'TerminateOther')
            OR EXISTS (
                SELECT 1
                FROM jobs_internal.schedule_backfills AS f
                WHERE f.schedule_id = ls.schedule_id
                    AND f.state = N'Open'
                    AND f.overlap IN (N'CancelOther', N'TerminateOther')
            )
        );
    IF EXISTS (SELECT 1 FROM @wanted_runs AS wr)
    BEGIN
        INSERT INTO @locked_runs (execution_id, allow_overlap)
        SELECT e.execution_id, e.allow_overlap
        FROM @wanted_runs AS wr
        INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = wr.execution_id;
        DELETE ls
        FROM @locked_schedules AS ls
        WHERE EXISTS (
            SELECT 1
            FROM @wanted_runs AS wr
            WHERE wr.schedule_id = ls.schedule_id
                AND NOT EXISTS (SELECT 1 FROM @locked_runs AS lr WHERE lr.execution_id = wr.execution_id)
        );
    END;

    DELETE g
    OUTPUT deleted.schedule_id, deleted.due_at
    INTO @blocked (schedule_id, due_at)
    FROM @given AS g
    INNER JOIN @wanted_schedules AS ws ON ws.schedule_id = g.schedule_id
    WHERE NOT EXISTS (SELECT 1 FROM @locked_schedules AS ls WHERE ls.schedule_id = g.schedule_id);

    -- Of several firings of a schedule, the first one is carried out.
    WITH first_firings AS (
        SELECT MIN(g.firing_no) AS firing_no
        FROM @given AS g
        WHERE g.backfill_id IS NULL
        GROUP BY g.schedule_id
    )
    UPDATE s
    SET s.next_due_at = g.next_due_at,
        s.next_fire_at = CASE WHEN g.next_due_at IS NOT NULL THEN COALESCE(g.next_fire_at, g.next_due_at) END,
        s.last_due_at = COALESCE(
            g.last_due_at,
            (SELECT MAX(CAST(v.value AS DATETIME2(7))) FROM OPENJSON(g.runs) AS v WHERE CAST(v.value AS DATETIME2(7)) > g.due_at),
            g.due_at
        ),
        s.upcoming = g.upcoming,
        s.next_run_id = CASE WHEN s.next_run_id IS NOT NULL THEN NEWID() END,
        s.next_run_made_at = CASE WHEN s.next_run_id IS NOT NULL THEN @now END
    OUTPUT inserted.schedule_id, g.firing_no, inserted.job_id, deleted.next_run_id
    INTO @moved (schedule_id, firing_no, job_id, next_run_id)
    FROM @given AS g
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE g.firing_no IN (SELECT a.firing_no FROM first_firings AS a)
        AND s.next_due_at = g.due_at
        AND s.next_fire_at <= @now -- no run begins before its instant, whatever the agent has read; NULL if it is disabled or paused
        AND (g.revision IS NULL OR s.revision = g.revision)
        AND j.deleted_at IS NULL;

    IF EXISTS (SELECT 1 FROM @given AS g WHERE g.backfill_id IS NOT NULL)
        WITH first_firings AS (
            SELECT MIN(g.firing_no) AS firing_no
            FROM @given AS g
            WHERE g.backfill_id IS NOT NULL
            GROUP BY g.schedule_id
        )
        UPDATE f
        SET f.next_at = g.next_due_at,
            f.state = CASE
                WHEN g.error IS NOT NULL THEN N'Faulted'
                WHEN g.next_due_at IS NULL THEN N'Completed'
                ELSE f.state
            END,
            f.reason = g.error,
            f.ended_at = CASE WHEN g.error IS NOT NULL OR g.next_due_at IS NULL THEN @now END
        OUTPUT inserted.schedule_id, g.firing_no, inserted.backfill_id, s.job_id, inserted.overlap
        INTO @moved (schedule_id, firing_no, backfill_id, job_id, overlap)
        FROM @given AS g
        INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = g.backfill_id AND f.schedule_id = g.schedule_id
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        WHERE g.firing_no IN (SELECT a.firing_no FROM first_firings AS a)
            AND NOT EXISTS (SELECT 1 FROM @moved AS m WHERE m.schedule_id = g.schedule_id)
            AND f.state = N'Open'
            AND (f.next_at = g.due_at OR (f.next_at IS NULL AND g.due_at IS NULL))
            AND (g.revision IS NULL OR s.revision = g.revision)
            AND j.deleted_at IS NULL;

    UPDATE m
    SET m.job_version = j.current_version,
        m.overlap = CASE
            WHEN w.rollout_plan IS NOT NULL AND COALESCE(m.overlap, s.overlap) IN (N'AllowAll', N'Elastic') THEN N'Skip'
            -- The roll-out that is to end runs on, and another one would skip its targets.
            WHEN w.rollout_plan IS NOT NULL AND COALESCE(m.overlap, s.overlap) = N'TerminateOther' THEN N'CancelOther'
            ELSE COALESCE(m.overlap, s.overlap)
        END,
        m.fault = COALESCE(s.parameters_fault, o.fault),
        m.has_steps = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.job_steps AS t WHERE t.job_id = j.job_id AND t.version = j.current_version) THEN 1
            ELSE 0
        END,
        m.active = CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.schedule_id = m.schedule_id
                    AND e.schedule_id IS NOT NULL
                    AND e.is_active = 1
            ) THEN 1
            ELSE 0
        END,
        m.waiting = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = m.schedule_id) THEN 1
            ELSE 0
        END,
        m.room = g.max_runs - (s.executions - s.counted_from)
            - CASE
                WHEN COALESCE(m.overlap, s.overlap) IN (N'CancelOther', N'TerminateOther') THEN 0 -- which replace what waits
                ELSE (SELECT COUNT(*) FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = m.schedule_id AND b.backfill_id IS NULL)
            END
    FROM @moved AS m
    INNER JOIN @given AS g ON g.firing_no = m.firing_no
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
    INNER JOIN jobs_internal.job_versions AS w ON w.job_id = j.job_id AND w.version = j.current_version
    -- As in jobs.sp_start_job: two roll-outs of one job would skip each other's targets. The overlap policy decides about roll-outs that
    -- the schedule itself has started, unless it permits several at once. Plan: IX_job_executions_active_job_id.
    OUTER APPLY (
        SELECT MIN(CONCAT(N'The roll-out ', e.job_execution_id, N' of the job is active.')) AS fault
        FROM jobs_internal.rollout_runs AS r
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
        WHERE r.job_id = m.job_id
            AND r.is_active = 1
            AND w.rollout_plan IS NOT NULL
            AND (e.schedule_id IS NULL OR e.schedule_id <> m.schedule_id OR COALESCE(m.overlap, s.overlap) IN (N'AllowAll', N'Elastic'))
    ) AS o;

    -- The overlap policies, for the instants of each schedule in their order: place counts those that may run, from 1 to last_place.
    -- BufferOne lets one instant wait: the first if a run is active, else the second, since the first is started.
    WITH due AS (
        SELECT m.schedule_id, m.backfill_id, g.due_at
        FROM @moved AS m
        INNER JOIN @given AS g ON g.firing_no = m.firing_no
        WHERE g.runs IS NULL
            AND g.due_at IS NOT NULL
        UNION
        SELECT m.schedule_id, m.backfill_id, CAST(v.value AS DATETIME2(7))
        FROM @moved AS m
        INNER JOIN @given AS g ON g.firing_no = m.firing_no
        CROSS APPLY OPENJSON(g.runs) AS v
        WHERE g.runs IS NOT NULL
    ),
    checked AS (
        SELECT
            d.schedule_id,
            d.due_at,
            CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_executions AS e
                    WHERE e.schedule_id = d.schedule_id
                        AND e.schedule_id IS NOT NULL
                        AND e.due_at = d.due_at
                ) THEN 1
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.schedule_buffer AS b
                    WHERE b.schedule_id = d.schedule_id
                        AND b.due_at = d.due_at
                ) THEN 1
                WHEN d.due_at < @skip_until AND d.backfill_id IS NULL THEN 2 -- it is no duplicate, but skipped as well
                ELSE 0
            END AS duplicate
        FROM due AS d
    ),
    ranked AS (
        SELECT
            c.schedule_id,
            c.due_at,
            c.duplicate,
            m.has_steps,
            m.fault,
            m.overlap,
            m.active,
            m.waiting,
            m.next_run_id,
            ROW_NUMBER() OVER (PARTITION BY c.schedule_id, c.duplicate ORDER BY c.due_at) AS place,
            COUNT(*) OVER (PARTITION BY c.schedule_id, c.duplicate) AS last_place
        FROM checked AS c
        INNER JOIN @moved AS m ON m.schedule_id = c.schedule_id
    ),
    decided AS (
        SELECT
            o.schedule_id,
            o.due_at,
            o.place,
            o.next_run_id,
            CASE
                WHEN o.duplicate = 1 THEN N'Duplicate'
                WHEN o.duplicate = 2 THEN N'Paused'
                WHEN o.has_steps = 0 THEN N'NoSteps'
                WHEN o.fault IS NOT NULL THEN N'Other'
                ELSE N'Overlap'
            END AS cause_of_skip,
            CASE
                WHEN o.duplicate > 0 OR o.has_steps = 0 OR o.fault IS NOT NULL THEN N'Skipped'
                WHEN o.overlap IN (N'AllowAll', N'Elastic') THEN N'Started'
                WHEN o.overlap IN (N'CancelOther', N'TerminateOther') AND o.place < o.last_place THEN N'Skipped'
                WHEN o.overlap = N'CancelOther' AND o.active = 1 THEN N'Buffered'
                WHEN o.overlap IN (N'CancelOther', N'TerminateOther') THEN N'Started'
                WHEN o.place = 1 AND o.active = 0 AND o.waiting = 0 THEN N'Started'
                WHEN o.overlap = N'BufferAll' THEN N'Buffered'
                WHEN o.overlap = N'BufferOne' AND o.waiting = 0 AND o.place = CASE WHEN o.active = 1 THEN 1 ELSE 2 END THEN N'Buffered'
                ELSE N'Skipped'
            END AS result
        FROM ranked AS o
    )
    INSERT INTO @runs (schedule_id, due_at, job_execution_id, result, cause)
    SELECT
        x.schedule_id,
        x.due_at,
        CASE WHEN x.result = N'Started' THEN COALESCE(CASE WHEN x.place = 1 THEN x.next_run_id END, NEWID()) END,
        x.result,
        CASE WHEN x.result = N'Skipped' THEN x.cause_of_skip END
    FROM decided AS x;

    -- Of several schedules of a job, one starts a roll-out.
    UPDATE r
    SET r.result = N'Skipped',
        r.cause = N'Other',
        r.job_execution_id = NULL
    FROM @runs AS r
    INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
    INNER JOIN jobs_internal.job_versions AS w ON w.job_id = m.job_id AND w.version = m.job_version
    WHERE r.result = N'Started'
        AND w.rollout_plan IS NOT NULL
        AND EXISTS (
            SELECT 1
            FROM @moved AS o
            INNER JOIN @runs AS q ON q.schedule_id = o.schedule_id
            WHERE o.job_id = m.job_id
                AND o.schedule_id < m.schedule_id
                AND q.result = N'Started'
        );

    IF EXISTS (SELECT 1 FROM @runs AS r WHERE r.cause IS NOT NULL)
        UPDATE r
        SET r.reason = CASE
            WHEN r.cause = N'Duplicate' THEN N'The instant has an execution already.'
            WHEN r.cause = N'Paused' THEN N'The control database was paused and resumed; instants before that time were to be skipped.'
            WHEN r.cause = N'NoSteps' THEN N'The job has no steps.'
            WHEN r.cause = N'Other' THEN COALESCE(m.fault, N'Another schedule of the job has started a roll-out at the same time.')
            WHEN m.overlap IN (N'CancelOther', N'TerminateOther')
                THEN CONCAT(N'Overlap policy ', m.overlap, N': a later instant was due, too, and replaced this one.')
            WHEN m.overlap = N'BufferOne'
                THEN N'Overlap policy BufferOne: another instant already waited for the earlier run to end.'
            ELSE N'Overlap policy Skip: an earlier run of the schedule was active.'
        END
        FROM @runs AS r
        INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
        WHERE r.cause IS NOT NULL;

    -- Instants after the last run that a count allows are not due.
    IF EXISTS (SELECT 1 FROM @moved AS m WHERE m.room IS NOT NULL)
    BEGIN
        WITH accepted AS (
            SELECT r.schedule_id, r.due_at, ROW_NUMBER() OVER (PARTITION BY r.schedule_id ORDER BY r.due_at) AS place
            FROM @runs AS r
            WHERE r.result <> N'Skipped'
        )
        DELETE r
        FROM @moved AS m
        INNER JOIN @runs AS r ON r.schedule_id = m.schedule_id
        LEFT JOIN accepted AS l ON l.schedule_id = m.schedule_id AND l.place = m.room -- the last allowed run
        WHERE m.room <= 0
            OR r.due_at > l.due_at;
        UPDATE s
        SET s.next_due_at = NULL,
            s.next_fire_at = NULL,
            s.upcoming = NULL
        FROM @moved AS m
        INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
        WHERE m.backfill_id IS NULL
            AND m.room <= (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped');
    END;

    IF EXISTS (SELECT 1 FROM @moved AS m WHERE m.overlap IN (N'CancelOther', N'TerminateOther') AND (m.active = 1 OR m.waiting = 1))
    BEGIN
        DELETE b
        OUTPUT deleted.schedule_id, deleted.job_id, deleted.due_at, deleted.backfill_id
        INTO @replaced (schedule_id, job_id, due_at, backfill_id)
        FROM @moved AS m
        INNER LOOP JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = m.schedule_id
        WHERE m.overlap IN (N'CancelOther', N'TerminateOther')
            AND EXISTS (SELECT 1 FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped');
        UPDATE e
        SET e.stop_requested_at = @now,
            e.stop_requested_by = CAST(CONCAT(N'schedule ''', s.name, N'''') AS NVARCHAR(128)), -- LEFT may count a pair of UTF-16 as one
            e.parked = 0
        FROM @moved AS m
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
        INNER LOOP JOIN jobs_internal.job_executions AS e ON e.schedule_id = m.schedule_id
        WHERE m.overlap IN (N'CancelOther', N'TerminateOther')
            AND e.schedule_id IS NOT NULL
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
        allow_overlap, unaccounted, payload_id, last_message
    )
    OUTPUT inserted.execution_id, inserted.schedule_id, inserted.job_execution_id
    INTO @created (execution_id, schedule_id, job_execution_id)
    SELECT
        r.job_execution_id, m.job_id, m.job_version, N'Created', 1, @now, r.schedule_id, r.due_at, m.backfill_id,
        CASE WHEN m.overlap IN (N'AllowAll', N'TerminateOther') THEN 1 ELSE 0 END, 1, COALESCE(s.run_payload_id, s.payload_id),
        N'Job execution created.'
    FROM @runs AS r
    INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = r.schedule_id
    WHERE r.result = N'Started'
    ORDER BY r.due_at, r.schedule_id;

    -- An instant has at most one record, and none if it has a run.
    WITH skipped AS (
        SELECT r.schedule_id, r.due_at, 1 AS instants, r.cause, r.reason
        FROM @runs AS r
        WHERE r.result = N'Skipped'
            AND r.cause <> N'Duplicate'
        UNION ALL
        SELECT
            p.schedule_id, p.due_at, 1, N'Overlap',
            N'A later instant was due before the earlier run had ended, and replaced this one.'
        FROM @replaced AS p
        UNION ALL
        SELECT m.schedule_id, w.due_at, COALESCE(w.instants, 1), COALESCE(w.cause, N'Other'), COALESCE(w.reason, N'')
        FROM @moved AS m
        INNER JOIN @given AS g ON g.firing_no = m.firing_no
        CROSS APPLY OPENJSON(g.skips) WITH (
            due_at   DATETIME2(7),
            instants INT '$.count',
            cause    NVARCHAR(20),
            reason   NVARCHAR(4000)
        ) AS w
        WHERE g.skips IS NOT NULL
    ),
    records AS (
        SELECT
            y.schedule_id,
            y.due_at,
            y.instants,
            y.cause,
            y.reason,
            ROW_NUMBER() OVER (PARTITION BY y.schedule_id, y.due_at ORDER BY y.instants DESC) AS place
        FROM skipped AS y
    )
    INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, cause, reason, recorded_at)
    OUTPUT inserted.schedule_id, inserted.due_at, inserted.skipped, inserted.cause
    INTO @recorded (schedule_id, due_at, skipped, cause)
    SELECT z.schedule_id, m.job_id, z.due_at, z.instants, z.cause, z.reason, @now
    FROM records AS z
    INNER JOIN @moved AS m ON m.schedule_id = z.schedule_id
    WHERE z.place = 1
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_skips AS k
            WHERE k.schedule_id = z.schedule_id
                AND k.due_at = z.due_at
        )
        AND (z.instants > 1 OR NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.schedule_id = z.schedule_id
                AND e.schedule_id IS NOT NULL
                AND e.due_at = z.due_at
        ));

    WITH counted AS (
        SELECT
            m.schedule_id,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result = N'Started') AS started,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result <> N'Skipped') AS accepted,
            (SELECT COUNT(*) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result = N'Buffered') AS buffered,
            (SELECT COUNT(*) FROM @replaced AS p WHERE p.schedule_id = m.schedule_id) AS replaced,
            (SELECT COALESCE(SUM(q.skipped), 0) FROM @recorded AS q WHERE q.schedule_id = m.schedule_id) AS skips,
            (
                SELECT COALESCE(SUM(q.skipped), 0)
                FROM @recorded AS q
                WHERE q.schedule_id = m.schedule_id
                    AND q.cause = N'Overlap'
            ) AS skips_overlap,
            (
                SELECT COALESCE(SUM(q.skipped), 0)
                FROM @recorded AS q
                WHERE q.schedule_id = m.schedule_id
                    AND q.cause = N'CatchUp'
            ) AS skips_catch_up,
            (SELECT MAX(n.execution_id) FROM @created AS n WHERE n.schedule_id = m.schedule_id) AS execution_id,
            COALESCE(
                (SELECT MIN(r.reason) FROM @runs AS r WHERE r.schedule_id = m.schedule_id AND r.result = N'Skipped'),
                JSON_VALUE(g.skips, '$[0].reason')
            ) AS reason
        FROM @moved AS m
        INNER JOIN @given AS g ON g.firing_no = m.firing_no
    )
    UPDATE s
    SET s.executions = s.executions + h.started,
        s.counted_from = s.counted_from + CASE WHEN m.backfill_id IS NULL THEN 0 ELSE h.started END,
        s.skips = s.skips + h.skips,
        s.skips_overlap = s.skips_overlap + h.skips_overlap,
        s.skips_catch_up = s.skips_catch_up + h.skips_catch_up,
        s.buffered = s.buffered + h.buffered - h.replaced,
        s.last_started_at = CASE WHEN h.started > 0 AND m.backfill_id IS NULL THEN @now ELSE s.last_started_at END,
        s.last_execution_id = COALESCE(n.execution_id, s.last_execution_id),
        s.last_job_execution_id = COALESCE(n.job_execution_id, s.last_job_execution_id),
        s.last_lifecycle = CASE WHEN h.started > 0 THEN NULL ELSE s.last_lifecycle END,
        s.enabled = CASE
            WHEN m.backfill_id IS NULL AND s.spec IS NULL AND s.interval_type = N'Once' AND h.started > 0 THEN 0
            ELSE s.enabled
        END,
        s.state = CASE
            WHEN m.backfill_id IS NULL
                AND s.next_due_at IS NULL
                AND (h.accepted > 0 OR s.spec IS NOT NULL OR s.interval_type <> N'Once') THEN N'Completed'
            ELSE s.state
        END,
        s.closed_at = CASE WHEN m.backfill_id IS NULL AND s.next_due_at IS NULL AND s.name <> N'' THEN @now ELSE s.closed_at END,
        s.reason = CASE
            WHEN m.backfill_id IS NOT NULL THEN s.reason
            WHEN s.next_due_at IS NULL AND (h.accepted > 0 OR h.reason IS NULL) THEN N'No due instant is left.'
            WHEN h.accepted > 0 THEN NULL
            ELSE h.reason
        END
    FROM @moved AS m
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
    INNER JOIN counted AS h ON h.schedule_id = m.schedule_id
    LEFT JOIN @created AS n ON n.schedule_id = h.schedule_id AND n.execution_id = h.execution_id;

    IF EXISTS (SELECT 1 FROM @moved AS m WHERE m.next_run_id IS NOT NULL)
        INSERT INTO jobs_internal.rest_action_log (rest_job_id, rest_schedule_id, at, action)
        SELECT
            r.rest_job_id, x.rest_schedule_id, @now,
            CASE WHEN x.mode = N'time' THEN N'DEACTIVATION_ON_COMPLETION' ELSE N'DEACTIVATION_NO_FUTURE_RUN' END
        FROM @moved AS m
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = m.schedule_id
        INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = m.schedule_id
        INNER JOIN jobs_internal.rest_jobs AS r ON r.job_id = m.job_id
        WHERE m.next_run_id IS NOT NULL
            AND s.state = N'Completed';

    WITH outcomes AS (
        SELECT
            r.schedule_id,
            SUM(CASE WHEN r.result = N'Started' THEN 1 ELSE 0 END) AS started,
            SUM(CASE WHEN r.result = N'Skipped' THEN 1 ELSE 0 END) AS skipped
        FROM @runs AS r
        GROUP BY r.schedule_id
    )
    UPDATE f
    SET f.started = f.started + ro.started,
        f.skipped = f.skipped + ro.skipped
    FROM @moved AS m
    INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = m.backfill_id
    INNER JOIN outcomes AS ro ON ro.schedule_id = m.schedule_id;
    IF EXISTS (SELECT 1 FROM @replaced AS p WHERE p.backfill_id IS NOT NULL)
        UPDATE f
        SET f.skipped = f.skipped + w.instants
        FROM (
            SELECT p.backfill_id, COUNT(*) AS instants
            FROM @replaced AS p
            WHERE p.backfill_id IS NOT NULL
            GROUP BY p.backfill_id
        ) AS w
        INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.backfill_id = w.backfill_id;

    COMMIT TRANSACTION;

    -- No row can be in two of the branches.
    WITH results AS (
        SELECT r.schedule_id, j.name AS job_name, r.job_execution_id, r.due_at, r.result, r.reason
        FROM @runs AS r
        INNER JOIN @moved AS m ON m.schedule_id = r.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
        UNION ALL
        SELECT g.schedule_id, NULL, NULL, g.due_at, N'Stale', NULL
        FROM @given AS g
        WHERE NOT EXISTS (SELECT 1 FROM @moved AS m WHERE m.firing_no = g.firing_no)
        UNION ALL
        SELECT g.schedule_id, j.name, NULL, g.due_at, N'Skipped', JSON_VALUE(g.skips, '$[0].reason')
        FROM @moved AS m
        INNER JOIN @given AS g ON g.firing_no = m.firing_no
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = m.job_id
        WHERE JSON_VALUE(g.skips, '$[0].reason') IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM @runs AS r WHERE r.schedule_id = m.schedule_id)
        UNION ALL
        SELECT
            fl.schedule_id, j.name, NULL, fl.due_at, N'Locked',
            COALESCE(@closed, N'Another transaction holds the job, the schedule or a run that is to end.')
        FROM @blocked AS fl
        INNER JOIN @wanted_schedules AS ws ON ws.schedule_id = fl.schedule_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = ws.job_id
    )
    SELECT rs.schedule_id, rs.job_name, rs.job_execution_id, rs.due_at, rs.result, rs.reason
    FROM results AS rs
    ORDER BY rs.due_at, rs.schedule_id;
    RETURN 0;
END;
