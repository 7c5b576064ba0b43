-- Targets of one run, for those who watch it (jobs.sp_get_run): all of a step, or some by their ids. It only reads.
--
-- Cost: the targets that it returns. The list of a step is a range of IX_target_executions_execution_id in the wanted order, so nothing is
-- sorted; other targets are found by their key.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @step_id           The step; NULL: the targets in @ids.
--   @ids               JSON array of values of target_execution_id; those of other runs are left out. NULL: none.
--   @max_length        Messages are cut to this number of characters, 0 to 4000. NULL: 300.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   One row per target, by target_execution_id: target_execution_id, step_id, target_id, server_name, database_name (NULL:
--            an endpoint), lifecycle (also WaitingForCallback), is_active, start_time, end_time, attempts, attempt_start_time,
--            next_attempt_at (NULL: none is due, or the target waits), error_number, outcome_unknown, message (NULL: that of the
--            lifecycle), duration_ms, waiting_for (as in jobs.job_execution_targets; NULL: nothing), waiting_until, waiting_reason.
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_get_run_targets
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @step_id          INT = NULL,
    @ids              NVARCHAR(MAX) = NULL,
    @max_length       INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @step_execution_id BIGINT;
    DECLARE @wanted TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    SET @max_length = CASE WHEN @max_length < 0 THEN 0 WHEN @max_length > 4000 THEN 4000 ELSE COALESCE(@max_length, 300) END;

    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    SELECT @execution_id = e.execution_id
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    IF @step_id IS NOT NULL
    BEGIN
        SELECT @step_execution_id = s.step_execution_id
        FROM jobs_internal.step_executions AS s
        WHERE s.execution_id = @execution_id
            AND s.step_id = @step_id;
        SELECT
            t.target_execution_id,
            t.step_id,
            t.target_id,
            t.server_name,
            CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS database_name,
            t.lifecycle,
            t.is_active,
            t.start_time,
            t.end_time,
            t.attempts,
            t.attempt_start_time,
            CASE WHEN t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at END AS next_attempt_at,
            t.error_number,
            t.outcome_unknown,
            LEFT(t.last_message, @max_length) AS message,
            (
                SELECT x.duration_ms
                FROM jobs_internal.target_durations AS x
                WHERE x.target_execution_id = t.target_execution_id
            ) AS duration_ms,
            h.waiting_for,
            h.waiting_until,
            h.description AS waiting_reason
        FROM jobs_internal.target_executions AS t
        LEFT JOIN jobs_internal.target_holds AS h ON h.target_execution_id = t.target_execution_id
        WHERE t.execution_id = @execution_id
            AND t.step_execution_id = @step_execution_id
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = @step_execution_id)
        ORDER BY t.target_execution_id;
        RETURN 0;
    END;

    INSERT INTO @wanted (target_execution_id)
    SELECT DISTINCT CAST(o.value AS BIGINT)
    FROM OPENJSON(@ids) AS o
    WHERE o.value IS NOT NULL;
    SELECT
        t.target_execution_id,
        t.step_id,
        t.target_id,
        t.server_name,
        CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS database_name,
        t.lifecycle,
        t.is_active,
        t.start_time,
        t.end_time,
        t.attempts,
        t.attempt_start_time,
        CASE WHEN t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at END AS next_attempt_at,
        t.error_number,
        t.outcome_unknown,
        LEFT(t.last_message, @max_length) AS message,
        (
            SELECT x.duration_ms
            FROM jobs_internal.target_durations AS x
            WHERE x.target_execution_id = t.target_execution_id
        ) AS duration_ms,
        h.waiting_for,
        h.waiting_until,
        h.description AS waiting_reason
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
    LEFT JOIN jobs_internal.target_holds AS h ON h.target_execution_id = t.target_execution_id
    WHERE t.execution_id = @execution_id
    ORDER BY t.target_execution_id;
    RETURN 0;
END;
