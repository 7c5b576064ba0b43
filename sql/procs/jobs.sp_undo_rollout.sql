-- Undoes a roll-out that has ended: starts a roll-out of the compensating job of its plan (undo_job), of the version that was current when
-- the roll-out started, on the targets that it has changed, with its waves in reverse order. Returns at once.
--
-- Cost: (targets of the roll-out), which are read before the transaction, when nothing is locked yet.
--
-- Parameters:
--   @job_execution_id      The roll-out to undo: the id of its own run.
--   @only                  States of its targets to undo, separated by commas: Succeeded, Unknown (it is unknown whether the script ran),
--                          Failed, Unreached (canceled, or not brought to the last step). Targets on which nothing began are never undone.
--   @force                 1: also if a later roll-out of the job has changed some of the targets.
--   @hold                  1: the undo is paused when its targets are assigned to waves, so that one can look at them.
--   @new_job_execution_id  Receives the id of the undo. With a value: that id is used; if an undo of this roll-out has it already, nothing
--                          starts (decision 21). An id that an earlier call in the session has made is no value, as in jobs.sp_start_job.
-- Called by: members of the role jobs_operator.
-- Locks:     the compensating job's row (U), the roll-out's own run (U), then inserts into job_executions and rollouts; an insert into
--            audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50028 the job execution id is missing.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50111 the job execution does not exist.
--   50112 the new job execution id belongs to another execution.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50188 the roll-out has not ended.
--   50189 a roll-out of the compensating job is active.
--   50194 the plan has no compensating job, or that job no longer exists.
--   50195 the roll-out has changed nothing in these states.
--   50196 a later roll-out has changed some of the targets.
--   50410 the job execution is not a roll-out.
--   50416 a state in @only is invalid, or there is none.
CREATE OR ALTER PROCEDURE jobs.sp_undo_rollout
    @job_execution_id     UNIQUEIDENTIFIER,
    @only                 NVARCHAR(101) = N'Succeeded,Unknown',
    @force                BIT = 0,
    @hold                 BIT = 0,
    @new_job_execution_id UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @ended_at DATETIME2(7);
    DECLARE @undo_job_id UNIQUEIDENTIFIER;
    DECLARE @undo_version INT;
    DECLARE @undo_name NVARCHAR(128);
    DECLARE @locked_job_id UNIQUEIDENTIFIER;
    DECLARE @state NVARCHAR(10);
    DECLARE @states NVARCHAR(100);
    DECLARE @later INT;
    DECLARE @other BIGINT;
    DECLARE @undo_id BIGINT;
    DECLARE @seed INT;
    DECLARE @on_gate_failure NVARCHAR(10);
    DECLARE @cancels_running BIT;
    DECLARE @is_strict BIT;
    DECLARE @preflight NVARCHAR(10);
    DECLARE @preflight_options NVARCHAR(400);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @allow_overlap BIT;
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@only) > 200
        THROW 50097, N'Invalid @only: want at most 100 characters, not 101 or more.', 1;
    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    IF CHARINDEX(CAST(@new_job_execution_id AS NVARCHAR(36)), CAST(SESSION_CONTEXT(N'jobagent.made_ids') AS NVARCHAR(4000))) > 0
        SET @new_job_execution_id = NULL;
    SELECT
        @execution_id = e.execution_id,
        @job_id = e.job_id
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.rollouts lists all roll-outs.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;
    SELECT
        @state = r.state,
        @ended_at = r.ended_at,
        @undo_job_id = r.undo_job_id,
        @undo_version = r.undo_version,
        @seed = r.seed,
        @on_gate_failure = r.on_gate_failure,
        @cancels_running = r.cancels_running,
        @is_strict = r.is_strict,
        @preflight = r.preflight,
        @preflight_options = r.preflight_options
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    IF @state IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' is not a roll-out. The view jobs.rollouts lists all roll-outs.'
        ), N'%', N'%%');
        THROW 50410, @message, 1;
    END;
    IF @ended_at IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The roll-out ', @job_execution_id, N' has not ended. Let it end, or abort it with jobs.sp_abort_rollout.'
        ), N'%', N'%%');
        THROW 50188, @message, 1;
    END;
    SELECT @undo_name = j.name
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @undo_job_id
        AND j.deleted_at IS NULL;
    IF @undo_name IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The plan of the roll-out ', @job_execution_id, N' ',
            CASE WHEN @undo_job_id IS NULL THEN N'names no compensating job (undo_job).' ELSE N'names a job that no longer exists.' END
        ), N'%', N'%%');
        THROW 50194, @message, 1;
    END;

    -- In the form in which it is stored: each state once, without blanks.
    SET @states = (
        SELECT STRING_AGG(v.state, N',') WITHIN GROUP (ORDER BY v.state)
        FROM (VALUES (N'Succeeded'), (N'Unknown'), (N'Failed'), (N'Unreached')) AS v (state)
        WHERE v.state IN (SELECT LTRIM(RTRIM(p.value)) FROM STRING_SPLIT(@only, N',') AS p)
    );
    IF @states IS NULL
        OR EXISTS (
            SELECT 1
            FROM STRING_SPLIT(@only, N',') AS p
            WHERE LTRIM(RTRIM(p.value)) NOT IN (N'Succeeded', N'Unknown', N'Failed', N'Unreached')
        )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @only ''', @only, N''': want Succeeded, Unknown, Failed or Unreached, separated by commas.'
        ), N'%', N'%%');
        THROW 50416, @message, 1;
    END;
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.rollout_targets AS t
        WHERE t.execution_id = @execution_id
            AND t.wave > 0
            AND t.ran = 1
            AND t.state IN (SELECT p.value FROM STRING_SPLIT(@states, N',') AS p)
    )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The roll-out ', @job_execution_id, N' ran on no targets in these states (', @states, N'). Nothing was started.'
        ), N'%', N'%%');
        THROW 50195, @message, 1;
    END;
    -- A roll-out that has ended does not change. Plan: per target the keys of IX_rollout_targets_target_id after that of the roll-out.
    IF COALESCE(@force, 0) = 0
    BEGIN
        SELECT @later = COUNT(*)
        FROM jobs_internal.rollout_targets AS t
        WHERE t.execution_id = @execution_id
            AND t.wave > 0
            AND t.ran = 1
            AND t.state IN (SELECT p.value FROM STRING_SPLIT(@states, N',') AS p)
            AND EXISTS (
                SELECT 1
                FROM jobs_internal.rollout_targets AS l
                INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = l.execution_id
                WHERE l.target_id = t.target_id
                    AND l.execution_id > @execution_id
                    AND l.ran = 1
                    AND (r.job_id = @job_id OR r.undo_of = @execution_id)
            );
        IF @later > 0
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'A later roll-out of the job, or an undo of this one, has run on ', @later, N' of the targets of the roll-out ',
                @job_execution_id, N'. Undo the later one first, or use @force = 1.'
            ), N'%', N'%%');
            THROW 50196, @message, 1;
        END;
    END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @undo_name, @job_id = @locked_job_id OUTPUT, @job_execution_id = @new_job_execution_id;
    IF @new_job_execution_id IS NOT NULL
    BEGIN
        SELECT @other = e.execution_id
        FROM jobs_internal.job_executions AS e
        WHERE e.job_execution_id = @new_job_execution_id;
        IF @other IS NOT NULL
        BEGIN
            IF EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.execution_id = @other AND r.undo_of = @execution_id)
            BEGIN
                COMMIT TRANSACTION;
                RETURN 0;
            END;
            SET @message = REPLACE(CONCAT(
                N'The job execution id ', @new_job_execution_id,
                N' belongs to another execution. Choose another id, or omit @new_job_execution_id.'
            ), N'%', N'%%');
            THROW 50112, @message, 1;
        END;
    END;
    -- A purge that comes later finds the undo, and keeps the targets that it reads (jobs_internal.deletable_runs); an earlier one is seen
    -- below. allow_overlap is in no index, so that the lock is on the clustered key.
    SELECT @allow_overlap = e.allow_overlap
    FROM jobs_internal.job_executions AS e WITH (UPDLOCK, ROWLOCK)
    WHERE e.execution_id = @execution_id;
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.visible_runs AS e WHERE e.execution_id = @execution_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.rollouts lists all roll-outs.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;
    -- Also one that no pass has seen yet, which has no row in rollouts: the job may have a plan of its own.
    IF EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS r WHERE r.job_id = @locked_job_id AND r.is_active = 1)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A roll-out of the job ''', @undo_name, N''' is active. Let it end, or abort it with jobs.sp_abort_rollout.'
        ), N'%', N'%%');
        THROW 50189, @message, 1;
    END;

    EXECUTE jobs_internal.make_execution_id @job_execution_id = @new_job_execution_id OUTPUT;
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, traceparent, rollout_start, last_message
    )
    VALUES (
        @new_job_execution_id, @locked_job_id, @undo_version, N'Created', 1, @now, @by,
        CAST(SESSION_CONTEXT(N'jobagent.traceparent') AS NVARCHAR(55)), N'Undo',
        CONCAT(N'Job execution created to undo the roll-out ', @job_execution_id, N'.')
    );
    SET @undo_id = SCOPE_IDENTITY();
    -- The gates are those of the roll-out, and so is what happens when one of them fails.
    INSERT INTO jobs_internal.rollouts (
        execution_id, job_id, state, next_check_at, paused_at, paused_by, pause_reason, seed, on_gate_failure, cancels_running, is_strict,
        undo_of, undo_states, preflight, preflight_options
    )
    VALUES (
        @undo_id, @locked_job_id, N'Planning', @now,
        CASE WHEN @hold = 1 THEN @now END,
        CASE WHEN @hold = 1 THEN @by END,
        CASE WHEN @hold = 1 THEN N'It was started to be looked at (@hold).' END,
        @seed, @on_gate_failure, @cancels_running, @is_strict, @execution_id, @states,
        @preflight, @preflight_options
    );

    SET @audit_after = CONCAT(
        N'{"undo_of":"', @job_execution_id, N'","job_version":', @undo_version, N',"only":"', @states, N'"',
        CASE WHEN @force = 1 THEN N',"force":true' END, N'}'
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_undo_rollout',
        @object_kind = N'JobExecution',
        @object_id = @new_job_execution_id,
        @job_id = @locked_job_id,
        @job_name = @undo_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
