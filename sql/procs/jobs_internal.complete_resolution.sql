-- Stores the result of a resolution. Either it freezes the databases of the target group as the step's list of targets
-- (I3), or it records why they could not be found, to which the step's retry policy applies (decision 6).
--
-- A list that is given as a whole is written at once (jobs_internal.write_list). A large one comes in parts, a call each, because
-- one transaction would take too long (I15): the parts are kept, and passes write them to the step's targets. They also
-- write a list whose job another transaction holds (I14), so nobody has to look for the targets again.
--
-- A part that is stored already is not stored again, so a call without an answer can be repeated. The parts of an agent that
-- dies before the last one belong to a task that has ended; they are deleted, and the next resolution has others.
--
-- Cost: (targets of the list or part).
--
-- Parameters:
--   @term_id       The term that holds the task.
--   @task_id       The task.
--   @attempt       The attempt; must be the task's current one.
--   @targets       JSON array, at most 5000 targets, each target once: ordinal (position in the list, from 1), target_id (NULL: derived
--                  from the names), server_name, database_name, elastic_pool_name, target_type (Endpoint: the endpoint of an
--                  action, whose database_name is empty; NULL: a database), limit_server (the server whose limits apply, such
--                  as the host that an action on a database calls; NULL: server_name).
--   @error         The reason why there are no targets; NULL if there are.
--   @error_number  The server's error number, if the reason was an error.
--   @elapsed_ms    Duration, by the agent's clock.
--   @unreached     1: a server could not be reached, or refused the login.
--   @part          Number of the part that @targets is, from 1; NULL: the whole list. (Agents of earlier releases give the whole
--                  list, however large it is.)
--   @more          1: more parts follow.
--   @term_guid     The term's GUID; NULL: an agent of an earlier release, not compared.
--   @claim_id      The claim_id of the task, from controller_pass; NULL: the same.
--   @transient     1: the error may pass by itself; 0: it will not; NULL: nobody knows.
-- Called by: agent/outbox.go, once per resolution.
-- Locks:     the job's row (U), so that two of its runs see each other's targets, unless another transaction holds it; the
--            task, the step (X); inserts into list_parts and step_lists.
-- Returns:   0.
-- Throws:
--   50029 both targets and error are given, or neither; or a target has no ordinal, server or database.
--   50201 the term has ended.
--   50202 the task is not held by this term, or has its outcome already.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.complete_resolution
    @term_id      BIGINT,
    @task_id      BIGINT,
    @attempt      INT,
    @targets      NVARCHAR(MAX) = NULL,
    @error        NVARCHAR(MAX) = NULL,
    @error_number INT = NULL,
    @elapsed_ms   BIGINT = NULL,
    @unreached    BIT = 0,
    @part         INT = NULL,
    @more         BIT = 0,
    @term_guid    UNIQUEIDENTIFIER = NULL,
    @claim_id     UNIQUEIDENTIFIER = NULL,
    @transient    BIT = NULL,
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
    DECLARE @version INT; -- NULL: another transaction holds the job, or passes write the list anyway
    DECLARE @execution_id BIGINT;
    DECLARE @claimed_at DATETIME2(7);
    DECLARE @step_execution_id BIGINT;
    DECLARE @target_group_name NVARCHAR(128);
    DECLARE @is_endpoint BIT; -- 1: an action without a target group
    DECLARE @stopping BIT;

    IF (@targets IS NULL AND @error IS NULL) OR (@targets IS NOT NULL AND @error IS NOT NULL) OR ISJSON(@targets) = 0
        THROW 50029, N'Invalid arguments of complete_resolution: want either @targets, a JSON array, or @error.', 1;

    -- A pass would fail on such a target again and again, and hold up all jobs.
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@targets) WITH (
            ordinal       INT,
            target_id     UNIQUEIDENTIFIER,
            server_name   NVARCHAR(256),
            database_name NVARCHAR(128)
        ) AS o
        WHERE o.ordinal IS NULL
            OR o.server_name IS NULL
            OR o.database_name IS NULL
    )
        THROW 50029, N'Invalid target: want an ordinal, the name of a server and the name of a database.', 1;

    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    BEGIN TRANSACTION;

    SELECT @job_id = s.job_id
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    WHERE k.task_id = @task_id;
    -- current_version is in no index, so that the lock is on the clustered key.
    IF @more = 0 AND COALESCE(@part, 1) = 1
        SELECT @version = j.current_version
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE j.job_id = @job_id;

    SELECT
        @execution_id = k.execution_id,
        @claimed_at = k.claimed_at, -- it is in no index, so that the lock is on the clustered key
        @step_execution_id = k.step_execution_id,
        @target_group_name = d.target_group_name,
        @is_endpoint = CASE
            WHEN d.target_group_id = '00000000-0000-0000-0000-000000000000' AND d.target_group_name = N'(endpoint)' THEN 1
            ELSE 0
        END,
        @stopping = CASE WHEN e.stop_requested_at IS NULL THEN 0 ELSE 1 END
    FROM jobs_internal.task_executions AS k WITH (UPDLOCK)
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    WHERE k.task_id = @task_id
        AND k.kind = N'Resolve'
        AND k.term_id = @term_id
        AND k.attempt = @attempt
        AND (@claim_id IS NULL OR k.claim_id = @claim_id) -- plan: the row is found by task_id
        AND k.ended_at IS NULL;
    IF @step_execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The task ', @task_id, N' is not held by the term ', @term_id, N', or has its outcome already.'
        ), N'%', N'%%');
        THROW 50202, @message, 1;
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
                CASE WHEN @stopping = 0 AND @unreached = 1 THEN @unreached END AS unreached,
                CASE WHEN @stopping = 0 THEN @transient END AS transient
            FOR JSON PATH
        );
        EXECUTE jobs_internal.record_outcomes @term_id = @term_id, @outcomes = @outcomes, @now = @now;
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    IF @more = 1 OR @part > 1 OR @version IS NULL
        INSERT INTO jobs_internal.list_parts (task_id, part, targets)
        SELECT @task_id, COALESCE(@part, 1), @targets
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.list_parts AS p WHERE p.task_id = @task_id AND p.part = COALESCE(@part, 1));
    IF @more = 0
    BEGIN
        UPDATE k
        SET k.ended_at = @now,
            k.outcome = N'Succeeded',
            k.elapsed_ms = @elapsed_ms
        FROM jobs_internal.task_executions AS k
        WHERE k.task_id = @task_id;
        IF @part > 1 OR @version IS NULL
        BEGIN
            INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source, task_id)
            VALUES (@step_execution_id, @job_id, N'Parts', @task_id);
            UPDATE s
            SET s.last_message = CONCAT(N'Step ', s.step_id, N' waits until the list of its targets is complete.')
            FROM jobs_internal.step_executions AS s
            WHERE s.step_execution_id = @step_execution_id;
        END;
        ELSE
            EXECUTE jobs_internal.write_list @step_execution_id = @step_execution_id, @targets = @targets, @now = @now;
    END;
    COMMIT TRANSACTION;
    RETURN 0;
END;
