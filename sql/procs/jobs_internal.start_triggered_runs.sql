-- Starts jobs whose triggers have an event of each of their upstream jobs, unless a run of the job is active: one run of each job. A
-- trigger with one upstream job uses its earliest event, one with several uses all of its events. A job that another transaction holds
-- waits for the next pass (I14). Events of triggers that were changed, disabled or deleted since are recorded as skipped.
--
-- The run has the parameters of the job's own schedule (jobs.sp_add_job): the defaults that the job declares. A job without steps, or one
-- whose parameters are not complete, does not start: the events are recorded as skipped (I10). Neither does one that is to run where
-- the upstream jobs succeeded, if one of them succeeded nowhere, or if one of their runs was purged. While another transaction holds one of
-- these runs, such as a purge that has not been committed, the job does not start: the run would go on with targets that are being deleted.
--
-- Parameters:
--   @slice  Maximum number of triggers that it reads, at least 1; the next pass starts the others.
-- Called by: jobs_internal.advance, before it takes other locks.
-- Locks:     the jobs (U), skipping locked rows; runs of upstream jobs (U), skipping locked rows; inserts into job_executions;
--            trigger_events (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_triggered_runs
    @slice INT = 5000,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @stale TABLE (event_id BIGINT NOT NULL PRIMARY KEY, reason NVARCHAR(4000) NOT NULL);
    DECLARE @ready TABLE (
        trigger_id  BIGINT NOT NULL PRIMARY KEY,
        job_id      UNIQUEIDENTIFIER NOT NULL,
        first_event BIGINT NOT NULL,
        upstreams   INT NOT NULL
    );
    DECLARE @wanted_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @next TABLE (
        job_id           UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        trigger_id       BIGINT NOT NULL UNIQUE,
        first_event      BIGINT NOT NULL,
        upstreams        INT NOT NULL,
        generation       INT NOT NULL,
        on_succeeded     BIT NOT NULL, -- 1: it runs where the upstream jobs succeeded
        job_version      INT NOT NULL,
        job_execution_id UNIQUEIDENTIFIER NOT NULL DEFAULT NEWID(),
        payload_id       BIGINT NULL,
        fault            NVARCHAR(2048) NULL -- why the events are skipped
    );
    -- The events that are used by runs on the databases where the upstream jobs succeeded, and their runs.
    DECLARE @used TABLE (
        job_id          UNIQUEIDENTIFIER NOT NULL,
        event_id        BIGINT NOT NULL,
        upstream_job_id UNIQUEIDENTIFIER NOT NULL,
        execution_id    BIGINT NOT NULL,
        PRIMARY KEY (job_id, event_id)
    );
    DECLARE @wanted_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked_runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @created TABLE (execution_id BIGINT NOT NULL, job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);

    -- Only passes change events, so they wait for nobody. Rows: @slice, as below.
    INSERT INTO @stale (event_id, reason)
    SELECT TOP (@slice) s.event_id, s.reason
    FROM jobs_internal.stale_trigger_events AS s;
    IF @@ROWCOUNT > 0
        UPDATE e
        SET e.is_waiting = 0,
            e.ended_at = @now,
            e.reason = s.reason
        FROM @stale AS s
        INNER LOOP JOIN jobs_internal.trigger_events AS e ON e.event_id = s.event_id;

    INSERT INTO @ready (trigger_id, job_id, first_event, upstreams)
    SELECT TOP (@slice) r.trigger_id, r.job_id, r.first_event, r.upstreams
    FROM jobs_internal.ready_triggers AS r;
    IF @@ROWCOUNT = 0
        RETURN 0;
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1
            AND a.state IN (N'None', N'Creating', N'Ready', N'Updating')
            AND a.paused_at IS NULL
    )
        RETURN 0;

    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT r.job_id
    FROM @ready AS r;
    INSERT INTO @locked_jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = w.job_id
    WHERE j.deleted_at IS NULL;

    -- Read again: who starts the job or changes its triggers holds it. Of several triggers of a job, that with the earliest event.
    INSERT INTO @next (job_id, trigger_id, first_event, upstreams, generation, on_succeeded, job_version, payload_id, fault)
    SELECT
        o.job_id,
        o.trigger_id,
        o.first_event,
        o.upstreams,
        o.generation,
        CASE WHEN t.targets = N'Succeeded' THEN 1 ELSE 0 END,
        l.current_version,
        COALESCE(s.run_payload_id, s.payload_id),
        CASE
            WHEN NOT EXISTS (SELECT 1 FROM jobs_internal.job_steps AS d WHERE d.job_id = l.job_id AND d.version = l.current_version)
                THEN N'The job has no steps.'
            ELSE s.parameters_fault
        END
    FROM @locked_jobs AS l
    INNER JOIN jobs_internal.schedules AS s ON s.job_id = l.job_id AND s.name = N''
    CROSS APPLY (
        SELECT TOP (1) v.job_id, v.trigger_id, v.first_event, v.upstreams, v.generation
        FROM jobs_internal.ready_triggers AS v
        INNER JOIN @ready AS r ON r.trigger_id = v.trigger_id
        WHERE v.job_id = l.job_id
        ORDER BY v.first_event
    ) AS o
    INNER JOIN jobs_internal.job_triggers AS t ON t.trigger_id = o.trigger_id;
    IF EXISTS (SELECT 1 FROM @next AS n WHERE n.on_succeeded = 1)
    BEGIN
        -- plan: at most 100 events for each upstream job of a trigger, per event one key of PK_job_executions and the steps of the run
        INSERT INTO @used (job_id, event_id, upstream_job_id, execution_id)
        SELECT n.job_id, e.event_id, e.upstream_job_id, e.upstream_execution_id
        FROM @next AS n
        INNER JOIN jobs_internal.trigger_events AS e ON e.job_id = n.job_id AND e.trigger_id = n.trigger_id
        WHERE n.on_succeeded = 1
            AND e.is_waiting = 1
            AND e.generation = n.generation
            AND (n.upstreams > 1 OR e.event_id = n.first_event);
        INSERT INTO @wanted_runs (execution_id)
        SELECT DISTINCT u.execution_id
        FROM @used AS u;
        -- A purge that comes later finds the run that is created here, which keeps what it needs (jobs_internal.deletable_runs).
        -- allow_overlap is in no index, so that the locks are on the clustered keys.
        INSERT INTO @locked_runs (execution_id, allow_overlap)
        SELECT r.execution_id, r.allow_overlap
        FROM @wanted_runs AS w
        INNER LOOP JOIN jobs_internal.job_executions AS r WITH (UPDLOCK, READPAST, ROWLOCK) ON r.execution_id = w.execution_id;
        DELETE n
        FROM @next AS n
        WHERE EXISTS (
            SELECT 1
            FROM @used AS u
            INNER JOIN jobs_internal.job_executions AS r ON r.execution_id = u.execution_id
            WHERE u.job_id = n.job_id
                AND NOT EXISTS (SELECT 1 FROM @locked_runs AS l WHERE l.execution_id = u.execution_id)
        );
        -- Steps count their targets, so none of these is read.
        WITH runs AS (
            SELECT
                u.job_id,
                u.upstream_job_id,
                CASE WHEN r.execution_id IS NULL OR r.purged_at IS NOT NULL THEN 1 ELSE 0 END AS is_purged,
                CASE
                    WHEN EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS o WHERE o.execution_id = r.execution_id) THEN 1
                    WHEN EXISTS (
                        SELECT 1
                        FROM jobs_internal.step_executions AS s
                        WHERE s.execution_id = r.execution_id
                            AND s.targets > COALESCE(s.not_succeeded, 0)
                    ) THEN 1
                    ELSE 0
                END AS has_succeeded
            FROM @used AS u
            LEFT JOIN jobs_internal.job_executions AS r ON r.execution_id = u.execution_id
        ),
        upstreams AS (
            SELECT v.job_id, MAX(v.is_purged) AS is_purged, MAX(v.has_succeeded) AS has_succeeded
            FROM runs AS v
            GROUP BY v.job_id, v.upstream_job_id
        ),
        verdicts AS (
            SELECT u.job_id, MAX(u.is_purged) AS is_purged, MIN(u.has_succeeded) AS has_succeeded
            FROM upstreams AS u
            GROUP BY u.job_id
        )
        UPDATE n
        SET n.fault = CASE
                WHEN v.is_purged = 1 THEN N'An execution of an upstream job was purged, so the databases on which it succeeded are unknown.'
                ELSE N'An upstream job succeeded on no database.'
            END
        FROM @next AS n
        INNER JOIN verdicts AS v ON v.job_id = n.job_id
        WHERE n.fault IS NULL
            AND (v.is_purged = 1 OR v.has_succeeded = 0);
    END;

    INSERT INTO jobs_internal.job_executions (
        job_execution_id, job_id, job_version, lifecycle, is_active, create_time, payload_id, upstream_runs, last_message
    )
    OUTPUT inserted.execution_id, inserted.job_id
    INTO @created (execution_id, job_id)
    SELECT
        n.job_execution_id, n.job_id, n.job_version, N'Created', 1, @now, n.payload_id,
        CASE WHEN n.on_succeeded = 1 THEN (
            -- rows: at most 100 for each upstream job of a trigger
            SELECT STRING_AGG(
                CAST(CASE WHEN o.execution_id IS NULL THEN u.id ELSE -u.id END AS NVARCHAR(20)), N','
            ) WITHIN GROUP (ORDER BY u.id DESC)
            FROM (
                SELECT
                    x.upstream_execution_id AS id,
                    ROW_NUMBER() OVER (PARTITION BY x.upstream_job_id ORDER BY x.upstream_execution_id DESC) AS place
                FROM jobs_internal.trigger_events AS x
                WHERE x.job_id = n.job_id
                    AND x.trigger_id = n.trigger_id
                    AND x.is_waiting = 1
                    AND x.generation = n.generation
                    AND (n.upstreams > 1 OR x.event_id = n.first_event)
            ) AS u
            LEFT JOIN jobs_internal.rollout_runs AS o ON o.execution_id = u.id
            WHERE u.place <= 5
        ) END,
        CONCAT(
            N'Job execution created by the trigger ''', t.name, N''' after the execution ', e.upstream_run,
            N' of the job ''', p.name, N'''',
            CASE WHEN n.upstreams > 1 THEN N' and those of its other upstream jobs' END,
            CASE WHEN n.on_succeeded = 1 THEN N', on the databases that succeeded there' END, N'.'
        )
    FROM @next AS n
    INNER JOIN jobs_internal.job_triggers AS t ON t.trigger_id = n.trigger_id
    INNER JOIN jobs_internal.trigger_events AS e ON e.event_id = n.first_event
    LEFT JOIN jobs_internal.jobs AS p ON p.job_id = e.upstream_job_id
    WHERE n.fault IS NULL
    ORDER BY n.first_event;

    -- rows: at most 100 for each upstream job of a trigger
    -- order: that of IX_trigger_events_waiting; only passes update them
    UPDATE e
    SET e.is_waiting = 0,
        e.ended_at = @now,
        e.execution_id = c.execution_id,
        e.reason = n.fault
    FROM @next AS n
    LEFT JOIN @created AS c ON c.job_id = n.job_id
    INNER LOOP JOIN jobs_internal.trigger_events AS e ON e.job_id = n.job_id AND e.trigger_id = n.trigger_id
    WHERE e.is_waiting = 1
        AND e.generation = n.generation
        AND (n.upstreams > 1 OR e.event_id = n.first_event);
    RETURN 0;
END;
