-- Roll-outs: one row for each run of a version with a plan. The run itself resolves the targets, and runs nothing; the runs of the waves
-- refer to it (job_executions.rollout_of). It ends when the roll-out does. DESIGN.md, "Roll-outs".
--
-- Columns:
--   execution_id   The roll-out's own run.
--   job_id         Its job.
--   state          Planning (the run resolves its targets), Assigning (they are assigned to waves), Starting (the next wave starts when
--                  nothing holds it), Preflight (what its scripts need is checked before), Running, Recording (its run has ended, and its
--                  outcomes are counted), Baking, Probing (a probe runs), Stopped (a gate has failed), Aborting, or one of the final
--                  ones: Succeeded, Aborted, Failed.
--   wave           Number of the current wave; 0 before the first.
--   next_check_at  When a pass has to look at it; NULL: a person, or the end of a run, is waited for.
--   read_step, read_target  Assigning, Preflight, Recording: the last target that was read of the run, or of the run of the wave. While
--                      targets are compared with the tags of a wave: its negative number, and the last target that was compared.
--   targets        Number of its targets, once they are all copied.
--   paused_at, paused_by, pause_reason  Since when no target and no wave starts, and why; NULL: it is not paused.
--   reason         Why it is Stopped, Aborting, Aborted or Failed, in words; NULL: it is not.
--   seed, deadline_at, on_gate_failure, cancels_running, is_strict  Of the plan.
--   undo_job_id, undo_version  The compensating job of the plan, and its version when the roll-out started; NULL: none.
--   undo_of        Run of the roll-out that this one undoes; NULL: none.
--   undo_states    States of the targets that it undoes, separated by commas; NULL likewise.
--   preflight      What a target that fails its preflight does to its wave: none (there is no preflight), refuse (it does not start), warn
--                  (it starts) or leave_out (it starts without the target).
--   preflight_options  What the scripts need, as in job_executions.mode_options; NULL: the defaults.
--   window_check_at  When an agent has to evaluate the window of the current wave, at first or again; NULL: the wave has none, or does not
--                  wait for it.
--   window_open_until  Until when the last answer lets targets of the wave start; NULL: the window is closed, or nothing is known about it.
--   window_opens_at  When the window opens, by the last answer; NULL: it is open, or that is not known.
--   window_fault   Why the window could not be evaluated, in words; NULL: it was, or was not evaluated yet.
--   ended_at       When it became final.
CREATE TABLE jobs_internal.rollouts (
    execution_id    BIGINT NOT NULL,
    job_id          UNIQUEIDENTIFIER NOT NULL,
    state           NVARCHAR(10) NOT NULL,
    wave            INT NOT NULL CONSTRAINT DF_rollouts_wave DEFAULT 0,
    next_check_at   DATETIME2(7) NULL,
    read_step       BIGINT NOT NULL CONSTRAINT DF_rollouts_read_step DEFAULT 0,
    read_target     BIGINT NOT NULL CONSTRAINT DF_rollouts_read_target DEFAULT 0,
    targets         INT NULL,
    paused_at       DATETIME2(7) NULL,
    paused_by       NVARCHAR(128) NULL,
    pause_reason    NVARCHAR(2000) NULL,
    reason          NVARCHAR(2000) NULL,
    seed            INT NOT NULL,
    deadline_at     DATETIME2(7) NULL,
    on_gate_failure NVARCHAR(10) NOT NULL,
    cancels_running BIT NOT NULL,
    is_strict       BIT NOT NULL,
    undo_job_id     UNIQUEIDENTIFIER NULL,
    undo_version    INT NULL,
    undo_of         BIGINT NULL,
    undo_states     NVARCHAR(100) NULL,
    preflight       NVARCHAR(10) NOT NULL CONSTRAINT DF_rollouts_preflight DEFAULT N'none',
    preflight_options NVARCHAR(400) NULL,
    window_check_at DATETIME2(7) NULL,
    window_open_until DATETIME2(7) NULL,
    window_opens_at DATETIME2(7) NULL,
    window_fault    NVARCHAR(400) NULL,
    ended_at        DATETIME2(7) NULL,
    CONSTRAINT PK_rollouts PRIMARY KEY (execution_id),
    CONSTRAINT FK_rollouts_job_executions FOREIGN KEY (execution_id) REFERENCES jobs_internal.job_executions (execution_id),
    CONSTRAINT CK_rollouts_state CHECK (
        (ended_at IS NULL
            AND state IN (
                N'Planning', N'Assigning', N'Starting', N'Preflight', N'Running', N'Recording', N'Baking', N'Probing', N'Stopped',
                N'Aborting'
            ))
        OR (ended_at IS NOT NULL AND next_check_at IS NULL AND state IN (N'Succeeded', N'Aborted', N'Failed'))
    ),
    CONSTRAINT CK_rollouts_on_gate_failure CHECK (on_gate_failure IN (N'pause', N'abort')),
    CONSTRAINT CK_rollouts_preflight CHECK (preflight IN (N'none', N'refuse', N'warn', N'leave_out'))
);

CREATE INDEX IX_rollouts_next_check_at ON jobs_internal.rollouts (next_check_at)
    WHERE next_check_at IS NOT NULL;
CREATE INDEX IX_rollouts_window_check_at ON jobs_internal.rollouts (window_check_at)
    WHERE window_check_at IS NOT NULL;
CREATE INDEX IX_rollouts_job_id ON jobs_internal.rollouts (job_id, execution_id)
    INCLUDE (state, ended_at)
    WHERE ended_at IS NULL;
