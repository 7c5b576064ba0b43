-- Runs again the part of a finished run that did not succeed: a new run with the same parameters, of the same version or a given one, on
-- the frozen targets of that run with the given final states. Where that run has a list of targets, target groups are not
-- resolved again. Steps that it did not reach follow, unless @only excludes targets that prevented it from reaching
-- them: on their whole target groups or, if the run is itself a rerun, on the targets that it would have had. Returns at once.
--
-- Cost: (targets of the run), which are read before the transaction, when nothing is locked yet.
--
-- Parameters:
--   @job_execution_id      Id of the run.
--   @only                  Final states of targets to run again, separated by commas, in any case: Failed (by an
--                          error), TimedOut, Canceled, Skipped, Unknown (whatever its lifecycle, it is unknown whether
--                          the script ran: outcome_unknown in jobs.job_execution_outcomes), Succeeded. NULL: all but
--                          Succeeded.
--   @new_job_execution_id  Receives the id of the new run. With a value: that id is used; if a rerun of this run has it
--                          already, nothing starts (decision 21). An id that an earlier call in the session has made is no value, as in
--                          jobs.sp_start_job. A repetition must have the same @only, @job_version, @only_targets and @ignore_windows;
--                          Current fits each version from that of the run on, because it may have changed since.
--   @job_version           Version of the job that runs: Current, in any case, for example because its script was mended; or the
--                          number of a version. NULL: that of the run. It must have the same steps, by place, name, type, target group
--                          and dependencies, because the targets are those of the run's steps.
--   @only_targets          The databases to which the rerun is limited, as in jobs.sp_start_job. They must be targets of the run, with one
--                          of the states in @only. What the run did on others does not matter to the rerun. NULL: those to which the run
--                          was limited, if it was.
--   @ignore_windows        1: the rerun does not wait for the windows of its databases, as in jobs.sp_start_job, whatever the run did.
--                          Only members of jobs_author may ask for it.
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U), target groups to resolve (U), its parameters (S), the run and those of upstream jobs (U); then an
--            insert into job_executions; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50031 a state in @only is invalid, or there is none.
--   50097 a text is longer than its limit.
--   50111 the job execution does not exist.
--   50112 the new job execution id belongs to an execution of another job.
--   50114 the job execution is active.
--   50115 nothing in the job execution ended in one of the given states.
--   50116 the new job execution id belongs to another execution of the job.
--   50117 a target group that a step needs no longer exists.
--   50138 the version has other steps than that of the run.
--   50139 @job_version is neither Current nor the number of a version of the job.
--   50140 the new job execution id belongs to a rerun with another version.
--   50146 the caller may not ignore windows.
--   50162 a chosen target is not among the targets to run again.
--   50163 the new job execution id belongs to a rerun on other targets.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted, and the run does not exist yet.
--   50193 the control database is paused, and the run does not exist yet.
--   50197 the new job execution id belongs to a rerun with other options.
--   50199 the job execution is a roll-out, or a wave of an active one.
--   50401 @only_targets is not an array of 1 to 5,000 target ids.
--   50483 its upstream executions, whose databases it needs, were purged.
CREATE OR ALTER PROCEDURE jobs.sp_rerun_job_execution
    @job_execution_id     UNIQUEIDENTIFIER,
    @only                 NVARCHAR(201) = N'Failed,TimedOut,Canceled,Skipped,Unknown',
    @new_job_execution_id UNIQUEIDENTIFIER = NULL OUTPUT,
    @job_version          NVARCHAR(21) = NULL,
    @only_targets         NVARCHAR(MAX) = NULL,
    @ignore_windows       BIT = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @wrong NVARCHAR(200);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @origin_version INT;
    DECLARE @mode NVARCHAR(10);
    DECLARE @mode_options NVARCHAR(400);
    DECLARE @current_version INT;
    DECLARE @origin_id BIGINT;
    DECLARE @is_active BIT;
    DECLARE @lifecycle NVARCHAR(50);
    DECLARE @origin_partial BIT;
    DECLARE @payload_id BIGINT;
    DECLARE @parameters NVARCHAR(MAX);
    DECLARE @origin_targets NVARCHAR(MAX);
    DECLARE @chosen INT;
    DECLARE @partial BIT;
    DECLARE @between_steps BIT; -- stopped after one step and before the next
    DECLARE @other_job UNIQUEIDENTIFIER;
    DECLARE @other_origin BIGINT;
    DECLARE @other_only NVARCHAR(200);
    DECLARE @other_version INT;
    DECLARE @other_targets NVARCHAR(MAX);
    DECLARE @other_ignores BIT; -- windows
    DECLARE @group_name NVARCHAR(128);
    DECLARE @step_id INT;
    DECLARE @given TABLE (text NVARCHAR(200) NOT NULL);
    DECLARE @known TABLE (state NVARCHAR(50) NOT NULL PRIMARY KEY);
    DECLARE @wanted TABLE (state NVARCHAR(50) NOT NULL PRIMARY KEY);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @job_name NVARCHAR(128);
    DECLARE @read_id BIGINT; -- the run, if it had ended when its targets were read
    DECLARE @read_lifecycle NVARCHAR(50);
    DECLARE @is_limited BIT;
    -- How the origin's targets ended, and its steps whose targets were never known.
    DECLARE @ended TABLE (
        step_id   INT NOT NULL,
        state     NVARCHAR(50) NOT NULL,
        is_target BIT NOT NULL,
        PRIMARY KEY (step_id, state, is_target)
    );
    DECLARE @upstream_runs NVARCHAR(4000);
    DECLARE @chosen_targets TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY); -- those of @only_targets
    DECLARE @to_resolve TABLE (step_id INT NOT NULL PRIMARY KEY);
    DECLARE @groups TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_groups TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, created_at DATETIME2(7) NOT NULL);
    DECLARE @needed_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY); -- whose rows the rerun reads
    DECLARE @locked_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);

    IF DATALENGTH(@only) > 400
        THROW 50097, N'Invalid @only: want at most 200 characters, not 201 or more.', 1;

    IF DATALENGTH(@job_version) > 40
        THROW 50097, N'Invalid @job_version: want at most 20 characters, not 21 or more.', 1;

    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    IF CHARINDEX(CAST(@new_job_execution_id AS NVARCHAR(36)), CAST(SESSION_CONTEXT(N'jobagent.made_ids') AS NVARCHAR(4000))) > 0
        SET @new_job_execution_id = NULL;

    SET @ignore_windows = COALESCE(@ignore_windows, 0);
    IF @ignore_windows = 1 AND COALESCE(IS_ROLEMEMBER(N'jobs_author'), 0) = 0 AND COALESCE(IS_ROLEMEMBER(N'db_owner'), 0) = 0
        THROW 50146, N'Only members of the role jobs_author may start a run that ignores the windows of databases (@ignore_windows).', 1;

    INSERT INTO @known (state)
    VALUES (N'Failed'), (N'TimedOut'), (N'Canceled'), (N'Skipped'), (N'Unknown'), (N'Succeeded');
    INSERT INTO @given (text)
    SELECT LTRIM(RTRIM(p.value))
    FROM STRING_SPLIT(COALESCE(@only, N'Failed,TimedOut,Canceled,Skipped,Unknown'), N',') AS p;
    SELECT TOP (1) @wrong = g.text
    FROM @given AS g
    WHERE NOT EXISTS (SELECT 1 FROM @known AS n WHERE n.state = g.text COLLATE Latin1_General_100_CI_AS);
    IF @wrong IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid state ''', @wrong, N''' in @only ''', @only,
            N''': want one or more of Failed, TimedOut, Canceled, Skipped, Unknown and Succeeded, separated by commas.'
        ), N'%', N'%%');
        THROW 50031, @message, 1;
    END;
    INSERT INTO @wanted (state)
    SELECT n.state
    FROM @known AS n
    WHERE EXISTS (SELECT 1 FROM @given AS g WHERE g.text COLLATE Latin1_General_100_CI_AS = n.state);
    SET @only = (SELECT STRING_AGG(w.state, N',') WITHIN GROUP (ORDER BY w.state) FROM @wanted AS w); -- normalised

    EXECUTE jobs_internal.check_not_paused @job_execution_id = @new_job_execution_id;
    -- Targets of a run that has ended do not change. So they are read before the transaction: to read 500,000 takes seconds, in which
    -- the transaction would hold the job. Chosen databases are looked up below, when they have been checked.
    SELECT
        @read_id = CASE WHEN e.is_active = 0 THEN e.execution_id END,
        @read_lifecycle = e.lifecycle,
        @is_limited = CASE WHEN @only_targets IS NOT NULL OR e.only_targets IS NOT NULL THEN 1 ELSE 0 END
    FROM jobs_internal.visible_runs AS e
    WHERE e.job_execution_id = @job_execution_id
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS n WHERE n.job_execution_id = @new_job_execution_id);
    -- Plan: per step a range of IX_target_executions_execution_id, in the order of the rows, with a lookup each.
    INSERT INTO @ended (step_id, state, is_target)
    SELECT DISTINCT s.step_id, CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END, 1
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = s.execution_id AND t.step_execution_id = s.step_execution_id
    WHERE s.execution_id = @read_id
        AND (@is_limited = 0 OR t.is_endpoint = 1); -- actions without a target group run anyway

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent @job_execution_id = @new_job_execution_id;
    SELECT @job_id = j.job_id
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id;
    -- current_version is in no index, so that the lock is on the clustered key.
    SELECT
        @current_version = j.current_version,
        @job_name = j.name
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.job_id = @job_id
        AND j.deleted_at IS NULL;
    IF @@ROWCOUNT = 1
        SELECT
            @origin_id = e.execution_id,
            @origin_version = e.job_version,
            @mode = e.mode,
            @mode_options = e.mode_options,
            @is_active = e.is_active,
            @lifecycle = e.lifecycle,
            @origin_partial = COALESCE(e.rerun_partial, 0),
            @payload_id = e.payload_id,
            @origin_targets = e.only_targets,
            @upstream_runs = e.upstream_runs
        FROM jobs_internal.visible_runs AS e
        WHERE e.job_execution_id = @job_execution_id;
    IF @origin_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    IF @new_job_execution_id IS NOT NULL
    BEGIN
        -- Calls for one job follow each other, because each holds the job. If a call for another job has added the id and not committed,
        -- the insert below waits for it, and fails (2627). A lock on the id would be one on a range of random ids, and passes insert there.
        SELECT
            @other_job = e.job_id,
            @other_origin = e.rerun_of,
            @other_only = e.rerun_only,
            @other_version = e.job_version,
            @other_targets = e.only_targets,
            @other_ignores = COALESCE(e.ignore_windows, 0)
        FROM jobs_internal.job_executions AS e
        WHERE e.job_execution_id = @new_job_execution_id;
        IF @other_job = @job_id AND @other_origin = @origin_id
        BEGIN
            IF @only_targets IS NOT NULL
                EXECUTE jobs_internal.check_only_targets
                    @job_id = @job_id,
                    @version = @other_version,
                    @only_targets = @only_targets,
                    @is_repeated = 1,
                    @complete = @only_targets OUTPUT,
                    @count = @chosen OUTPUT;
            SET @only_targets = COALESCE(@only_targets, @origin_targets);
            IF @other_only <> @only
                OR EXISTS (
                    SELECT o.target_id
                    FROM OPENJSON(@only_targets) WITH (target_id UNIQUEIDENTIFIER) AS o
                    EXCEPT
                    SELECT t.target_id
                    FROM OPENJSON(@other_targets) WITH (target_id UNIQUEIDENTIFIER) AS t
                )
                OR (SELECT COUNT(*) FROM OPENJSON(@only_targets) AS o) <> (SELECT COUNT(*) FROM OPENJSON(@other_targets) AS t)
            BEGIN
                SET @message = REPLACE(CONCAT(
                    N'The job execution id ', @new_job_execution_id,
                    N' belongs to an execution on other targets: its @only or @only_targets differ.',
                    N' Choose another id, or omit @new_job_execution_id.'
                ), N'%', N'%%');
                THROW 50163, @message, 1;
            END;
            IF @other_ignores <> @ignore_windows
            BEGIN
                SET @message = REPLACE(CONCAT(
                    N'The job execution id ', @new_job_execution_id,
                    N' belongs to an execution with other options: its @ignore_windows differs.',
                    N' Choose another id, or omit @new_job_execution_id.'
                ), N'%', N'%%');
                THROW 50197, @message, 1;
            END;
            IF @other_version = CASE
                WHEN @job_version IS NULL THEN @origin_version
                WHEN @job_version COLLATE Latin1_General_100_CI_AS <> N'current' THEN TRY_CAST(@job_version AS INT)
                WHEN @other_version >= @origin_version THEN @other_version
            END
            BEGIN
                COMMIT TRANSACTION;
                RETURN 0;
            END;
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @new_job_execution_id, N' belongs to an execution with version ', @other_version,
                N' of the job. Choose another id, or omit @new_job_execution_id.'
            ), N'%', N'%%');
            THROW 50140, @message, 1;
        END;
        IF @other_job = @job_id
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @new_job_execution_id, N' belongs to an execution that is not a rerun of ', @job_execution_id,
                N'. Choose another id, or omit @new_job_execution_id.'
            ), N'%', N'%%');
            THROW 50116, @message, 1;
        END;
        IF @other_job IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @new_job_execution_id,
                N' belongs to an execution of another job. Choose another id, or omit @new_job_execution_id.'
            ), N'%', N'%%');
            THROW 50112, @message, 1;
        END;
    END;

    IF @is_active = 1 OR @read_id IS NULL -- it has just ended
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' is still active (', COALESCE(@read_lifecycle, @lifecycle),
            N'). Wait until it ends, or stop it with jobs.sp_stop_job, first.'
        ), N'%', N'%%');
        THROW 50114, @message, 1;
    END;

    -- The targets of a roll-out's own run are Skipped, or it ended before a pass had seen it: a rerun would run on all of them at once.
    IF EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS r WHERE r.execution_id = @read_id)
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = e.rollout_of
            WHERE e.execution_id = @read_id
                AND r.ended_at IS NULL
        )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' is a roll-out, or a wave of an active one, so it is not run again as a whole.',
            N' Retry its wave with jobs.sp_retry_rollout_wave, or start a new roll-out.'
        ), N'%', N'%%');
        THROW 50199, @message, 1;
    END;

    SET @version = CASE
        WHEN @job_version IS NULL THEN @origin_version
        WHEN @job_version COLLATE Latin1_General_100_CI_AS = N'current' THEN @current_version
        ELSE TRY_CAST(@job_version AS INT)
    END;
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.job_versions AS v WHERE v.job_id = @job_id AND v.version = @version)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @job_version ''', @job_version, N''': want Current, or the number of a version of the job ''', @job_name,
            N''', whose current version is ', @current_version, N'.'
        ), N'%', N'%%');
        THROW 50139, @message, 1;
    END;
    IF @version <> @origin_version
    BEGIN
        -- Plan: two ranges of PK_job_steps and PK_job_step_dependencies, as many rows as the job has steps.
        WITH shapes AS (
            SELECT
                d.version, d.step_id, d.step_name, c.command_type, d.target_group_id, d.has_after, d.run_when, d.on_targets,
                (
                    SELECT STRING_AGG(CAST(a.after_step_id AS NVARCHAR(MAX)), N',') WITHIN GROUP (ORDER BY a.after_step_id)
                    FROM jobs_internal.job_step_dependencies AS a
                    WHERE a.job_id = d.job_id
                        AND a.version = d.version
                        AND a.step_id = d.step_id
                ) AS after
            FROM jobs_internal.job_steps AS d
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
            WHERE d.job_id = @job_id
                AND d.version IN (@origin_version, @version)
        )
        SELECT @step_id = MIN(x.step_id)
        FROM shapes AS x
        WHERE NOT EXISTS (
            SELECT 1
            FROM shapes AS y
            WHERE y.version <> x.version
                AND y.step_id = x.step_id
                AND y.step_name = x.step_name
                AND y.command_type = x.command_type
                AND y.target_group_id = x.target_group_id
                AND y.has_after = x.has_after
                AND y.run_when = x.run_when
                AND y.on_targets = x.on_targets
                AND COALESCE(y.after, N'') = COALESCE(x.after, N'')
        );
        IF @step_id IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'Version ', @version, N' of the job ''', @job_name, N''' has other steps than version ', @origin_version,
                N', which the job execution ', @job_execution_id, N' ran: step ', @step_id,
                N' was added, deleted, moved or renamed, or its type, target group or dependencies changed. ',
                N'Rerun without @job_version, or start the job with jobs.sp_start_job.'
            ), N'%', N'%%');
            THROW 50138, @message, 1;
        END;
    END;

    IF @only_targets IS NOT NULL
        EXECUTE jobs_internal.check_only_targets
            @job_id = @job_id,
            @version = @version,
            @only_targets = @only_targets,
            @origin_id = @origin_id,
            @only = @only,
            @complete = @only_targets OUTPUT,
            @count = @chosen OUTPUT;
    SET @only_targets = COALESCE(@only_targets, @origin_targets);
    IF @only_targets IS NOT NULL
        INSERT INTO @chosen_targets (target_id)
        SELECT o.target_id
        FROM OPENJSON(@only_targets) WITH (target_id UNIQUEIDENTIFIER) AS o;

    -- reads: the attempts to resolve the target groups of one run
    WITH unknown_resolutions AS (
        SELECT k.step_execution_id, k.attempt
        FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = @origin_id
            AND k.target_execution_id IS NULL -- otherwise all attempts of the run are looked up
            AND k.kind = N'Resolve'
            AND k.outcome = N'Unknown'
    ),
    states AS (
        -- Plan: per step and chosen database, at most 5,000, one key of UQ_target_executions_target_id with a lookup.
        SELECT
            s.step_id,
            CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END AS state,
            1 AS is_target
        FROM jobs_internal.step_executions AS s
        CROSS JOIN @chosen_targets AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id AND t.target_id = c.target_id
        WHERE s.execution_id = @origin_id
        UNION ALL
        SELECT
            s.step_id,
            CASE WHEN s.lifecycle = N'Failed' AND v.step_execution_id IS NOT NULL THEN N'Unknown' ELSE s.lifecycle END,
            0
        FROM jobs_internal.step_executions AS s
        LEFT JOIN unknown_resolutions AS v ON v.step_execution_id = s.step_execution_id AND v.attempt = s.attempts
        WHERE s.execution_id = @origin_id
            AND s.resolved_at IS NULL
    )
    INSERT INTO @ended (step_id, state, is_target)
    SELECT DISTINCT a.step_id, a.state, a.is_target
    FROM states AS a
    WHERE NOT EXISTS (
        SELECT 1
        FROM @ended AS x
        WHERE x.step_id = a.step_id
            AND x.state = a.state
            AND x.is_target = a.is_target
    );

    SET @between_steps = CASE
        WHEN @lifecycle = N'Canceled' AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @origin_id
                AND s.lifecycle = N'Canceled'
        ) THEN 1
        ELSE 0
    END;
    -- Excluded failures prevent the steps that were not reached from running.
    SET @partial = CASE
        WHEN @origin_partial = 1 THEN 1
        WHEN @between_steps = 1 AND NOT EXISTS (SELECT 1 FROM @wanted AS w WHERE w.state = N'Canceled') THEN 1
        WHEN EXISTS (
            SELECT 1
            FROM @ended AS x
            WHERE x.state IN (N'Failed', N'TimedOut', N'Canceled', N'Unknown')
                AND x.state NOT IN (SELECT w.state FROM @wanted AS w)
                AND NOT EXISTS ( -- tolerated failures did not prevent any
                    SELECT 1
                    FROM jobs_internal.step_executions AS s
                    WHERE s.execution_id = @origin_id
                        AND s.step_id = x.step_id
                        AND s.tolerated IS NOT NULL
                )
        ) THEN 1
        ELSE 0
    END;

    -- A step that a rerun skipped as a whole is run only by reruns of the first run.
    IF NOT EXISTS (
        SELECT 1
        FROM @ended AS x
        INNER JOIN @wanted AS w ON w.state = x.state
        WHERE x.is_target = 1
            OR x.state <> N'Skipped'
    )
        AND (@between_steps = 0 OR @partial = 1)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Nothing to run again: in the job execution ', @job_execution_id, N', which ended as ', @lifecycle, N', nothing ended as ',
            REPLACE(@only, N',', N' or '),
            N'. Start the job with jobs.sp_start_job to run it on all its targets.'
        ), N'%', N'%%');
        THROW 50115, @message, 1;
    END;

    INSERT INTO @to_resolve (step_id)
    SELECT d.step_id
    FROM jobs_internal.job_steps AS d
    WHERE d.job_id = @job_id
        AND d.version = @version
        AND (
            (@partial = 0 AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = @origin_id
                    AND s.step_id = d.step_id
            ))
            OR EXISTS (
                SELECT 1
                FROM @ended AS x
                INNER JOIN @wanted AS w ON w.state = x.state
                WHERE x.step_id = d.step_id
                    AND x.is_target = 0
                    AND x.state <> N'Skipped'
            )
            -- Its condition may hold in the rerun.
            OR EXISTS (
                SELECT 1
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = @origin_id
                    AND s.step_id = d.step_id
                    AND s.skipped_by_condition = 1
            )
        )
        AND d.on_targets = N'All';
    -- Only groups used by current versions or active runs are protected from deletion; the locks protect them until
    -- this run exists. They are taken in the order of the keys; created_at is in no index, so they are on the
    -- clustered keys.
    INSERT INTO @groups (target_group_id)
    SELECT DISTINCT d.target_group_id
    FROM @to_resolve AS r
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = @job_id AND d.version = @version AND d.step_id = r.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE c.command_type <> N'Upkeep'; -- which has no group
    INSERT INTO @locked_groups (target_group_id, created_at)
    SELECT g.target_group_id, g.created_at
    FROM @groups AS w
    INNER LOOP JOIN jobs_internal.target_groups AS g WITH (UPDLOCK, ROWLOCK) ON g.target_group_id = w.target_group_id;
    SELECT TOP (1)
        @step_id = d.step_id,
        @group_name = d.target_group_name
    FROM @to_resolve AS r
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = @job_id AND d.version = @version AND d.step_id = r.step_id
    LEFT JOIN @locked_groups AS l ON l.target_group_id = d.target_group_id
    WHERE d.target_group_id <> '00000000-0000-0000-0000-000000000000' -- of upkeep, and of actions without a group
        AND l.target_group_id IS NULL
    ORDER BY d.step_id;
    IF @group_name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Step ', @step_id, N' of version ', @version, N' needs the target group ''', @group_name,
            N''', which was deleted. Start the job''s current version with jobs.sp_start_job instead.'
        ), N'%', N'%%');
        THROW 50117, @message, 1;
    END;

    -- Stored again, so that they are not deleted together with an origin that is purged meanwhile.
    IF @payload_id IS NOT NULL
    BEGIN
        SELECT @parameters = p.text
        FROM jobs_internal.payloads AS p
        WHERE p.payload_id = @payload_id;
        EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;
    END;

    -- A purge that comes later finds the rerun, and keeps what the rerun needs (jobs_internal.deletable_runs); an earlier one is seen
    -- below. Where its upstream jobs succeeded is read from their runs. The locks come after that on the parameters, as in
    -- jobs_internal.stop_rest_runs. allow_overlap is in no index, so that they are on the clustered keys.
    INSERT INTO @needed_runs (execution_id)
    SELECT @origin_id
    UNION
    SELECT ABS(CAST(u.value AS BIGINT))
    FROM STRING_SPLIT(@upstream_runs, N',') AS u
    WHERE EXISTS (SELECT 1 FROM @to_resolve AS r);
    INSERT INTO @locked_runs (execution_id, allow_overlap)
    SELECT e.execution_id, e.allow_overlap
    FROM @needed_runs AS w
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, ROWLOCK) ON e.execution_id = w.execution_id;
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.visible_runs AS e WHERE e.execution_id = @origin_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;
    IF EXISTS (
        SELECT 1
        FROM @needed_runs AS w
        LEFT JOIN jobs_internal.visible_runs AS v ON v.execution_id = w.execution_id
        WHERE v.execution_id IS NULL
    )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' ran on the databases on which its upstream jobs succeeded, ',
            N'and their executions were purged. Start the job with jobs.sp_start_job instead.'
        ), N'%', N'%%');
        THROW 50483, @message, 1;
    END;

    EXECUTE jobs_internal.make_execution_id @job_execution_id = @new_job_execution_id OUTPUT;
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, rerun_of, rerun_only,
        rerun_partial, payload_id, traceparent, only_targets, mode, mode_options, ignore_windows, upstream_runs,
        last_message
    )
    VALUES (
        @new_job_execution_id, @job_id, @version, N'Created', 1, @now, @by, @origin_id, @only,
        @partial, @payload_id, CAST(SESSION_CONTEXT(N'jobagent.traceparent') AS NVARCHAR(55)), @only_targets,
        @mode, @mode_options, -- a trial is not followed by the real run
        NULLIF(@ignore_windows, 0),
        @upstream_runs,
        CONCAT(
            N'Job execution created: a rerun of ', @job_execution_id,
            N' on ' + CAST(@chosen AS NVARCHAR(12)) + N' chosen database' + CASE WHEN @chosen = 1 THEN N'' ELSE N's' END,
            CASE WHEN @version <> @origin_version THEN CONCAT(N' with version ', @version, N' instead of ', @origin_version) END,
            CASE WHEN @ignore_windows = 1 THEN N' without regard to windows' END, N'.'
        )
    );

    SET @audit_after = CONCAT(
        N'{"job_version":', @version, N',"rerun_of":"', @job_execution_id, N'","only":"', STRING_ESCAPE(@only, 'json'), N'"',
        N',"only_targets":' + @only_targets, CASE WHEN @ignore_windows = 1 THEN N',"ignore_windows":true' END, N'}'
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_rerun_job_execution',
        @object_kind = N'JobExecution',
        @object_id = @new_job_execution_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
