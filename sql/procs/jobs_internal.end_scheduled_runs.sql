-- Accounts for scheduled runs that have ended, and for all runs of jobs of job collections: counts attempts and failures, pauses
-- schedules with pause_on_failure, and disables all schedules of a job none of whose targets could be reached for the number of days in
-- the setting unreachable_days.
-- A target was reached unless the attempt on it ended for lack of a connection or a login. The days count at the
-- earliest from the latest activation of one of the job's schedules. A run whose job or schedule is locked by another
-- transaction waits for a later pass (I14), because this procedure runs under jobagent.advance and would block all
-- agents.
--
-- Cost: (steps of at most 100 runs), and 4 * @slice attempts of these runs together. A run with more is counted over several passes, as
-- many attempts in each (jobs_internal.count_attempts).
--
-- Parameters:
--   @slice  A quarter of the attempts, at least 1.
--   @more   Output. 1: a run is being counted, or runs were left out after others, so the next pass should follow at once.
-- Called by: jobs_internal.advance, before it takes other locks.
-- Locks:     the jobs of these runs (U, X), and of runs before them whose schedule another transaction holds (U); the runs (U, X) and
--            schedules (U, X), skipping locked rows, rows of schedule_buffer (X) and run_counts (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_scheduled_runs
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @most INT = 4 * @slice; -- attempts that are counted at once
    DECLARE @large BIGINT; -- a run with more
    DECLARE @first BIGINT; -- a run whose attempts were read
    DECLARE @cut BIGINT; -- the first run that is left to the next pass; NULL: none
    DECLARE @read INT;
    DECLARE @days INT;
    DECLARE @schedule_id BIGINT;
    DECLARE @wanted_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, job_id UNIQUEIDENTIFIER NOT NULL);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @wanted TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, current_version INT NOT NULL, is_large BIT NOT NULL);
    DECLARE @attempts TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, attempts INT NOT NULL);
    DECLARE @stopped TABLE (schedule_id BIGINT NOT NULL); -- paused or disabled here
    DECLARE @ended TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        schedule_id  BIGINT NULL,
        by_hand      BIT NOT NULL, -- a run of a job collection; it counts for the job's only schedule
        job_id       UNIQUEIDENTIFIER NOT NULL,
        lifecycle    NVARCHAR(50) NOT NULL,
        end_time     DATETIME2(7) NOT NULL,
        message      NVARCHAR(MAX) NULL,
        is_counted   BIT NOT NULL DEFAULT 0, -- in run_counts
        failures     INT NOT NULL DEFAULT 0,
        reached      INT NOT NULL DEFAULT 0, -- attempts that reached their target
        unreached    INT NOT NULL DEFAULT 0  -- attempts that did not
    );

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.unaccounted = 1 AND e.is_active = 0)
        RETURN 0;

    -- Jobs before schedules. The jobs are locked in the statement that picks the runs, so that runs of a locked job take no place of
    -- others, and no other job is locked. The columns current_version and revision are in no index, so that the locks are on the clustered
    -- keys. READPAST never waits, so the order of the jobs does not matter. Activations happen under the job's lock.
    -- Plan: IX_job_executions_unaccounted, which contains only runs that have not been counted, in its order; per run one key of PK_jobs
    -- and the rows of its steps, until there are 100.
    INSERT INTO @wanted (execution_id, current_version, is_large)
    SELECT TOP (100)
        e.execution_id,
        j.current_version,
        CASE
            WHEN (
                SELECT SUM(CAST(s.targets AS BIGINT))
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = e.execution_id
            ) > @most THEN 1
            WHEN EXISTS (SELECT 1 FROM jobs_internal.run_counts AS c WHERE c.execution_id = e.execution_id) THEN 1
            ELSE 0
        END
    FROM jobs_internal.job_executions AS e
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = e.job_id
    WHERE e.unaccounted = 1
        AND e.is_active = 0
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND e.execution_id BETWEEN z.first_id AND z.last_id
        )
        AND (
            -- past: the lock is not kept: it only detects schedules that other transactions have changed, so that their
            -- runs are left to a later pass
            EXISTS (
                SELECT 1
                FROM jobs_internal.schedules AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE s.schedule_id = e.schedule_id
                    AND s.revision > 0
            )
            OR NOT EXISTS (SELECT 1 FROM jobs_internal.schedules AS s WHERE s.schedule_id = e.schedule_id) -- the schedule was deleted
        )
    ORDER BY e.execution_id;
    SET @read = @@ROWCOUNT;

    -- Few targets may have many attempts. So the attempts of the other runs are counted before they are looked up, in the order of the
    -- runs, until there are more than one pass reads. Plan: per run a range of IX_task_executions_execution_id, @most + 1 keys together,
    -- in the order of @wanted.
    INSERT INTO @attempts (execution_id, attempts)
    SELECT r.execution_id, COUNT(*)
    FROM (
        SELECT TOP (@most + 1) w.execution_id
        FROM @wanted AS w
        INNER LOOP JOIN jobs_internal.task_executions AS k ON k.execution_id = w.execution_id
        WHERE w.is_large = 0
        ORDER BY w.execution_id
    ) AS r
    GROUP BY r.execution_id;
    SELECT
        @first = MIN(a.execution_id),
        @cut = CASE WHEN SUM(a.attempts) > @most THEN MAX(a.execution_id) END -- not all of its attempts were read
    FROM @attempts AS a;
    IF @cut = @first
    BEGIN
        -- The runs after it do not wait until it is counted.
        INSERT INTO jobs_internal.run_counts (execution_id, step_execution_id)
        SELECT @cut, MIN(s.step_execution_id)
        FROM jobs_internal.step_executions AS s
        WHERE s.execution_id = @cut;
        UPDATE w
        SET w.is_large = 1
        FROM @wanted AS w
        WHERE w.execution_id = @cut;
    END;

    SELECT TOP (1) @large = w.execution_id
    FROM @wanted AS w
    LEFT JOIN jobs_internal.run_counts AS c ON c.execution_id = w.execution_id
    WHERE w.is_large = 1
        AND COALESCE(c.is_complete, 0) = 0
    ORDER BY w.execution_id;
    IF @large IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.count_attempts @execution_id = @large, @slice = @most;
        IF EXISTS (
            SELECT 1
            FROM @wanted AS w
            LEFT JOIN jobs_internal.run_counts AS c ON c.execution_id = w.execution_id
            WHERE w.is_large = 1
                AND COALESCE(c.is_complete, 0) = 0
        )
            SET @more = 1;
        -- Those of runs that were purged meanwhile.
        DELETE c
        FROM jobs_internal.run_counts AS c
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.execution_id = c.execution_id);
    END;

    -- The cost of a pass is bounded by the number of attempts, not of runs. A run that another transaction holds waits for a later pass.
    INSERT INTO @ended (execution_id, schedule_id, by_hand, job_id, lifecycle, end_time, message)
    SELECT
        e.execution_id,
        COALESCE(
            e.schedule_id,
            (SELECT a.schedule_id FROM jobs_internal.schedules AS a WHERE a.job_id = e.job_id AND a.name = N'scheduler')
        ),
        CASE WHEN e.schedule_id IS NULL THEN 1 ELSE 0 END, e.job_id, e.lifecycle, e.end_time, e.last_message
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = w.execution_id
    WHERE (w.is_large = 0 AND w.execution_id < COALESCE(@cut, w.execution_id + 1))
        OR EXISTS (SELECT 1 FROM jobs_internal.run_counts AS c WHERE c.execution_id = w.execution_id AND c.is_complete = 1);

    UPDATE e
    SET e.is_counted = 1,
        e.failures = c.failures,
        e.reached = c.reached,
        e.unreached = c.unreached
    FROM @ended AS e
    INNER JOIN jobs_internal.run_counts AS c ON c.execution_id = e.execution_id;
    -- reads: @most attempts
    -- Plan: per run the keys of IX_task_executions_execution_id with a lookup each.
    UPDATE e
    SET e.failures = c.failures,
        e.reached = c.reached,
        e.unreached = c.unreached
    FROM (
        SELECT
            k.execution_id,
            SUM(CASE WHEN k.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END) AS failures,
            SUM(CASE
                WHEN k.kind = N'Run'
                    AND k.unreached = 0
                    AND k.outcome IN (N'Succeeded', N'Failed', N'TimedOut', N'Unknown') THEN 1
                ELSE 0
            END) AS reached,
            SUM(CASE WHEN k.unreached = 1 THEN 1 ELSE 0 END) AS unreached
        FROM @ended AS x
        INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = x.execution_id
        WHERE x.is_counted = 0
        GROUP BY k.execution_id
    ) AS c
    INNER JOIN @ended AS e ON e.execution_id = c.execution_id;

    -- Steps that run after failures may reach other targets, such as the endpoint of an alert. They say nothing about the targets of
    -- the job.
    -- reads: @most attempts
    UPDATE e
    SET e.reached = e.reached - c.reached
    FROM (
        SELECT k.execution_id, COUNT(*) AS reached
        FROM @ended AS x
        INNER JOIN jobs_internal.job_executions AS r ON r.execution_id = x.execution_id
        INNER JOIN jobs_internal.job_versions AS v ON v.job_id = r.job_id AND v.version = r.job_version
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = v.job_id AND d.version = v.version
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = x.execution_id AND s.step_id = d.step_id
        INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = s.execution_id AND k.step_execution_id = s.step_execution_id
        WHERE x.is_counted = 0
            AND v.has_dependencies = 1
            AND d.run_when = N'Failed'
            AND k.kind = N'Run'
            AND k.unreached = 0
            AND k.outcome IN (N'Succeeded', N'Failed', N'TimedOut', N'Unknown')
        GROUP BY k.execution_id
    ) AS c
    INNER JOIN @ended AS e ON e.execution_id = c.execution_id;

    -- A run that was started by hand says nothing about the schedules of the job.
    UPDATE e
    SET e.reached = 0,
        e.unreached = 0
    FROM @ended AS e
    WHERE e.by_hand = 1;

    -- Before the schedules are locked, as everywhere. A run that is left out below updates its job again in a later pass.
    UPDATE j
    SET j.unreachable_since = CASE WHEN c.reached = 0 THEN c.first_end_time END
    FROM (
        SELECT
            e.job_id,
            SUM(e.reached) AS reached,
            SUM(e.unreached) AS unreached,
            MIN(CASE WHEN e.unreached > 0 THEN e.end_time END) AS first_end_time
        FROM @ended AS e
        GROUP BY e.job_id
    ) AS c
    INNER LOOP JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
    WHERE (c.reached > 0 AND j.unreachable_since IS NOT NULL)
        OR (c.reached = 0 AND c.unreached > 0 AND j.unreachable_since IS NULL)
        OR (c.reached = 0 AND c.unreached > 0 AND j.unreachable_since < (
            SELECT MAX(a.activated_at)
            FROM jobs_internal.schedules AS a
            WHERE a.job_id = j.job_id
        ));

    -- The schedules of these runs, and all schedules of a job without reachable targets, because all of them may be disabled. Plan: keys
    -- of PK_schedules and of UQ_schedules_name, in two branches: an OR over both columns would compare each schedule with each run.
    INSERT INTO @wanted_schedules (schedule_id, job_id)
    SELECT s.schedule_id, s.job_id
    FROM @ended AS e
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = e.schedule_id
    UNION
    SELECT s.schedule_id, s.job_id
    FROM @ended AS e
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = e.job_id
    WHERE e.unreached > 0;
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @wanted_schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = w.schedule_id;
    -- plan: at most 100 runs, and the schedules of their jobs
    DELETE e
    FROM @ended AS e
    INNER JOIN @wanted_schedules AS w ON w.schedule_id = e.schedule_id OR (w.job_id = e.job_id AND e.unreached > 0)
    WHERE NOT EXISTS (SELECT 1 FROM @locked_schedules AS l WHERE l.schedule_id = w.schedule_id);
    IF NOT EXISTS (SELECT 1 FROM @ended)
        RETURN 0;
    -- Of many runs that ended together, such as those of all schedules that were due at midnight, the others are next. Otherwise each
    -- hundred of them would wait for the next poll of an agent.
    IF @cut IS NOT NULL OR @read = 100
        SET @more = 1;

    UPDATE s
    SET s.failures = s.failures + c.failures,
        s.faults = s.faults + c.faults,
        s.last_lifecycle = COALESCE(
            (SELECT e.lifecycle FROM @ended AS e WHERE e.execution_id = s.last_execution_id),
            s.last_lifecycle
        )
    FROM (
        SELECT
            e.schedule_id,
            SUM(e.failures) AS failures,
            SUM(CASE WHEN e.lifecycle IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END) AS faults
        FROM @ended AS e
        GROUP BY e.schedule_id
    ) AS c
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = c.schedule_id;

    -- CAST counts units of UTF-16, as columns do. LEFT counts pairs as one under some collations, and then the text is too long.
    UPDATE s
    SET s.paused = 1,
        s.paused_by = N'jobagent',
        s.paused_at = @now,
        s.pause_note = CAST(f.message AS NVARCHAR(1000)),
        s.state = CASE WHEN s.enabled = 1 AND s.state = N'Enabled' THEN N'Disabled' ELSE s.state END,
        s.reason = CASE
            WHEN s.enabled = 1 AND s.state = N'Enabled' THEN CONCAT(N'Paused by jobagent: ', LEFT(f.message, 1000))
            ELSE s.reason
        END,
        s.upcoming = NULL,
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    OUTPUT inserted.schedule_id INTO @stopped (schedule_id)
    FROM (
        SELECT
            e.schedule_id,
            e.message,
            ROW_NUMBER() OVER (PARTITION BY e.schedule_id ORDER BY e.execution_id) AS place
        FROM @ended AS e
        WHERE e.lifecycle IN (N'Failed', N'TimedOut')
    ) AS f
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
    WHERE f.place = 1
        AND s.pause_on_failure = 1
        AND s.paused = 0;

    SET @days = (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'unreachable_days');
    UPDATE s
    SET s.enabled = 0,
        s.state = CASE WHEN s.state = N'Enabled' THEN N'Disabled' ELSE s.state END,
        s.reason = CONCAT(
            N'Disabled: no target of the job has been reachable since ', CONVERT(NVARCHAR(19), j.unreachable_since, 126),
            N' (setting unreachable_days: ', @days, N'). Enable it again with jobs.sp_enable_schedule.'
        ),
        s.upcoming = NULL,
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    OUTPUT inserted.schedule_id INTO @stopped (schedule_id)
    FROM (
        SELECT
            e.job_id,
            MAX(e.end_time) AS last_end_time
        FROM @ended AS e
        WHERE e.unreached > 0
        GROUP BY e.job_id
    ) AS c
    INNER LOOP JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id
    WHERE j.unreachable_since IS NOT NULL
        AND j.unreachable_since < DATEADD(DAY, -@days, c.last_end_time)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS a
            WHERE a.job_id = j.job_id
                AND a.activated_at > j.unreachable_since
        )
        AND s.enabled = 1
        AND s.state IN (N'Enabled', N'Disabled');

    IF EXISTS (SELECT 1 FROM @stopped)
        INSERT INTO jobs_internal.rest_action_log (rest_job_id, rest_schedule_id, at, action, text)
        SELECT r.rest_job_id, x.rest_schedule_id, @now, N'DEACTIVATION_UNREACHABLE', CAST(s.reason AS NVARCHAR(1000)) -- cut
        FROM @stopped AS p
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = p.schedule_id
        INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = p.schedule_id
        INNER JOIN jobs_internal.rest_jobs AS r ON r.job_id = s.job_id
        WHERE s.enabled = 0;

    -- Usually none, so a loop is sufficient. Rows of schedule_buffer belong to the schedules, which are locked.
    SET @schedule_id = (SELECT MIN(s.schedule_id) FROM @stopped AS s);
    WHILE @schedule_id IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.skip_buffered @schedule_id = @schedule_id, @now = @now;
        SET @schedule_id = (SELECT MIN(s.schedule_id) FROM @stopped AS s WHERE s.schedule_id > @schedule_id);
    END;

    -- The tries of the action, step 1, of jobs of Azure Scheduler.
    -- reads: the attempts of one action in each of at most 100 runs
    UPDATE s
    SET s.main_attempts = s.main_attempts + c.tries,
        s.main_failures = s.main_failures + c.failures
    FROM (
        SELECT
            e.schedule_id,
            COUNT(k.task_id) AS tries,
            SUM(CASE WHEN k.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END) AS failures
        FROM @ended AS e
        INNER JOIN jobs_internal.schedules AS a ON a.schedule_id = e.schedule_id
        INNER JOIN jobs_internal.step_executions AS p ON p.execution_id = e.execution_id AND p.step_id = 1
        INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = p.execution_id AND k.step_execution_id = p.step_execution_id
        WHERE a.kind = N'azure-scheduler'
            AND k.kind = N'Run'
            AND k.outcome <> N'Returned'
        GROUP BY e.schedule_id
    ) AS c
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = c.schedule_id;

    UPDATE x
    SET x.unaccounted = 0
    FROM @ended AS e
    INNER LOOP JOIN jobs_internal.job_executions AS x ON x.execution_id = e.execution_id;
    DELETE c
    FROM @ended AS e
    INNER LOOP JOIN jobs_internal.run_counts AS c ON c.execution_id = e.execution_id
    WHERE e.is_counted = 1;
    RETURN 0;
END;
