-- Reads the state of a job of the SAP surface for the audit log: no secret, no data of schedules, and of the URL only the part before
-- the query.
--
-- Parameters:
--   @job    The _id.
--   @state  Receives a JSON object; NULL: the job does not exist.
-- Called by: jobs_internal.lock_rest_job, jobs_internal.log_rest_action, within the transactions of changes.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_rest_job
    @job   INT,
    @state NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT
            r.rest_job_id AS id,
            r.tenant_id AS tenant,
            r.name,
            r.description,
            LEFT(r.action, CHARINDEX(N'?', CONCAT(r.action, N'?')) - 1) AS action,
            r.http_method,
            r.active,
            r.start_at,
            r.end_at,
            r.user_name,
            r.password_name,
            r.credential_name,
            r.ans_config,
            r.calm_config,
            JSON_QUERY((
                SELECT
                    x.rest_schedule_id AS id,
                    x.spec,
                    s.enabled,
                    x.description,
                    s.payload_id AS data_id
                FROM jobs_internal.schedules AS s
                INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
                WHERE s.job_id = r.job_id
                ORDER BY s.schedule_id
                FOR JSON PATH
            )) AS schedules
        FROM jobs_internal.rest_jobs AS r
        WHERE r.rest_job_id = @job
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
