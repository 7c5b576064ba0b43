-- Takes account of runs of schedules that have ended: counts failures, pauses schedules that are to be paused on failure,
-- and disables all schedules of a job of which no target could be reached for the days of the setting unreachable_days.
-- A target was reached when an attempt on it ended in any way but for want of a connection or a login. The days count from the
-- latest activation of one of the job's schedules at the earliest: somebody has looked at it then.
--
-- Parameters:
--   @now  Tests only.
-- Called by: jobs_internal.advance, before it takes other locks.
-- Locks:     jobs (U, X), schedules (X), rows of schedule_buffer (X), then the runs (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_scheduled_runs
    @now DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @days INT;
    DECLARE @changed INT = 0;
    DECLARE @locked INT;
    DECLARE @ended TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        schedule_id  BIGINT NOT NULL,
        job_id       UNIQUEIDENTIFIER NOT NULL,
        lifecycle    NVARCHAR(50) NOT NULL,
        end_time     DATETIME2(7) NOT NULL,
        message      NVARCHAR(MAX) NULL,
        failures     INT NOT NULL DEFAULT 0,
        reached      INT NOT NULL DEFAULT 0, -- attempts that reached their target
        unreached    INT NOT NULL DEFAULT 0  -- attempts that did not
    );

    INSERT INTO @ended (execution_id, schedule_id, job_id, lifecycle, end_time, message)
    SELECT TOP (1000) e.execution_id, e.schedule_id, e.job_id, e.lifecycle, e.end_time, e.last_message
    FROM jobs_internal.job_executions AS e
    WHERE e.unaccounted = 1
        AND e.is_active = 0
    ORDER BY e.execution_id;
    IF NOT EXISTS (SELECT 1 FROM @ended)
        RETURN 0;

    UPDATE e
    SET e.failures = c.failures,
        e.reached = c.reached,
        e.unreached = c.unreached
    FROM (
        SELECT
            k.execution_id,
            SUM(CASE WHEN k.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END) AS failures,
            SUM(CASE WHEN k.kind = N'Run' AND k.unreached = 0 AND k.outcome IN (N'Succeeded', N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END) AS reached,
            SUM(CASE WHEN k.unreached = 1 THEN 1 ELSE 0 END) AS unreached
        FROM @ended AS x
        INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = x.execution_id
        GROUP BY k.execution_id
    ) AS c
    INNER JOIN @ended AS e ON e.execution_id = c.execution_id;

    -- Activations happen under the job's lock.
    SELECT @locked = COUNT(*)
    FROM @ended AS e
    INNER JOIN jobs_internal.jobs AS j WITH (UPDLOCK) ON j.job_id = e.job_id
    WHERE e.unreached > 0;

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
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
    WHERE (c.reached > 0 AND j.unreachable_since IS NOT NULL)
        OR (c.reached = 0 AND c.unreached > 0 AND j.unreachable_since IS NULL)
        OR (c.reached = 0 AND c.unreached > 0 AND j.unreachable_since < (
            SELECT MAX(a.activated_at)
            FROM jobs_internal.schedules AS a
            WHERE a.job_id = j.job_id
        ));

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
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = c.schedule_id;

    UPDATE s
    SET s.paused = 1,
        s.paused_by = N'jobagent',
        s.paused_at = @now,
        s.pause_note = LEFT(f.message, 1000),
        s.state = CASE WHEN s.enabled = 1 AND s.state = N'Enabled' THEN N'Disabled' ELSE s.state END,
        s.reason = CASE WHEN s.enabled = 1 AND s.state = N'Enabled' THEN CONCAT(N'Paused by jobagent: ', LEFT(f.message, 1000)) ELSE s.reason END,
        s.upcoming = NULL,
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    FROM (
        SELECT
            e.schedule_id,
            e.message,
            ROW_NUMBER() OVER (PARTITION BY e.schedule_id ORDER BY e.execution_id) AS place
        FROM @ended AS e
        WHERE e.lifecycle IN (N'Failed', N'TimedOut')
    ) AS f
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
    WHERE f.place = 1
        AND s.pause_on_failure = 1
        AND s.paused = 0;
    SET @changed = @changed + @@ROWCOUNT;

    SET @days = COALESCE((SELECT TRY_CAST(x.value AS INT) FROM jobs_internal.settings AS x WHERE x.name = N'unreachable_days'), 10);
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
    FROM (
        SELECT
            e.job_id,
            MAX(e.end_time) AS last_end_time
        FROM @ended AS e
        WHERE e.unreached > 0
        GROUP BY e.job_id
    ) AS c
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id
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
    SET @changed = @changed + @@ROWCOUNT;

    IF @changed > 0
        EXECUTE jobs_internal.skip_buffered @now = @now;

    UPDATE x
    SET x.unaccounted = 0
    FROM @ended AS e
    INNER JOIN jobs_internal.job_executions AS x ON x.execution_id = e.execution_id;
    RETURN 0;
END;
