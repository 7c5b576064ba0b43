-- Starts a run of a job's current version and returns at once. The job need not be enabled. The due instants of its
-- schedules do not change.
--
-- Parameters:
--   @job_name          Name of the job.
--   @job_execution_id  Receives the id of the run. With a value: that id is used; if a run of this job has it already,
--                      nothing starts (decision 21). An id that an earlier call in the session has made is no value, so that one variable
--                      may receive the ids of several runs, as in Azure, where the parameter is output only.
--   @parameters        The run's parameters: a JSON object of at most 102,400 characters. The run's steps use them as script
--                      variables, such as $(param.tenant). NULL or empty: none. A repetition with the same @job_execution_id must
--                      have the same parameters. If the job declares its parameters (jobs.sp_set_job_parameters), they are checked
--                      against the declarations, and the run gets the defaults of those that are not given.
--   @only_targets      The databases to which the run is limited: a JSON array of 1 to 5,000 target ids, as the column target_id of
--                      jobs.job_executions shows them. For a database that no run has had, an object {"target_id": …, "server_name": …,
--                      "database_name": …}. NULL: all databases of the target groups. A database that is not in the target group of a
--                      step when its list is made is Skipped there. Steps without a target group run as always.
--   @rollout           0: the run ignores the plan of the job, if it has one. 1: it is rolled out by the plan (sql/DESIGN.md, "Roll-outs").
--                      A repetition must have the same.
--   @hold              1: the roll-out is paused when its targets are assigned to waves, so that one can look at them before anything
--                      runs. A repetition must have the same.
--   @mode              NULL: the scripts run. Trial: each script runs in a transaction that is rolled back, on 1 to 100 chosen databases.
--                      Preflight: no script runs; each database is checked for what its steps need. A run with a mode ignores the plan of
--                      the job, and skips its actions (sql/DESIGN.md, "Trial and preflight").
--   @mode_options      Options of a trial, a JSON object: "skip_unsupported": true skips batches that cannot be in a transaction, or end
--                      it, in place of refusing the script; "plan": true reports the estimated plan of each batch, and "plan_xml": true
--                      its document as well, if it is small. Of a preflight, what the scripts need: "rights": [permissions on the
--                      database], "min_version", "min_compatibility", "min_log_mb", "min_data_mb", "max_transaction_seconds", and "warn"
--                      and "refuse", lists of checks whose findings are warnings, or failures (targets/mssql/DESIGN.md). NULL: none.
--   @ignore_windows    1: the run does not wait for the windows of its databases (jobs.sp_set_target_window); pauses, and the windows of
--                      waves of a roll-out, hold as always. Only members of the role jobs_author may say so, who may change windows,
--                      too. A repetition must have the same; a rerun of the run waits for windows.
-- Cost: (chosen databases) × (members of the job's target groups that stand for several databases), before the transaction, when nothing
-- is locked yet.
--
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U), the stored parameters (S); then an insert into job_executions; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50069 a value does not have the declared type, or is not one of the choices.
--   50070 the parameters are not a JSON object.
--   50071 the parameters are too long.
--   50072 a name in the parameters is empty, too long, or has a control character.
--   50073 a name in the parameters is there twice.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50103 the job has no steps.
--   50112 the job execution id belongs to an execution of another job.
--   50146 the caller may not ignore windows.
--   50148 the job execution id belongs to an execution with other parameters.
--   50159 a required parameter is missing.
--   50160 the job declares no parameter of this name.
--   50162 a chosen target can be in no target group of the job, or no run has had it.
--   50163 the job execution id belongs to an execution on other targets.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted, and the run does not exist yet.
--   50189 a roll-out of the job is active.
--   50193 the control database is paused, and the run does not exist yet.
--   50197 the job execution id belongs to an execution with other options.
--   50401 @only_targets is not an array of 1 to 5,000 target ids.
--   50419 @hold is 1, and the run would not be rolled out.
--   50420 @mode is neither Trial nor Preflight, or @mode_options have a member that the mode does not have.
--   50421 a trial has no chosen databases, or more than 100.
CREATE OR ALTER PROCEDURE jobs.sp_start_job
    @job_name         NVARCHAR(129),
    @job_execution_id UNIQUEIDENTIFIER = NULL OUTPUT,
    @parameters       NVARCHAR(MAX) = NULL,
    @only_targets     NVARCHAR(MAX) = NULL,
    @rollout          BIT = 1,
    @hold             BIT = 0,
    @mode             NVARCHAR(11) = NULL,
    @mode_options     NVARCHAR(401) = NULL,
    @ignore_windows   BIT = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @other UNIQUEIDENTIFIER;
    DECLARE @is_repeated BIT; -- 1: the run exists
    DECLARE @is_checked BIT = 0; -- 1: what the check of the chosen databases has read still holds
    DECLARE @checked_job UNIQUEIDENTIFIER;
    DECLARE @checked_version INT;
    DECLARE @checked_repeated BIT;
    DECLARE @complete_targets NVARCHAR(MAX);
    DECLARE @other_payload BIGINT;
    DECLARE @other_parameters NVARCHAR(MAX);
    DECLARE @other_targets NVARCHAR(MAX);
    DECLARE @other_mode NVARCHAR(500); -- with its options
    DECLARE @rollout_start NVARCHAR(10);
    DECLARE @has_other_options BIT;
    DECLARE @payload_id BIGINT;
    DECLARE @chosen INT = 0;
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;

    IF CHARINDEX(CAST(@job_execution_id AS NVARCHAR(36)), CAST(SESSION_CONTEXT(N'jobagent.made_ids') AS NVARCHAR(4000))) > 0
        SET @job_execution_id = NULL;
    SET @rollout = COALESCE(@rollout, 1);
    SET @ignore_windows = COALESCE(@ignore_windows, 0);
    IF @ignore_windows = 1 AND COALESCE(IS_ROLEMEMBER(N'jobs_author'), 0) = 0 AND COALESCE(IS_ROLEMEMBER(N'db_owner'), 0) = 0
        THROW 50146, N'Only members of the role jobs_author may start a run that ignores the windows of databases (@ignore_windows).', 1;

    EXECUTE jobs_internal.check_parameters @parameters = @parameters;
    EXECUTE jobs_internal.check_mode
        @mode = @mode OUTPUT,
        @mode_options = @mode_options OUTPUT,
        @only_targets = @only_targets;
    IF @mode IS NOT NULL
        SET @rollout = 0;
    SET @rollout_start = CASE WHEN @rollout = 0 THEN N'Plain' WHEN @hold = 1 THEN N'Hold' END;

    EXECUTE jobs_internal.check_not_paused @job_execution_id = @job_execution_id;
    WHILE @is_checked = 0
    BEGIN
        SET @checked_job = NULL;
        SET @other = NULL;
        -- To compare 5,000 databases with the members of large groups takes seconds, in which the transaction would hold the job. The job
        -- and its version are compared below; target groups may change until the run resolves them, so they need not be.
        IF @only_targets IS NOT NULL
        BEGIN
            SELECT
                @checked_job = j.job_id,
                @checked_version = j.current_version
            FROM jobs_internal.jobs AS j
            WHERE j.name = @job_name
                AND j.deleted_at IS NULL;
            SET @checked_repeated = CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_executions AS e
                    WHERE e.job_execution_id = @job_execution_id
                        AND e.job_id = @checked_job
                ) THEN 1
                ELSE 0
            END;
            IF @checked_job IS NOT NULL
                EXECUTE jobs_internal.check_only_targets
                    @job_id = @checked_job,
                    @version = @checked_version,
                    @only_targets = @only_targets,
                    @is_repeated = @checked_repeated,
                    @complete = @complete_targets OUTPUT,
                    @count = @chosen OUTPUT;
        END;
        BEGIN TRANSACTION;

        EXECUTE jobs_internal.lock_job
            @job_name = @job_name,
            @job_id = @job_id OUTPUT,
            @version = @version OUTPUT,
            @job_execution_id = @job_execution_id;

        IF @job_execution_id IS NOT NULL
            -- Calls for one job follow each other, because each holds the job. If a call for another job has added the id and not
            -- committed, the insert below waits for it, and fails (2627). A lock on the id would be one on a range of random ids, and
            -- passes insert there.
            SELECT
                @other = e.job_id,
                @other_payload = e.payload_id,
                @other_targets = e.only_targets,
                @other_mode = CONCAT(e.mode, e.mode_options),
                @has_other_options = CASE
                    WHEN COALESCE(e.rollout_start, N'') = COALESCE(@rollout_start, N'')
                        AND COALESCE(e.ignore_windows, 0) = @ignore_windows THEN 0
                    ELSE 1
                END
            FROM jobs_internal.job_executions AS e
            WHERE e.job_execution_id = @job_execution_id;
        SET @is_repeated = CASE WHEN @other = @job_id THEN 1 ELSE 0 END;
        IF @only_targets IS NULL
            OR (@checked_job = @job_id AND @checked_version = @version AND @checked_repeated <= @is_repeated)
            SET @is_checked = 1;
        ELSE
            COMMIT TRANSACTION; -- which has changed nothing
    END;
    SET @only_targets = @complete_targets;

    IF @job_execution_id IS NOT NULL
    BEGIN
        IF @is_repeated = 1
        BEGIN
            SELECT @other_parameters = p.text
            FROM jobs_internal.payloads AS p
            WHERE p.payload_id = @other_payload;
            SET @parameters = CASE WHEN LTRIM(@parameters) = N'' THEN NULL ELSE @parameters END;
            -- Compared exactly: the collation may treat different texts as equal.
            IF CAST(COALESCE(@parameters, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(@other_parameters, N'') AS VARBINARY(MAX))
                EXECUTE jobs_internal.require_parameters
                    @job_id = @job_id,
                    @job_name = @job_name,
                    @parameters = @parameters,
                    @complete = @parameters OUTPUT;
            IF CAST(COALESCE(@parameters, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(@other_parameters, N'') AS VARBINARY(MAX))
            BEGIN
                SET @message = REPLACE(CONCAT(
                    N'The job execution id ', @job_execution_id, N' belongs to an execution with other parameters.',
                    N' Choose another id, or omit @job_execution_id.'
                ), N'%', N'%%');
                THROW 50148, @message, 1;
            END;
            IF EXISTS (
                SELECT o.target_id
                FROM OPENJSON(@only_targets) WITH (target_id UNIQUEIDENTIFIER) AS o
                EXCEPT
                SELECT t.target_id
                FROM OPENJSON(@other_targets) WITH (target_id UNIQUEIDENTIFIER) AS t
            )
                OR @chosen <> (SELECT COUNT(*) FROM OPENJSON(@other_targets) AS t)
            BEGIN
                SET @message = REPLACE(CONCAT(
                    N'The job execution id ', @job_execution_id, N' belongs to an execution on other targets.',
                    N' Choose another id, or omit @job_execution_id.'
                ), N'%', N'%%');
                THROW 50163, @message, 1;
            END;
            IF CONCAT(@mode, @mode_options) <> @other_mode OR @has_other_options = 1
            BEGIN
                SET @message = REPLACE(CONCAT(
                    N'The job execution id ', @job_execution_id, N' belongs to an execution with other options:',
                    N' its @mode, @mode_options, @rollout, @hold or @ignore_windows differ.',
                    N' Choose another id, or omit @job_execution_id.'
                ), N'%', N'%%');
                THROW 50197, @message, 1;
            END;
            COMMIT TRANSACTION;
            RETURN 0;
        END;
        IF @other IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @job_execution_id,
                N' belongs to an execution of another job. Choose another id, or omit @job_execution_id.'
            ), N'%', N'%%');
            THROW 50112, @message, 1;
        END;
    END;

    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has no steps. Add one with jobs.sp_add_jobstep.'), N'%', N'%%');
        THROW 50103, @message, 1;
    END;

    -- Who holds a roll-out to look at it must not start a run on all databases.
    IF @hold = 1
        AND (@rollout = 0 OR EXISTS (
            SELECT 1
            FROM jobs_internal.job_versions AS v
            WHERE v.job_id = @job_id
                AND v.version = @version
                AND v.rollout_plan IS NULL
        ))
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'@hold = 1 is for roll-outs, and this would be a plain run of the job ''', @job_name,
            N'''. Nothing was started. Give the job a plan with jobs.sp_set_job_rollout, or omit @hold.'
        ), N'%', N'%%');
        THROW 50419, @message, 1;
    END;

    -- Two roll-outs of one job would skip each other's targets, and their gates would stop both.
    IF @rollout = 1
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.job_versions AS v
            WHERE v.job_id = @job_id
                AND v.version = @version
                AND v.rollout_plan IS NOT NULL
        )
    BEGIN
        SELECT TOP (1) @message = REPLACE(CONCAT(
            N'The roll-out ', e.job_execution_id, N' of the job ''', @job_name,
            N''' is active. Let it end, abort it with jobs.sp_abort_rollout, or start a plain run with @rollout = 0.'
        ), N'%', N'%%')
        FROM jobs_internal.rollout_runs AS r
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
        WHERE r.job_id = @job_id
            AND r.is_active = 1;
        IF @message IS NOT NULL
            THROW 50189, @message, 1;
    END;

    EXECUTE jobs_internal.require_parameters
        @job_id = @job_id,
        @job_name = @job_name,
        @parameters = @parameters,
        @complete = @parameters OUTPUT;
    EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;

    EXECUTE jobs_internal.make_execution_id @job_execution_id = @job_execution_id OUTPUT;
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, payload_id, traceparent,
        only_targets, rollout_start, mode, mode_options, ignore_windows, last_message
    )
    VALUES (
        @job_execution_id, @job_id, @version, N'Created', 1, @now, @by, @payload_id,
        CAST(SESSION_CONTEXT(N'jobagent.traceparent') AS NVARCHAR(55)), @only_targets,
        @rollout_start, @mode, @mode_options, NULLIF(@ignore_windows, 0),
        CONCAT(
            CASE WHEN @mode IS NULL THEN N'Job execution' ELSE @mode END, N' created',
            CASE WHEN @ignore_windows = 1 THEN N' without regard to windows' END,
            N' for ' + CAST(NULLIF(@chosen, 0) AS NVARCHAR(12)) + N' chosen database' + CASE WHEN @chosen = 1 THEN N'' ELSE N's' END,
            N'.'
        )
    );

    -- The parameters are in audit_entries as a hash: they are deleted with the run.
    SET @audit_after = CONCAT(
        N'{"job_version":', @version,
        N',"parameters_sha256":"' + CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', NULLIF(LTRIM(@parameters), N'')), 2) + N'"',
        N',"only_targets":' + @only_targets,
        N',"mode":"' + @mode + N'"', N',"mode_options":' + @mode_options,
        CASE WHEN @ignore_windows = 1 THEN N',"ignore_windows":true' END,
        CASE WHEN @rollout = 0 THEN N',"rollout":false' WHEN @hold = 1 THEN N',"hold":true' END, N'}'
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_start_job',
        @object_kind = N'JobExecution',
        @object_id = @job_execution_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
