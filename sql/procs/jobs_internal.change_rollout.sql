-- Carries out what a person decides about a roll-out. Passes do the rest. A pause holds at once, because claims read the row of the
-- roll-out.
--
-- Parameters:
--   @job_execution_id  The roll-out: the id of its own run.
--   @action            Approve, Reject, Pause, Resume, Abort, Retry, Skip, Move, Extend or Deadline: see the public procedures.
--   @wave              Name of a wave; NULL: as the action says.
--   @text              A comment or a reason; NULL: none.
--   @target_id         Move: the target.
--   @seconds           Extend, Deadline: by how much, in the range that the caller has checked.
-- Called by: jobs.sp_approve_rollout, jobs.sp_reject_rollout, jobs.sp_pause_rollout, jobs.sp_resume_rollout, jobs.sp_abort_rollout,
--            jobs.sp_retry_rollout_wave, jobs.sp_skip_rollout_wave, jobs.sp_move_rollout_target, jobs.sp_extend_rollout_bake,
--            jobs.sp_extend_rollout_deadline.
-- Locks:     the roll-out (U, X), its waves and targets (X); Abort: its own run (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50097 a text is longer than its limit.
--   50111 the job execution does not exist.
--   50188 the state of the roll-out does not permit it.
--   50191 the roll-out has no such wave or target.
--   50410 the job execution is not a roll-out.
CREATE OR ALTER PROCEDURE jobs_internal.change_rollout
    @job_execution_id UNIQUEIDENTIFIER,
    @action           NVARCHAR(10),
    @wave             NVARCHAR(129) = NULL,
    @text             NVARCHAR(1001) = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL,
    @seconds          INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @execution_id BIGINT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @started_by NVARCHAR(128);
    DECLARE @is_rollout BIT;
    DECLARE @state NVARCHAR(10);
    DECLARE @current INT;
    DECLARE @number INT;
    DECLARE @waves INT;
    DECLARE @seed INT;
    DECLARE @paused_at DATETIME2(7);
    DECLARE @passed_in_pause BIT; -- 1: its deadline has, and it has not gone on since (jobs_internal.pass_deadline)
    DECLARE @deadline_at DATETIME2(7);
    DECLARE @approval NVARCHAR(10);
    DECLARE @approved_at DATETIME2(7);
    DECLARE @wave_state NVARCHAR(10);
    DECLARE @from_wave INT;
    DECLARE @from_ran BIT; -- 1: the roll-out ran on the target
    DECLARE @was_left_out INT = 0; -- 1: the target, by the preflight of its wave
    DECLARE @place INT;
    DECLARE @goes_on BIT; -- 1: the action ends what a failed gate has stopped
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @audit_action NVARCHAR(128) = CASE @action
        WHEN N'Approve' THEN N'sp_approve_rollout'
        WHEN N'Reject' THEN N'sp_reject_rollout'
        WHEN N'Pause' THEN N'sp_pause_rollout'
        WHEN N'Resume' THEN N'sp_resume_rollout'
        WHEN N'Abort' THEN N'sp_abort_rollout'
        WHEN N'Retry' THEN N'sp_retry_rollout_wave'
        WHEN N'Skip' THEN N'sp_skip_rollout_wave'
        WHEN N'Move' THEN N'sp_move_rollout_target'
        WHEN N'Deadline' THEN N'sp_extend_rollout_deadline'
        ELSE N'sp_extend_rollout_bake'
    END;
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@wave) > 256
        THROW 50097, N'Invalid @wave: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@text) > 2000 AND @action = N'Approve'
        THROW 50097, N'Invalid @comment: want at most 1000 characters, not 1001 or more.', 1;
    IF DATALENGTH(@text) > 2000
        THROW 50097, N'Invalid @reason: want at most 1000 characters, not 1001 or more.', 1;
    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    SELECT
        @execution_id = e.execution_id,
        @job_id = j.job_id,
        @job_name = j.name,
        @started_by = e.started_by,
        @is_rollout = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS r WHERE r.execution_id = e.execution_id) THEN e.is_active
            ELSE 0
        END
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

    BEGIN TRANSACTION;

    -- seed is in no index, so that the lock is on the clustered key.
    SELECT @seed = r.seed
    FROM jobs_internal.rollouts AS r WITH (UPDLOCK, ROWLOCK)
    WHERE r.execution_id = @execution_id;
    IF @@ROWCOUNT = 0 AND @is_rollout = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' is not a roll-out. The view jobs.rollouts lists all roll-outs.'
        ), N'%', N'%%');
        THROW 50410, @message, 1;
    END;
    SELECT
        @state = r.state,
        @current = r.wave,
        @paused_at = r.paused_at,
        @deadline_at = r.deadline_at,
        @passed_in_pause = CASE
            WHEN r.paused_at IS NOT NULL
                AND (r.paused_by = N'(deadline)' OR r.pause_reason LIKE N'%The deadline %Z of the plan has passed.') THEN 1
            ELSE 0
        END
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    SET @waves = (SELECT COUNT(*) FROM jobs_internal.rollout_waves AS w WHERE w.execution_id = @execution_id);
    SET @number = CASE
        WHEN @wave IS NOT NULL THEN (
            -- Names that differ for the plan may be equal by the collation of the database.
            SELECT TOP (1) w.wave
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.name = @wave
            ORDER BY CASE WHEN w.name = @wave COLLATE Latin1_General_100_BIN2 THEN 0 ELSE 1 END, w.wave
        )
        WHEN @action = N'Move' THEN @waves
        WHEN @action = N'Skip' AND @state NOT IN (N'Starting', N'Stopped') THEN @current + 1
        ELSE @current
    END;
    SELECT
        @wave_state = w.state,
        @approval = w.approval,
        @approved_at = w.approved_at
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @number;
    IF @action = N'Move'
        SELECT
            @from_wave = t.wave,
            @from_ran = t.ran,
            @was_left_out = CASE WHEN t.state = N'LeftOut' THEN 1 ELSE 0 END
        FROM jobs_internal.rollout_targets AS t
        WHERE t.execution_id = @execution_id
            AND t.target_id = @target_id;
    IF (@wave IS NOT NULL AND @number IS NULL) OR (@action = N'Move' AND @from_wave IS NULL)
    BEGIN
        SET @message = REPLACE(CASE
            WHEN @wave IS NOT NULL AND @number IS NULL
                THEN CONCAT(
                    N'The roll-out ', @job_execution_id, N' has no wave ''', @wave, N'''. The view jobs.rollout_waves lists its waves.'
                )
            ELSE CONCAT(
                N'The roll-out ', @job_execution_id, N' has no target ', COALESCE(CAST(@target_id AS NVARCHAR(36)), N'(NULL)'),
                N'. The view jobs.rollout_targets lists its targets.'
            )
        END, N'%', N'%%');
        THROW 50191, @message, 1;
    END;

    SET @fault = CASE
        WHEN @state IN (N'Succeeded', N'Aborted', N'Failed') THEN CONCAT(N'it has ended as ', @state)
        WHEN @action = N'Abort' THEN NULL
        WHEN @state IS NULL THEN N'no agent has taken it up yet'
        WHEN @state = N'Aborting' THEN N'it is being aborted'
        WHEN @action IN (N'Approve', N'Reject')
            AND (@state <> N'Starting' OR @number <> @current OR @approval = N'none' OR @approved_at IS NOT NULL)
            THEN N'no wave of it, or another one, waits for an approval'
        WHEN @action = N'Approve' AND @approval = N'other' AND @by = COALESCE(@started_by, N'')
            THEN N'the plan wants another person to approve than the one who started it'
        WHEN @action = N'Pause' AND @paused_at IS NOT NULL THEN N'it is paused already'
        WHEN @action = N'Resume' AND @paused_at IS NULL AND @state = N'Stopped'
            THEN N'a gate has failed. Retry the wave (jobs.sp_retry_rollout_wave), or skip the rest of it (jobs.sp_skip_rollout_wave)'
        WHEN @action = N'Resume' AND @paused_at IS NULL THEN N'it is not paused'
        WHEN @action = N'Retry' AND @state <> N'Stopped' THEN N'no gate of it has failed'
        WHEN @action = N'Skip' AND @wave_state IS NULL THEN N'it has no such wave'
        WHEN @action = N'Skip' AND NOT (@wave_state = N'Pending' OR (@wave_state = N'Stopped' AND @state = N'Stopped'))
            THEN CONCAT(N'the wave is ', @wave_state, N': only one that has not started, or that a gate has stopped, is skipped')
        WHEN @action = N'Move' AND @state IN (N'Planning', N'Assigning') THEN N'its targets are being assigned'
        WHEN @action = N'Move' AND @wave_state <> N'Pending' THEN N'the wave has started'
        WHEN @action = N'Move' AND EXISTS (
            SELECT 1
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @from_wave
                AND w.state NOT IN (N'Pending', N'Skipped')
        ) THEN N'the wave of the target has started'
        -- In a wave that was skipped after a gate had failed. It would run twice.
        WHEN @action = N'Move' AND @from_ran = 1 THEN N'its script has begun on the target already'
        WHEN @action = N'Extend' AND (@state NOT IN (N'Baking', N'Probing') OR @wave_state <> N'Baking') THEN N'it does not bake'
        -- pass_deadline removes a deadline that has passed.
        WHEN @action = N'Deadline' AND @deadline_at IS NULL AND @passed_in_pause = 0
            THEN N'it has no deadline, or its deadline has passed and it went on'
    END;
    SET @goes_on = CASE
        WHEN @state = N'Stopped' AND (@action = N'Retry' OR (@action = N'Skip' AND @number = @current)) THEN 1
        ELSE 0
    END;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The roll-out ', @job_execution_id, N' cannot do this now: ', @fault, N'.'), N'%', N'%%');
        THROW 50188, @message, 1;
    END;

    IF @action = N'Approve'
        UPDATE w
        SET w.approved_at = @now,
            w.approved_by = @by,
            w.approval_comment = @text
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @number
            AND w.approved_at IS NULL;
    IF @action = N'Skip'
        UPDATE w
        SET w.state = N'Skipped',
            w.ended_at = @now
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @number;
    IF @action = N'Extend'
        UPDATE w
        SET w.bake_until = DATEADD(SECOND, @seconds, CASE WHEN w.bake_until > @now THEN w.bake_until ELSE @now END),
            w.probe_at = COALESCE(w.probe_at, DATEADD(SECOND, w.probe_every_seconds, @now))
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @number;
    IF @action = N'Move' AND @from_wave <> @number
    BEGIN
        SET @place = 1 + (
            SELECT COALESCE(MAX(t.place), 0)
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
                AND t.wave = @number
        );
        UPDATE t
        SET t.wave = @number,
            t.place = @place,
            t.state = N'Pending',
            t.preflight = NULL
        FROM jobs_internal.rollout_targets AS t
        WHERE t.execution_id = @execution_id
            AND t.target_id = @target_id;
        UPDATE w
        SET w.targets = w.targets + CASE WHEN w.wave = @number THEN 1 ELSE -1 END,
            w.left_out = w.left_out - CASE WHEN w.wave = @from_wave THEN @was_left_out ELSE 0 END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave IN (@number, @from_wave);
        -- The percentages of the plan are those of the targets that the waves have.
        UPDATE w
        SET w.max_failed = CASE
                WHEN w.max_failed_percent IS NULL THEN w.max_failed
                ELSE w.max_failed_percent * (w.targets - w.left_out) / 100
            END,
            w.max_unreached = CASE
                WHEN w.max_unreached_percent IS NULL THEN w.max_unreached
                ELSE w.max_unreached_percent * (w.targets - w.left_out) / 100
            END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave IN (@number, @from_wave);
    END;

    -- Starting again reruns the latest run of the wave, so a later wave that is skipped leaves a stopped one as it is.
    UPDATE r
    SET r.state = CASE WHEN @goes_on = 1 THEN N'Starting' ELSE r.state END,
        r.next_check_at = @now,
        r.deadline_at = CASE
            WHEN @action <> N'Deadline' THEN r.deadline_at
            ELSE DATEADD(SECOND, @seconds, CASE WHEN r.deadline_at > @now THEN r.deadline_at ELSE @now END)
        END,
        r.reason = CASE
            WHEN @goes_on = 1 THEN NULL
            WHEN @action = N'Abort' THEN CONCAT(N'Aborted by ', @by, N': ' + @text, N'.')
            ELSE r.reason
        END,
        r.paused_at = CASE WHEN @action IN (N'Pause', N'Reject') THEN @now WHEN @action = N'Resume' THEN NULL ELSE r.paused_at END,
        r.paused_by = CASE WHEN @action IN (N'Pause', N'Reject') THEN @by WHEN @action = N'Resume' THEN NULL ELSE r.paused_by END,
        r.pause_reason = CASE
            WHEN @action = N'Pause' THEN @text
            WHEN @action = N'Reject' THEN CONCAT(N'The wave ''', (
                SELECT w.name
                FROM jobs_internal.rollout_waves AS w
                WHERE w.execution_id = @execution_id
                    AND w.wave = @number
            ), N''' was not approved', N': ' + @text, N'.')
            WHEN @action = N'Resume' THEN NULL
            ELSE r.pause_reason
        END
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    IF @action = N'Abort'
        UPDATE e
        SET e.stop_requested_at = @now,
            e.stop_requested_by = @by,
            e.parked = 0
        FROM jobs_internal.job_executions AS e
        WHERE e.execution_id = @execution_id
            AND e.is_active = 1
            AND e.stop_requested_at IS NULL;

    SET @audit_after = CONCAT(
        N'{"decision":"', @action, N'"',
        N',"wave":"' + (
            SELECT STRING_ESCAPE(w.name, 'json')
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @number
        ) + N'"',
        N',"text":"' + STRING_ESCAPE(@text, 'json') + N'"',
        N',"target_id":"' + CAST(@target_id AS NVARCHAR(36)) + N'"',
        N',"seconds":' + CAST(@seconds AS NVARCHAR(12)), N'}'
    );
    EXECUTE jobs_internal.audit
        @action = @audit_action,
        @object_kind = N'JobExecution',
        @object_id = @job_execution_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
