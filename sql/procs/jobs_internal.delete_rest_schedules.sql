-- Deletes schedules of a job of the SAP surface (S-43): their instants are dropped. Nothing finds their runs any more by this surface,
-- because a run belongs to a schedule; the caller cancels those that are active at the end (jobs_internal.stop_rest_runs).
--
-- Parameters:
--   @schedules  JSON array of internal keys.
--   @now        Time of the change.
-- Called by: jobs_rest.set_job, jobs_rest.delete_schedules, within their transactions, which have locked the job.
-- Locks:     the schedules (U, X), their rows in schedule_buffer (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_rest_schedules
    @schedules NVARCHAR(MAX),
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @schedule_id BIGINT;
    DECLARE @locked INT;
    DECLARE @doomed TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);

    INSERT INTO @doomed (schedule_id)
    SELECT DISTINCT CAST(v.value AS BIGINT)
    FROM OPENJSON(@schedules) AS v;
    -- revision is in no index, so that the locks are on the clustered keys.
    SELECT @locked = COUNT(s.revision)
    FROM @doomed AS d
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = d.schedule_id;
    SET @schedule_id = (SELECT MIN(d.schedule_id) FROM @doomed AS d);
    WHILE @schedule_id IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.skip_buffered @schedule_id = @schedule_id, @cause = N'Deleted', @now = @now;
        SET @schedule_id = (SELECT MIN(d.schedule_id) FROM @doomed AS d WHERE d.schedule_id > @schedule_id);
    END;

    DELETE s
    FROM @doomed AS d
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = d.schedule_id;
    RETURN 0;
END;
