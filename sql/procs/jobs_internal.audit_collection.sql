-- Returns the state of a job collection, or of a job in one, for the audit log.
--
-- Parameters:
--   @collection_id  The collection; NULL: a job is asked for.
--   @job_id         The job.
--   @state          Receives a JSON object; NULL: the object does not exist.
-- Called by: the public procedures of job collections and their jobs, within their transactions, after they have locked the object.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.audit_collection
    @collection_id UNIQUEIDENTIFIER = NULL,
    @job_id        UNIQUEIDENTIFIER = NULL,
    @state         NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = NULL;
    IF @collection_id IS NOT NULL
        SET @state = (
            SELECT
                c.name, c.location, c.sku, c.state, c.max_job_count, c.max_job_occurrence, c.max_recurrence_frequency,
                c.max_recurrence_interval, c.tags
            FROM jobs_internal.job_collections AS c
            WHERE c.collection_id = @collection_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    -- Commands have no secrets, but may be long: their hashes tell whether they changed.
    IF @job_id IS NOT NULL
        SET @state = (
            SELECT
                j.name,
                s.spec AS [schedule],
                s.enabled,
                m.retry_attempts,
                m.initial_retry_interval_seconds AS retry_interval_seconds,
                c.command_type,
                CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', c.command), 2) AS command_sha256,
                ec.command_type AS error_command_type,
                CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', ec.command), 2) AS error_command_sha256
            FROM jobs_internal.jobs AS j
            INNER JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id AND s.name = N'scheduler'
            LEFT JOIN jobs_internal.job_steps AS m ON m.job_id = j.job_id AND m.version = j.current_version AND m.step_id = 1
            LEFT JOIN jobs_internal.step_commands AS c ON c.command_id = m.command_id
            LEFT JOIN jobs_internal.job_steps AS em ON em.job_id = j.job_id AND em.version = j.current_version AND em.step_id = 2
            LEFT JOIN jobs_internal.step_commands AS ec ON ec.command_id = em.command_id
            WHERE j.job_id = @job_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    RETURN 0;
END;
