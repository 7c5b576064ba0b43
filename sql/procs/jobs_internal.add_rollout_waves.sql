-- Adds the waves of a roll-out, with the settings of its plan; those of an undo are the waves of the roll-out that is undone, in reverse
-- order. A job that the plan names, and that is not found, may be held by another session: the roll-out then waits for a minute at most
-- after the resolution of its targets, or after the first try if nobody has tried for as long, because no agent lived or the clock was set
-- back. After that, a probe job has an id that no job has, so that its gate fails; and there is no compensating job.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @complete      Output. 0: the roll-out waits for a job that the plan names.
--   @check_at      Output. When to try again; else unchanged.
-- Called by: jobs_internal.finish_planning.
-- Locks:     the jobs of the plan (S), skipping locked rows; the roll-out (X); inserts into rollout_waves.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.add_rollout_waves
    @execution_id BIGINT,
    @complete     BIT = 0 OUTPUT,
    @check_at     DATETIME2(7) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @plan NVARCHAR(MAX);
    DECLARE @undo_of BIGINT;
    DECLARE @resolved_at DATETIME2(7);
    DECLARE @tried_at DATETIME2(7); -- when this try was due
    DECLARE @is_recent BIT; -- the targets were resolved within the last minute
    DECLARE @jobs TABLE (name NVARCHAR(128) NOT NULL PRIMARY KEY, job_id UNIQUEIDENTIFIER NULL, version INT NULL);
    DECLARE @none UNIQUEIDENTIFIER = '00000000-0000-0000-0000-000000000000'; -- no job has it

    SELECT
        @job_id = v.job_id,
        @version = v.version,
        @plan = v.rollout_plan,
        @undo_of = r.undo_of,
        @tried_at = r.next_check_at,
        @resolved_at = (SELECT MAX(s.end_time) FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id)
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
    WHERE r.execution_id = @execution_id;
    SET @complete = 1;
    -- One of more than a minute in the future was made before the clock was set back (jobs_internal.turn_back_rollouts).
    SET @is_recent = CASE
        WHEN @resolved_at > DATEADD(MINUTE, -1, @now) AND @resolved_at < DATEADD(MINUTE, 1, @now) THEN 1
        ELSE 0
    END;

    IF @undo_of IS NOT NULL
    BEGIN
        -- rows: the waves of one plan, at most 100
        INSERT INTO jobs_internal.rollout_waves (
            execution_id, wave, name, selects, target_order, max_parallelism, pace, bake_seconds, approval, window_name, max_failed,
            max_failed_percent, max_unknown, max_unreached, max_unreached_percent, probe_job_id, probe_every_seconds,
            probe_max_rows, probe_min_value, probe_max_value, probe_min_percent, probe_max_percent, probe_check
        )
        SELECT
            @execution_id, ROW_NUMBER() OVER (ORDER BY w.wave DESC), w.name, N'undo', N'resolution', w.max_parallelism, w.pace,
            w.bake_seconds, w.approval, w.window_name, w.max_failed, w.max_failed_percent, w.max_unknown, w.max_unreached,
            w.max_unreached_percent, w.probe_job_id, w.probe_every_seconds, w.probe_max_rows, w.probe_min_value,
            w.probe_max_value, w.probe_min_percent, w.probe_max_percent, w.probe_check
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @undo_of;
        RETURN 0;
    END;

    INSERT INTO @jobs (name)
    SELECT p.probe_job
    FROM jobs_internal.rollout_plan_waves AS p
    WHERE p.job_id = @job_id
        AND p.version = @version
        AND p.probe_job IS NOT NULL
    UNION
    SELECT p.undo_job
    FROM OPENJSON(@plan) WITH (undo_job NVARCHAR(128)) AS p
    WHERE p.undo_job IS NOT NULL;
    UPDATE w
    SET w.job_id = j.job_id,
        w.version = j.current_version
    FROM @jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON j.name = w.name
    WHERE j.deleted_at IS NULL;
    -- Each try sets the time of the next one: the only one after an outage comes almost a minute later.
    IF EXISTS (SELECT 1 FROM @jobs AS w WHERE w.job_id IS NULL)
        AND (@is_recent = 1 OR @tried_at <= DATEADD(MINUTE, -1, @now))
    BEGIN
        SET @complete = 0;
        SET @check_at = DATEADD(SECOND, CASE WHEN @is_recent = 1 THEN 1 ELSE 55 END, @now);
        RETURN 0;
    END;

    -- rows: the waves of one plan, at most 100
    INSERT INTO jobs_internal.rollout_waves (
        execution_id, wave, name, selects, selection, target_order, order_tag, quota, max_parallelism, pace, bake_seconds, approval,
        max_failed, max_failed_percent, max_unknown, max_unreached, max_unreached_percent, max_duration_percent, probe_job_id,
        probe_every_seconds, probe_max_rows, probe_min_value, probe_max_value, probe_min_percent, probe_max_percent, probe_check,
        window_name
    )
    SELECT
        @execution_id,
        p.wave,
        p.name,
        CASE
            WHEN p.names IS NOT NULL THEN N'names'
            WHEN p.patterns IS NOT NULL THEN N'like'
            WHEN p.tags IS NOT NULL THEN N'tags'
            WHEN p.targets = N'rest' THEN N'rest'
            WHEN p.targets LIKE N'%[%]' THEN N'percent'
            ELSE N'count'
        END,
        COALESCE(p.names, p.patterns, p.tags, REPLACE(NULLIF(p.targets, N'rest'), N'%', N'')),
        p.target_order,
        p.order_tag,
        CASE WHEN p.targets NOT LIKE N'%[^0-9]%' THEN CAST(p.targets AS INT) END,
        p.parallelism,
        p.pace,
        p.bake_seconds,
        p.approval,
        CASE WHEN p.max_failed LIKE N'%[%]' THEN 0 ELSE CAST(p.max_failed AS INT) END,
        CASE WHEN p.max_failed LIKE N'%[%]' THEN CAST(REPLACE(p.max_failed, N'%', N'') AS INT) END,
        p.max_unknown,
        CASE WHEN p.max_unreached LIKE N'%[%]' THEN 0 ELSE CAST(p.max_unreached AS INT) END,
        CASE WHEN p.max_unreached LIKE N'%[%]' THEN CAST(REPLACE(p.max_unreached, N'%', N'') AS INT) END,
        p.max_duration_percent,
        CASE
            WHEN p.probe_job IS NOT NULL THEN COALESCE(
                (SELECT j.job_id FROM @jobs AS j WHERE j.name = p.probe_job), @none
            )
        END,
        p.probe_every_seconds,
        p.probe_max_rows,
        p.probe_min_value,
        p.probe_max_value,
        p.probe_min_percent,
        p.probe_max_percent,
        p.probe_check,
        p.window_name
    FROM jobs_internal.rollout_plan_waves AS p
    WHERE p.job_id = @job_id
        AND p.version = @version;

    UPDATE r
    SET r.seed = o.seed,
        r.deadline_at = DATEADD(SECOND, o.deadline_seconds, e.create_time),
        r.on_gate_failure = o.on_gate_failure,
        r.cancels_running = CASE WHEN o.running_targets = N'cancel' THEN 1 ELSE 0 END,
        r.is_strict = o.strict,
        r.preflight = COALESCE(o.preflight, N'none'),
        r.preflight_options = o.preflight_options,
        r.undo_job_id = j.job_id,
        r.undo_version = j.version
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    CROSS APPLY OPENJSON(@plan) WITH (
        seed             INT,
        deadline_seconds INT,
        on_gate_failure  NVARCHAR(10),
        running_targets  NVARCHAR(10),
        strict           BIT,
        undo_job         NVARCHAR(128),
        preflight        NVARCHAR(10),
        preflight_options NVARCHAR(MAX) AS JSON
    ) AS o
    LEFT JOIN @jobs AS j ON j.name = o.undo_job
    WHERE r.execution_id = @execution_id;
    RETURN 0;
END;
