-- Locks the schedules of a job of the SAP surface, and takes over the switches of those of an active job: T-SQL, and the rule of
-- unreachable endpoints, change schedules.enabled only. Then rest_schedules.active is right for all schedules, whether the job is
-- active or not.
--
-- Parameters:
--   @job  The job's _id; the caller has locked the job.
-- Called by: the procedures of jobs_rest that change a job or its schedules, within their transactions; jobs.sp_update_job.
-- Locks:     the job's schedules (U), their rows in rest_schedules (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.read_rest_switches
    @job INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @locked INT;
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);

    -- revision is in no index, so that the locks are on the clustered keys.
    INSERT INTO @schedules (schedule_id)
    SELECT s.schedule_id
    FROM jobs_internal.rest_jobs AS r
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = r.job_id
    WHERE r.rest_job_id = @job
        AND s.next_run_id IS NOT NULL;
    SELECT @locked = COUNT(s.revision)
    FROM @schedules AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;
    IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job AND r.active = 1)
        UPDATE x
        SET x.active = s.enabled
        FROM @schedules AS w
        INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = w.schedule_id
        INNER LOOP JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
        WHERE x.active <> s.enabled;
    RETURN 0;
END;
