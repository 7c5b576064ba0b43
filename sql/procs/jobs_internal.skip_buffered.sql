-- Records instants that wait for an earlier run as skipped, because their schedule was changed. Instants of a backfill
-- stay, unless the schedule is deleted.
--
-- Parameters:
--   @schedule_id  The schedule; the caller has locked its row.
--   @cause        Disabled, Paused, Changed or Deleted; NULL: derived from the schedule's state.
-- Called by: jobs_internal.activate_schedule, jobs_internal.end_scheduled_runs, jobs.sp_delete_schedule.
-- Locks:     rows of schedule_buffer (X), their schedules (X); inserts into schedule_skips.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.skip_buffered
    @schedule_id BIGINT,
    @cause       NVARCHAR(20) = NULL,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @skipped TABLE (
        schedule_id BIGINT NOT NULL,
        due_at      DATETIME2(7) NOT NULL,
        job_id      UNIQUEIDENTIFIER NOT NULL,
        cause       NVARCHAR(20) NOT NULL,
        PRIMARY KEY (schedule_id, due_at)
    );

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b WHERE b.schedule_id = @schedule_id)
        RETURN 0;

    -- rows: the instants of one schedule that wait
    DELETE b
    OUTPUT deleted.schedule_id, deleted.due_at, deleted.job_id, COALESCE(@cause, CASE WHEN s.paused = 1 THEN N'Paused' ELSE N'Disabled' END)
    INTO @skipped (schedule_id, due_at, job_id, cause)
    FROM jobs_internal.schedules AS s
    INNER LOOP JOIN jobs_internal.schedule_buffer AS b ON b.schedule_id = s.schedule_id
    WHERE s.schedule_id = @schedule_id
        AND (b.backfill_id IS NULL OR @cause = N'Deleted');

    INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, cause, reason, recorded_at)
    SELECT
        k.schedule_id, k.job_id, k.due_at, 1, k.cause,
        CONCAT(
            N'The instant waited for an earlier run to end when the schedule was ',
            CASE k.cause
                WHEN N'Disabled' THEN N'disabled'
                WHEN N'Paused' THEN N'paused'
                WHEN N'Deleted' THEN N'deleted'
                ELSE N'changed'
            END,
            N'.'
        ),
        @now
    FROM @skipped AS k
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.schedule_skips AS o
        WHERE o.schedule_id = k.schedule_id
            AND o.due_at = k.due_at
    );

    UPDATE s
    SET s.skips = s.skips + c.skipped,
        s.buffered = s.buffered - c.skipped
    FROM (
        SELECT
            k.schedule_id,
            COUNT(*) AS skipped
        FROM @skipped AS k
        GROUP BY k.schedule_id
    ) AS c
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = c.schedule_id;
    RETURN 0;
END;
