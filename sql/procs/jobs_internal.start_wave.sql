-- Starts a run of a wave: of the roll-out's job and version on the targets of the wave, or of its probe job, on the same targets. The
-- run of a wave that failed before repeats what did not succeed.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @is_probe      1: a run of the probe job, before the wave or during its bake. In the bake, the next probe is due after it; the last one
--                  has none.
--   @started       Output. 0: the probe job does not exist, or another session holds it.
-- Called by: jobs_internal.enter_wave, jobs_internal.start_probe.
-- Locks:     the probe job (S), skipping locked rows; the wave (X); an insert into job_executions and rollout_paces.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_wave
    @execution_id BIGINT,
    @wave         INT,
    @is_probe     BIT = 0,
    @started      BIT = 0 OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @run_id BIGINT;

    SET @started = 0;
    -- rows: one
    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, payload_id, traceparent,
        rerun_of, rerun_only, rerun_partial, rollout_of, rollout_wave, rollout_probe, last_message
    )
    SELECT
        NEWID(),
        CASE WHEN @is_probe = 1 THEN j.job_id ELSE e.job_id END,
        CASE WHEN @is_probe = 1 THEN j.current_version ELSE e.job_version END,
        N'Created', 1, @now, e.started_by,
        CASE WHEN @is_probe = 0 THEN e.payload_id END,
        e.traceparent,
        CASE WHEN @is_probe = 0 THEN COALESCE(w.run_id, @execution_id) END,
        CASE
            WHEN @is_probe = 1 THEN NULL
            WHEN w.run_id IS NULL THEN N'Skipped'
            ELSE N'Failed,TimedOut,Canceled,Skipped,Unknown'
        END,
        CASE WHEN @is_probe = 0 THEN 0 END,
        @execution_id, @wave, @is_probe,
        CONCAT(
            N'Job execution created',
            CASE WHEN @is_probe = 1 THEN N' to probe' ELSE N' for' END,
            N' the wave ''', w.name, N''' of the roll-out ', e.job_execution_id, N'.'
        )
    FROM jobs_internal.rollout_waves AS w
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
    LEFT JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.job_id = w.probe_job_id AND j.deleted_at IS NULL
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave
        AND (@is_probe = 0 OR j.job_id IS NOT NULL);
    IF @@ROWCOUNT = 0
        RETURN 0;
    SET @run_id = SCOPE_IDENTITY();
    SET @started = 1;

    UPDATE w
    SET w.state = CASE
            WHEN @is_probe = 0 THEN N'Running'
            WHEN w.run_id IS NULL THEN N'Pending' -- it was stopped by the probe before it
            ELSE w.state
        END,
        w.run_id = CASE WHEN @is_probe = 1 THEN w.run_id ELSE @run_id END,
        w.probe_run_id = CASE WHEN @is_probe = 1 THEN @run_id ELSE w.probe_run_id END,
        w.probe_at = CASE WHEN @is_probe = 1 AND (w.bake_until <= @now OR w.run_id IS NULL) THEN NULL ELSE w.probe_at END,
        w.started_at = CASE WHEN @is_probe = 1 THEN w.started_at ELSE COALESCE(w.started_at, @now) END
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;

    IF @is_probe = 0
        INSERT INTO jobs_internal.rollout_paces (execution_id, next_at)
        SELECT @execution_id, @now
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.rollout_paces AS p WHERE p.execution_id = @execution_id);
    RETURN 0;
END;
