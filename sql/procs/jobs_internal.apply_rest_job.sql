-- Carries a change of active or of the bounds of a job of the SAP surface over to its schedules: those that can still run are restarted if
-- their switch or their text changes, so that instants which were due before are dropped (S-46). Other schedules stay as they are.
--
-- Parameters:
--   @job     The job's _id; the caller has locked the job, and set its row to the new values.
--   @job_id  The job.
--   @now     Time of the change.
-- Called by: jobs_rest.set_job, jobs_rest.update_job, jobs_rest.activate_schedules, jobs.sp_update_job, within their transactions.
-- Locks:     the job's schedules (U, X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.apply_rest_job
    @job    INT,
    @job_id UNIQUEIDENTIFIER,
    @now    DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @schedule_id BIGINT;
    DECLARE @cause NVARCHAR(20);
    DECLARE @wanted TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        enabled     BIT NOT NULL,
        spec        NVARCHAR(MAX) NOT NULL
    );
    DECLARE @changed TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, enabled BIT NOT NULL);

    INSERT INTO @wanted (schedule_id, enabled, spec)
    SELECT w.schedule_id, w.enabled, w.spec
    FROM jobs_internal.rest_schedule_settings AS w
    WHERE w.rest_job_id = @job;
    -- The UPDATE locks the rows in the order of their keys; revision is in no index.
    UPDATE s
    SET s.enabled = w.enabled,
        s.spec = w.spec,
        s.next_due_at = NULL,
        s.next_fire_at = NULL,
        s.revision = s.revision + 1
    OUTPUT inserted.schedule_id, inserted.enabled
    INTO @changed (schedule_id, enabled)
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = w.schedule_id
    WHERE s.state NOT IN (N'Completed', N'Faulted')
        AND (s.enabled <> w.enabled OR CAST(s.spec AS VARBINARY(MAX)) <> CAST(w.spec AS VARBINARY(MAX)));
    SET @schedule_id = (SELECT MIN(c.schedule_id) FROM @changed AS c);
    WHILE @schedule_id IS NOT NULL
    BEGIN
        SELECT @cause = CASE WHEN c.enabled = 1 THEN N'Changed' ELSE N'Disabled' END
        FROM @changed AS c
        WHERE c.schedule_id = @schedule_id;
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = @cause, @now = @now;
        SET @schedule_id = (SELECT MIN(c.schedule_id) FROM @changed AS c WHERE c.schedule_id > @schedule_id);
    END;
    RETURN 0;
END;
