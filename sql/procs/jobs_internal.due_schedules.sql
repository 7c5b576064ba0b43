-- Lists the schedules whose stored due instant has passed. It changes nothing.
--
-- Parameters:
--   @max  Most schedules that are listed; at least 1.
--   @now  Tests only.
-- Called by: agent/scheduler.go.
-- Locks:     nothing.
-- Returns:   1: one row: now, next_due_at (earliest instant that has not passed; NULL: none).
--            2: the schedules, earliest first.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.due_schedules
    @max INT,
    @now DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    IF @max IS NULL OR @max < 1
        THROW 50029, N'due_schedules needs @max of at least 1.', 1;

    SELECT
        @now AS now,
        MIN(s.next_due_at) AS next_due_at
    FROM jobs_internal.schedules AS s
    WHERE s.enabled = 1
        AND s.next_due_at IS NOT NULL
        AND s.next_due_at > @now;

    SELECT TOP (@max)
        s.schedule_id,
        s.job_id,
        j.name AS job_name,
        s.name AS schedule_name,
        s.kind,
        s.spec,
        s.interval_type,
        s.interval_count,
        s.start_time,
        s.end_time,
        s.anchor_at,
        s.time_zone,
        s.next_due_at,
        s.last_due_at
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE s.enabled = 1
        AND s.next_due_at IS NOT NULL
        AND s.next_due_at <= @now
        AND j.deleted_at IS NULL
    ORDER BY s.next_due_at, s.schedule_id;
    RETURN 0;
END;
