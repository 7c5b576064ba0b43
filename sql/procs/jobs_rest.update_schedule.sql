-- Changes a schedule of the SAP surface (E11, S-17). A change of its text or its switch restarts it; so does the value of its
-- mode, even the same, and the activation of a one-time schedule that has run: then times that are relative to now are computed
-- anew. Its run of which no attempt was claimed is canceled, and made anew with the new values, unless the schedule is computed anew or
-- switched off.
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  The schedule's id.
--   @changes   JSON object: mode (must be that of the schedule), spec with start_at and end_at, restart (true: the value of the mode was
--              given), description, active, data (empty: none). What is absent stays.
--   @by        Who does it; cut to 128 characters.
--   @request   See jobs_internal.begin_rest_request.
--   @note      Text of the entry in the action log.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U), the schedule (U, X), the stored parameters (S), the targets of runs of the schedule that have
--            not begun (U), skipping locked rows, and these runs (X).
-- Returns:   one row: result (JSON object: job, schedules), replayed, answer.
-- Throws:
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50173 the job has no such schedule.
--   50181 the mode is not that of the schedule.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.update_schedule
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule UNIQUEIDENTIFIER,
    @changes  NVARCHAR(MAX),
    @by       NVARCHAR(MAX) = NULL,
    @request  BINARY(32) = NULL,
    @note     NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @replayed BIT, @result NVARCHAR(MAX), @answer NVARCHAR(MAX);
    DECLARE @mode NVARCHAR(20), @spec NVARCHAR(MAX), @start_at DATETIME2(7), @end_at DATETIME2(7), @restart BIT, @active BIT;
    DECLARE @description NVARCHAR(MAX), @data NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @before NVARCHAR(MAX);
    DECLARE @schedule_id BIGINT;
    DECLARE @payload_id BIGINT;
    DECLARE @old_mode NVARCHAR(20), @was BIT, @state NVARCHAR(20), @enabled BIT;
    DECLARE @log NVARCHAR(40);
    DECLARE @cause NVARCHAR(20);
    DECLARE @early NVARCHAR(MAX); -- the runs of which no attempt was claimed, with commas between them; NULL: none
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @targets TABLE (
        execution_id        BIGINT NOT NULL,
        target_execution_id BIGINT NOT NULL,
        PRIMARY KEY (execution_id, target_execution_id)
    );
    DECLARE @locked TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY, attempts INT NOT NULL);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @changes IS NULL OR ISJSON(@changes) = 0
        THROW 50090, N'Invalid @changes: want a JSON object.', 1;
    SELECT
        @mode = g.mode,
        @spec = g.spec,
        @start_at = g.start_at,
        @end_at = g.end_at,
        @restart = COALESCE(g.restart, 0),
        @description = g.description,
        @active = g.active,
        @data = g.data
    FROM OPENJSON(@changes) WITH (
        mode        NVARCHAR(20),
        spec        NVARCHAR(MAX),
        start_at    DATETIME2(7),
        end_at      DATETIME2(7),
        restart     BIT,
        description NVARCHAR(MAX),
        active      BIT,
        data        NVARCHAR(MAX)
    ) AS g;
    IF @spec IS NOT NULL AND ISJSON(@spec) = 0
        THROW 50090, N'Invalid text of a schedule: want a JSON object.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 1
    BEGIN
        COMMIT TRANSACTION;
        SELECT @result AS result, @replayed AS replayed, @answer AS answer;
        RETURN 0;
    END;

    EXECUTE jobs_internal.lock_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT, @state = @before OUTPUT;
    EXECUTE jobs_internal.find_rest_schedule @job_id = @job_id, @schedule = @schedule, @schedule_id = @schedule_id OUTPUT;
    EXECUTE jobs_internal.store_rest_data @data = @data, @payload_id = @payload_id OUTPUT;
    EXECUTE jobs_internal.read_rest_switches @job = @job;
    SET @state = (SELECT s.state FROM jobs_internal.schedules AS s WHERE s.schedule_id = @schedule_id);
    SELECT
        @old_mode = x.mode,
        @was = x.active
    FROM jobs_internal.rest_schedules AS x
    WHERE x.schedule_id = @schedule_id;
    IF @mode <> @old_mode
        THROW 50181, N'Changing the scheduling mode is not supported', 1;
    IF @active = 1 AND @state = N'Completed' AND @old_mode = N'time'
        SET @restart = 1;

    UPDATE x
    SET x.spec = COALESCE(@spec, x.spec),
        x.start_at = CASE WHEN @spec IS NULL THEN x.start_at ELSE @start_at END,
        x.end_at = CASE WHEN @spec IS NULL THEN x.end_at ELSE @end_at END,
        x.description = CASE WHEN @description IS NULL THEN x.description ELSE NULLIF(@description, N'') END,
        x.active = COALESCE(@active, x.active)
    FROM jobs_internal.rest_schedules AS x
    WHERE x.schedule_id = @schedule_id;
    SELECT @enabled = w.enabled
    FROM jobs_internal.rest_schedule_settings AS w
    WHERE w.rest_job_id = @job
        AND w.schedule_id = @schedule_id;
    UPDATE s
    SET s.payload_id = CASE WHEN @data IS NULL THEN s.payload_id ELSE @payload_id END,
        s.updated_at = @now
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id;

    IF @restart = 1
        OR @spec IS NOT NULL
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS s
            WHERE s.schedule_id = @schedule_id
                AND s.enabled <> @enabled
                AND @active IS NOT NULL
        )
        OR (@active = 1 AND @state IN (N'Completed', N'Faulted'))
    BEGIN
        UPDATE s
        SET s.enabled = @enabled,
            s.spec = w.spec,
            s.next_due_at = NULL,
            s.next_fire_at = NULL,
            -- An instant has one run, so "now" is after the instants that were handled in this second.
            s.defined_at = CASE
                WHEN @restart = 0 THEN s.defined_at
                WHEN DATEADD(SECOND, 1, s.last_due_at) > @now THEN DATEADD(SECOND, 1, s.last_due_at)
                ELSE @now
            END,
            s.counted_from = CASE WHEN @restart = 1 THEN s.executions ELSE s.counted_from END,
            s.last_due_at = CASE WHEN @restart = 1 THEN NULL ELSE s.last_due_at END
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.rest_schedule_settings AS w ON w.schedule_id = s.schedule_id
        WHERE s.schedule_id = @schedule_id;
        SET @cause = CASE WHEN @enabled = 1 THEN N'Changed' ELSE N'Disabled' END;
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = @cause, @now = @now;
    END;

    -- A run of which no agent has claimed an attempt (it may wait for a limit of its endpoint) is canceled below, and made anew with the
    -- next firing. Its targets are locked before, so that no claim comes between this check and the commit: then the request would be sent
    -- twice. A run of which a target is locked is being claimed now. A run without targets gets none meanwhile, because a list is written
    -- under the job's lock only. attempts is in no index, so that the locks are on the clustered keys, where claims look for them.
    -- Plan: IX_job_executions_active_schedule_id, and per run a range of IX_target_executions_execution_id;
    -- IX_task_executions_execution_id has all columns.
    INSERT INTO @runs (execution_id)
    SELECT e.execution_id
    FROM jobs_internal.job_executions AS e
    WHERE e.schedule_id = @schedule_id
        AND e.is_active = 1
        AND e.schedule_id IS NOT NULL
        AND e.stop_requested_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = e.execution_id
                AND k.target_execution_id IS NOT NULL
        );
    -- reads: the endpoint of each run
    INSERT INTO @targets (execution_id, target_execution_id)
    SELECT t.execution_id, t.target_execution_id
    FROM @runs AS r
    INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = r.execution_id;
    INSERT INTO @locked (target_execution_id, attempts)
    SELECT t.target_execution_id, t.attempts
    FROM @targets AS w
    INNER LOOP JOIN jobs_internal.target_executions AS t WITH (UPDLOCK, READPAST, ROWLOCK) ON t.target_execution_id = w.target_execution_id;
    -- reads: the endpoint of each run
    SET @early = (
        SELECT STRING_AGG(CAST(r.execution_id AS NVARCHAR(MAX)), N',')
        FROM @runs AS r
        WHERE NOT EXISTS (
            SELECT 1
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = r.execution_id
                AND k.target_execution_id IS NOT NULL
        )
            AND NOT EXISTS (
                SELECT 1
                FROM @targets AS t
                WHERE t.execution_id = r.execution_id
                    AND NOT EXISTS (SELECT 1 FROM @locked AS l WHERE l.target_execution_id = t.target_execution_id)
            )
    );
    IF @early IS NOT NULL AND @restart = 0 AND @enabled = 1
        UPDATE s
        SET s.enabled = 1,
            s.state = N'Enabled',
            s.closed_at = NULL,
            s.next_due_at = @now,
            s.next_fire_at = @now,
            s.awaits_verdict = 0,
            s.revision = s.revision + 1
        FROM jobs_internal.schedules AS s
        WHERE s.schedule_id = @schedule_id
            AND s.paused = 0;

    SET @log = CASE WHEN @active <> @was AND @active = 1 THEN N'ACTIVATE' WHEN @active <> @was THEN N'DEACTIVATE' ELSE N'UPDATE' END;
    EXECUTE jobs_internal.log_rest_action
        @job = @job,
        @schedule = @schedule,
        @action = @log,
        @by = @by,
        @text = @note,
        @procedure = N'jobs_rest.update_schedule',
        @before = @before,
        @now = @now;
    SET @result = CONCAT(N'{"job":', @job, N',"schedules":["', CAST(@schedule AS NVARCHAR(36)), N'"]}');
    SET @early = N'[' + @early + N']';
    IF @early IS NOT NULL
        EXECUTE jobs_internal.stop_rest_runs @runs = @early, @by = @by, @now = @now;
    EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
