-- Raises the revision of a job, because the job, its steps or its schedules were changed.
--
-- Parameters:
--   @job_id    The job; the caller has locked it.
--   @revision  Receives the new revision.
-- Called by: the public procedures that change a job or its schedules, within their transactions; jobs_internal.finish_version.
-- Locks:     the job's row (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.raise_revision
    @job_id   UNIQUEIDENTIFIER,
    @revision BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SELECT @revision = j.revision + 1
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    UPDATE j
    SET j.revision = @revision
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    RETURN 0;
END;
