-- Adds an entry about a change of a job of the SAP surface to its action log, and to the audit log.
--
-- Parameters:
--   @job        The job's _id.
--   @schedule   Public id of the schedule; NULL: the entry is about the job.
--   @action     See jobs_internal.rest_action_log.
--   @by         Who did it.
--   @text       What was done.
--   @procedure  Name of the procedure that made the change, for the audit log.
--   @before     State of the job before the change (jobs_internal.lock_rest_job); NULL: it is new.
--   @now        When.
-- Called by: the procedures of jobs_rest that change something, and jobs_internal.enable_rest_job, within their transactions.
-- Locks:     inserts into rest_action_log and audit_entries.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.log_rest_action
    @job       INT,
    @schedule  UNIQUEIDENTIFIER = NULL,
    @action    NVARCHAR(40),
    @by        NVARCHAR(128) = NULL,
    @text      NVARCHAR(1000) = NULL,
    @procedure NVARCHAR(128) = NULL,
    @before    NVARCHAR(MAX) = NULL,
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @after NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @kind NVARCHAR(30) = CASE WHEN @schedule IS NULL THEN N'Job' ELSE N'Schedule' END;
    DECLARE @id NVARCHAR(100) = COALESCE(CAST(@schedule AS NVARCHAR(100)), CAST(@job AS NVARCHAR(100)));

    INSERT INTO jobs_internal.rest_action_log (rest_job_id, rest_schedule_id, at, action, by_user, text)
    VALUES (@job, @schedule, @now, @action, @by, @text);
    IF @procedure IS NULL
        RETURN 0;
    SELECT
        @job_id = r.job_id,
        @job_name = r.name
    FROM jobs_internal.rest_jobs AS r
    WHERE r.rest_job_id = @job;
    EXECUTE jobs_internal.state_of_rest_job @job = @job, @state = @after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = @procedure,
        @object_kind = @kind,
        @object_name = @job_name,
        @object_id = @id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @before,
        @after = @after,
        @now = @now;
    RETURN 0;
END;
