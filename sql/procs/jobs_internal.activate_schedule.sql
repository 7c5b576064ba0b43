-- Restarts a schedule after a change of its definition, of enabled, or of its pause. Instants that were due before are
-- dropped (D-P7), and instants that waited for an earlier run are recorded as skipped.
--
-- The schedule of jobs.sp_add_job gets its first due instant here: its start if that is in the future, else now
-- (decision 10). The grid of later instants begins at the start, or now if the start is in the year 1. The grid
-- consists of whole seconds. A start is rounded up, because nothing is due before it. Now is rounded down; otherwise
-- the grid's first instant would be a second one, right after now. A pause does not change the grid: when the pause
-- ends, an agent determines the next instant. If the end of the schedule has passed, the schedule is Completed and has
-- no due instant.
--
-- All other schedules wait for validation by an agent. activated_at also restarts the days without a reachable target
-- (end_scheduled_runs). It is stored here and not in the job's row, because agents lock that row before this one.
--
-- Parameters:
--   @schedule_id  The schedule. Its columns enabled, paused to pause_note and the definition have their new values.
--   @cause        Cause recorded for instants that wait for an earlier run: Disabled, Paused or Changed.
-- Called by: jobs_internal.store_job, jobs_internal.store_step, jobs_internal.store_schedule,
--            jobs.sp_enable_schedule, jobs.sp_pause_schedule, jobs_internal.ensure_system_jobs.
-- Locks:     one row of schedules (X), the rows of it in schedule_buffer (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.activate_schedule
    @schedule_id BIGINT,
    @cause       NVARCHAR(20) = N'Changed',
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    EXECUTE jobs_internal.skip_buffered @schedule_id = @schedule_id, @cause = @cause, @now = @now;

    -- order: one row
    UPDATE s
    SET s.state = CASE
            WHEN s.name <> N'' AND s.enabled = 1 AND s.paused = 0 THEN N'Enabled'
            WHEN s.enabled = 0 OR s.paused = 1 THEN N'Disabled'
            WHEN s.end_time < @now THEN N'Completed'
            ELSE N'Enabled'
        END,
        s.reason = CASE
            WHEN s.enabled = 1 AND s.paused = 1 THEN CONCAT(N'Paused by ', s.paused_by, N': ' + s.pause_note)
            WHEN s.name <> N'' OR a.resumes = 1 THEN N'Waits for an agent to validate it.'
            WHEN s.enabled = 1 AND s.end_time < @now THEN N'The end of the schedule had passed when it was enabled.'
        END,
        s.closed_at = NULL,
        s.revision = s.revision + 1,
        s.awaits_verdict = CASE WHEN s.name <> N'' OR a.resumes = 1 THEN 1 ELSE 0 END,
        s.validated_at = NULL,
        s.validation_errors = NULL,
        s.warnings = NULL,
        s.description = NULL,
        s.recheck_at = NULL,
        s.upcoming = NULL,
        s.activated_at = @now,
        s.anchor_at = CASE
            WHEN s.name = N'' AND s.enabled = 1 AND (@cause <> N'Paused' OR s.anchor_at IS NULL) THEN a.start_at
            ELSE s.anchor_at
        END,
        s.next_due_at = CASE WHEN a.begins = 1 AND a.resumes = 0 THEN a.first_at END,
        s.next_fire_at = CASE WHEN a.begins = 1 AND a.resumes = 0 THEN a.first_at END,
        s.updated_at = @now
    FROM (
        SELECT
            g.schedule_id,
            g.start_at,
            CASE WHEN g.start_at > @now THEN g.start_at ELSE @now END AS first_at,
            CASE WHEN x.name = N'' AND x.enabled = 1 AND x.paused = 0 AND x.end_time >= @now THEN 1 ELSE 0 END AS begins,
            CASE
                WHEN x.name = N''
                    AND x.enabled = 1
                    AND x.paused = 0
                    AND x.end_time >= @now
                    AND @cause = N'Paused'
                    AND x.anchor_at IS NOT NULL THEN 1
                ELSE 0
            END AS resumes
        FROM (
            SELECT
                d.schedule_id,
                CASE
                    WHEN d.start_time = '0001-01-01T00:00:00' THEN DATEADD(NANOSECOND, -DATEPART(NANOSECOND, @now), @now)
                    WHEN DATEPART(NANOSECOND, d.start_time) = 0 THEN d.start_time
                    ELSE DATEADD(SECOND, 1, DATEADD(NANOSECOND, -DATEPART(NANOSECOND, d.start_time), d.start_time))
                END AS start_at
            FROM jobs_internal.schedules AS d
            WHERE d.schedule_id = @schedule_id
        ) AS g
        INNER JOIN jobs_internal.schedules AS x ON x.schedule_id = g.schedule_id
    ) AS a
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = a.schedule_id;
    RETURN 0;
END;
