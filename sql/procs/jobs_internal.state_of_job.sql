-- Returns the state of a job for the audit log: its definition, without secrets and without what passes and agents change. A
-- new column of the definition must be added here.
--
-- Parameters:
--   @job_id    The job.
--   @state     Receives a JSON object; NULL: there is no such object.
--   @revision  Receives the revision of the job.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_job
    @job_id   UNIQUEIDENTIFIER,
    @state    NVARCHAR(MAX) OUTPUT,
    @revision BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SELECT @revision = j.revision
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    SET @state = (
        SELECT
            j.name,
            NULLIF(j.description, N'') AS description,
            s.enabled,
            s.interval_type AS schedule_interval_type,
            s.interval_count AS schedule_interval_count,
            s.start_time AS schedule_start_time,
            s.end_time AS schedule_end_time,
            JSON_QUERY(j.parameters) AS parameters,
            JSON_QUERY(v.rollout_plan) AS rollout
        FROM jobs_internal.jobs AS j
        LEFT JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id AND s.name = N''
        LEFT JOIN jobs_internal.job_versions AS v ON v.job_id = j.job_id AND v.version = j.current_version
        WHERE j.job_id = @job_id
            AND j.deleted_at IS NULL
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
