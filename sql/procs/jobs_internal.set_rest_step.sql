-- Gives a job of the SAP surface the step that its row in rest_jobs describes: one HTTP action, or a process if the job is a task
-- (CF_TASK). If the definition changes, the job gets a new version.
--
-- The step is not retried (S-36). An HTTP request without an answer waits for a report (S-34); a process whose end was not seen has
-- nobody who reports. The time limit of the step is longer than any time-out of a report, so that it never comes first. That of a task is
-- the setting async_exec_timeout_seconds when its attempt begins (jobs_internal.ready_steps).
--
-- Parameters:
--   @job      The job's _id.
--   @job_id   The job; the caller has locked it.
--   @version  Its current version.
--   @now      Time of the change.
-- Called by: jobs_rest.set_job, jobs_rest.update_job, within their transactions.
-- Locks:     inserts into job_versions, step_commands and job_steps; the job's row (X).
-- Returns:   0.
-- Throws:
--   50058 the definition of the action is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.set_rest_step
    @job     INT,
    @job_id  UNIQUEIDENTIFIER,
    @version INT,
    @now     DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @type NVARCHAR(50);
    DECLARE @command NVARCHAR(MAX);
    DECLARE @credential NVARCHAR(128);
    DECLARE @command_id BIGINT;

    SELECT
        @type = CASE WHEN r.job_type = N'CF_TASK' THEN N'Process' ELSE N'Http' END,
        @credential = CASE WHEN r.password_name IS NULL AND r.job_type <> N'CF_TASK' THEN r.credential_name END,
        @command = (
            SELECT
                r.http_method AS method,
                r.action AS url,
                JSON_QUERY(N'{"Content-Type":"application/json"}') AS headers,
                CASE WHEN r.http_method IN (N'GET', N'DELETE') THEN N'query' ELSE N'body' END AS payload,
                N'sap' AS success,
                r.allow_http,
                JSON_QUERY(CASE
                    WHEN r.password_name IS NOT NULL THEN CONCAT(
                        N'{"kind":"basic","username":"', STRING_ESCAPE(r.user_name, 'json'),
                        N'","password":"$(secret.', r.password_name, N')"}'
                    )
                END) AS auth
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        )
    FROM jobs_internal.rest_jobs AS r
    WHERE r.rest_job_id = @job;
    IF @type = N'Process'
        SET @command = (
            SELECT SUBSTRING(r.action, LEN(N'process:') + 1, 2048) AS entry
            FROM jobs_internal.rest_jobs AS r
            WHERE r.rest_job_id = @job
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND CAST(c.command AS VARBINARY(MAX)) = CAST(@command AS VARBINARY(MAX))
            AND COALESCE(s.credential_name, N'') = COALESCE(@credential, N'')
    )
        RETURN 0;
    EXECUTE jobs_internal.check_action @command_type = @type, @command = @command;

    INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
    VALUES (@job_id, @type, N'Inline', @command);
    SET @command_id = SCOPE_IDENTITY();
    INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
    VALUES (@job_id, @version + 1, @now);
    INSERT INTO jobs_internal.job_steps (
        job_id, version, step_id, step_name, command_id, credential_name, target_group_id, target_group_name,
        initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier, retry_attempts,
        step_timeout_seconds, on_unknown_outcome
    )
    VALUES (
        @job_id, @version + 1, 1, N'action', @command_id, @credential, '00000000-0000-0000-0000-000000000000', N'(endpoint)',
        1, 120, 2, 0,
        2147483, CASE WHEN @type = N'Process' THEN N'Fail' ELSE N'Await' END
    );
    UPDATE j
    SET j.current_version = @version + 1
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    RETURN 0;
END;
