-- Returns the state of a schedule for the audit log: its definition, without secrets and without what passes and agents change.
-- A new column of the definition must be added here.
--
-- Parameters:
--   @job_id       The job.
--   @schedule_id  The schedule.
--   @state        Receives a JSON object; NULL: there is no such object.
--   @revision     Receives the revision of the job.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_schedule
    @job_id      UNIQUEIDENTIFIER,
    @schedule_id BIGINT,
    @state       NVARCHAR(MAX) OUTPUT,
    @revision    BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SELECT @revision = j.revision
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    SET @state = (
        SELECT
            s.name,
            s.kind,
            s.spec,
            s.interval_type,
            s.interval_count,
            s.start_time,
            s.end_time,
            s.time_zone,
            s.catch_up,
            s.overlap,
            s.pause_on_failure,
            s.enabled,
            s.paused,
            s.pause_note,
            CONVERT(NVARCHAR(64), p.hash, 2) AS parameters_sha256
        FROM jobs_internal.schedules AS s
        LEFT JOIN jobs_internal.payloads AS p WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- a purge may hold the row for a moment
            ON p.payload_id = s.payload_id
        WHERE s.schedule_id = @schedule_id
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
