-- Stores the result of a resolution. Either it freezes the databases of the target group as the step's list of targets
-- (I3), or it records why they could not be found, to which the step's retry policy applies (decision 6). A target on
-- which another run of the job is still at the same step is Skipped, unless the run's overlap policy allows both. An
-- empty list is a success (decision 5). While another transaction holds the job, the task is returned and becomes due
-- again after a second (I14).
--
-- Cost: (targets of the list) + (active targets of the job's other runs).
--
-- Parameters:
--   @term_id       The term that holds the task.
--   @task_id       The task.
--   @attempt       The attempt; must be the task's current one.
--   @targets       JSON array, each target once: ordinal (position in the list, from 1), target_id (NULL: derived
--                  from the names), server_name, database_name, elastic_pool_name, target_type (Endpoint: the endpoint of an
--                  action, whose database_name is empty; NULL: a database), limit_server (the server whose limits apply, such
--                  as the host that an action on a database calls; NULL: server_name).
--   @error         The reason why there are no targets; NULL if there are.
--   @error_number  The server's error number, if the reason was an error.
--   @elapsed_ms    Duration, by the agent's clock.
--   @unreached     1: a server could not be reached, or refused the login.
--   @now           For tests only.
-- Called by: agent/outbox.go, once per resolution.
-- Locks:     the job's row (U), so that two of its runs see each other's targets, unless another transaction holds it; the
--            targets of other runs (S), the task, the step (X).
-- Returns:   0.
-- Throws:
--   50029 both targets and error are given, or neither.
--   50201 the term has ended or expired.
--   50202 the task is not held by this term, or has its outcome already.
CREATE OR ALTER PROCEDURE jobs_internal.complete_resolution
    @term_id      BIGINT,
    @task_id      BIGINT,
    @attempt      INT,
    @targets      NVARCHAR(MAX) = NULL,
    @error        NVARCHAR(MAX) = NULL,
    @error_number INT = NULL,
    @elapsed_ms   BIGINT = NULL,
    @unreached    BIT = 0,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @message NVARCHAR(2048);
    DECLARE @outcomes NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT; -- NULL: another transaction holds the job
    DECLARE @execution_id BIGINT;
    DECLARE @claimed_at DATETIME2(7);
    DECLARE @step_execution_id BIGINT;
    DECLARE @step_id INT;
    DECLARE @target_group_name NVARCHAR(128);
    DECLARE @is_endpoint BIT; -- 1: an action without a target group
    DECLARE @on_targets NVARCHAR(10);
    DECLARE @stopping BIT;
    DECLARE @allow_overlap BIT;
    DECLARE @count INT;

    IF (@targets IS NULL AND @error IS NULL) OR (@targets IS NOT NULL AND @error IS NOT NULL) OR ISJSON(@targets) = 0
        THROW 50029, N'Invalid arguments of complete_resolution: want either @targets, a JSON array, or @error.', 1;

    EXECUTE jobs_internal.check_term @term_id = @term_id, @now = @now;

    BEGIN TRANSACTION;

    SELECT @job_id = s.job_id
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    WHERE k.task_id = @task_id;
    -- current_version is in no index, so that the lock is on the clustered key.
    SELECT @version = j.current_version
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE j.job_id = @job_id;

    SELECT
        @execution_id = k.execution_id,
        @claimed_at = k.claimed_at, -- it is in no index, so that the lock is on the clustered key
        @step_execution_id = k.step_execution_id,
        @step_id = s.step_id,
        @target_group_name = d.target_group_name,
        @is_endpoint = CASE
            WHEN d.target_group_id = '00000000-0000-0000-0000-000000000000' AND d.target_group_name = N'(endpoint)' THEN 1
            ELSE 0
        END,
        @on_targets = d.on_targets,
        @stopping = CASE WHEN e.stop_requested_at IS NULL THEN 0 ELSE 1 END,
        @allow_overlap = e.allow_overlap
    FROM jobs_internal.task_executions AS k WITH (UPDLOCK)
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    WHERE k.task_id = @task_id
        AND k.kind = N'Resolve'
        AND k.term_id = @term_id
        AND k.attempt = @attempt
        AND k.ended_at IS NULL;
    IF @step_execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The task ', @task_id, N' is not held by the term ', @term_id, N', or has its outcome already.'
        ), N'%', N'%%');
        THROW 50202, @message, 1;
    END;

    -- Outcomes of other jobs must not wait for a user's open transaction (I14): the task is returned uncounted, for a second.
    IF @version IS NULL AND @error IS NULL AND @stopping = 0
    BEGIN
        SET @outcomes = (
            SELECT @task_id AS task_id, @attempt AS attempt, N'Returned' AS outcome
            FOR JSON PATH
        );
        EXECUTE jobs_internal.record_outcomes @term_id = @term_id, @outcomes = @outcomes, @now = @now;
        UPDATE s
        SET s.next_attempt_at = DATEADD(SECOND, 1, @now),
            s.last_message = CONCAT(N'Step ', s.step_id, N' waits for its targets: another transaction holds the job.')
        FROM jobs_internal.step_executions AS s
        WHERE s.step_execution_id = @step_execution_id
            AND s.next_attempt_at IS NOT NULL;
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    IF @error IS NOT NULL OR @stopping = 1
    BEGIN
        SET @outcomes = (
            SELECT
                @task_id AS task_id,
                @attempt AS attempt,
                CASE WHEN @stopping = 1 THEN N'Canceled' ELSE N'Failed' END AS outcome,
                CASE
                    WHEN @stopping = 1 THEN N'Canceled by a stop request before the targets were known.'
                    WHEN @is_endpoint = 1 THEN CONCAT(N'The target of the step could not be determined: ', @error)
                    ELSE CONCAT(N'The targets of the group ''', @target_group_name, N''' could not be found: ', @error)
                END AS message,
                @error_number AS error_number,
                @elapsed_ms AS elapsed_ms,
                CASE WHEN @stopping = 0 AND @unreached = 1 THEN @unreached END AS unreached
            FOR JSON PATH
        );
        EXECUTE jobs_internal.record_outcomes @term_id = @term_id, @outcomes = @outcomes, @now = @now;
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    INSERT INTO jobs_internal.target_queues (execution_id, step_execution_id, job_id, step_id, server_name, elastic_pool_name)
    SELECT DISTINCT
        @execution_id, @step_execution_id, @job_id, @step_id, COALESCE(o.limit_server, o.server_name), COALESCE(o.elastic_pool_name, N'')
    FROM OPENJSON(@targets) WITH (
        limit_server      NVARCHAR(256),
        server_name       NVARCHAR(256),
        elastic_pool_name NVARCHAR(128)
    ) AS o;

    -- The order determines the keys of the targets, and so their turns. Plan: the list is parsed once and sorted; the step's queues,
    -- a few rows, are a range of the unique key of target_queues that begins with the step.
    INSERT INTO jobs_internal.target_executions (
        execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, target_id, server_name, database_name,
        elastic_pool_name, lifecycle, is_active, create_time, next_attempt_at, is_endpoint
    )
    SELECT
        @execution_id, @step_execution_id, @job_id, @step_id, q.queue_id, o.ordinal,
        COALESCE(
            o.target_id,
            CAST(HASHBYTES('MD5', CONCAT(
                LOWER(o.server_name COLLATE Latin1_General_100_CI_AS), N'/',
                LOWER(o.database_name COLLATE Latin1_General_100_CI_AS)
            )) AS UNIQUEIDENTIFIER)
        ),
        o.server_name, o.database_name, o.elastic_pool_name, N'Created', 1, @now, @now,
        CASE WHEN o.target_type = N'Endpoint' THEN 1 ELSE 0 END
    FROM OPENJSON(@targets) WITH (
        ordinal           INT,
        target_id         UNIQUEIDENTIFIER,
        server_name       NVARCHAR(256),
        database_name     NVARCHAR(128),
        elastic_pool_name NVARCHAR(128),
        target_type       NVARCHAR(20),
        limit_server      NVARCHAR(256)
    ) AS o
    INNER JOIN jobs_internal.target_queues AS q ON q.step_execution_id = @step_execution_id
        AND q.server_name = COALESCE(o.limit_server, o.server_name)
        AND q.elastic_pool_name = COALESCE(o.elastic_pool_name, N'')
    ORDER BY o.ordinal;
    SET @count = @@ROWCOUNT;

    -- Plan: IX_step_executions_active_job_id, per other run at this step a range of IX_target_executions_active, and for each of those
    -- targets a seek of UQ_target_executions_target_id in the new list. Usually there is no other run.
    IF @allow_overlap = 0
        UPDATE t
        SET t.lifecycle = N'Skipped',
            t.is_active = 0,
            t.end_time = @now,
            t.next_attempt_at = NULL,
            t.last_message = CONCAT(
                N'Step ', t.step_id, N' was skipped on ',
                CASE
                    WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', t.server_name, N'''')
                    ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
                END,
                N': another execution of the job is still running this step there.'
            )
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.target_executions AS u ON u.job_id = s.job_id
            AND u.step_execution_id = s.step_execution_id
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = @step_execution_id
            AND t.target_id = u.target_id
        WHERE s.job_id = @job_id
            AND s.step_id = @step_id
            AND s.is_active = 1
            AND s.execution_id <> @execution_id
            AND u.is_active = 1;

    UPDATE k
    SET k.ended_at = @now,
        k.outcome = N'Succeeded',
        k.elapsed_ms = @elapsed_ms
    FROM jobs_internal.task_executions AS k
    WHERE k.task_id = @task_id;

    UPDATE s
    SET s.lifecycle = CASE WHEN @count = 0 THEN N'Succeeded' ELSE N'WaitingForChildJobExecutions' END,
        s.is_active = CASE WHEN @count = 0 THEN 0 ELSE 1 END,
        s.end_time = CASE WHEN @count = 0 THEN @now END,
        s.resolved_at = @now,
        s.last_message = CASE
            WHEN @count = 0
                THEN CONCAT(
                    N'Step ', @step_id,
                    CASE
                        WHEN @on_targets = N'Failed' THEN N' succeeded: there are no targets on which the steps before it failed.'
                        ELSE CONCAT(N' succeeded: the target group ''', @target_group_name, N''' resolved to no databases.')
                    END
                )
            WHEN @on_targets = N'Failed'
                THEN CONCAT(N'Step ', @step_id, N' runs on ', @count, N' targets on which the steps before it failed.')
            WHEN @is_endpoint = 1 THEN CONCAT(N'Step ', @step_id, N' runs on its endpoint.')
            ELSE CONCAT(N'Step ', @step_id, N' runs on ', @count, N' targets of the target group ''', @target_group_name, N'''.')
        END
    FROM jobs_internal.step_executions AS s
    WHERE s.step_execution_id = @step_execution_id;

    COMMIT TRANSACTION;
    RETURN 0;
END;
