-- The main call of every agent. It advances every execution that can advance, claims tasks for free workers, and
-- returns the held tasks that must end. An idle pass writes nothing.
--
-- Two parts need the application lock jobagent.advance: advancing, and claiming while steps under a limit have waiting
-- targets, or under the limit of scope Agent. The transaction owns the lock, and no pass waits for it: a pass that does not get
-- the lock skips these parts. Claiming for steps without limits needs no such lock. Resolutions are claimed before runs: they are few, and
-- make new targets available. Nothing is claimed while the job agent is Disabled, Faulted or being
-- deleted, or while the control database is paused.
--
-- Parameters:
--   @term_id                 The caller's term.
--   @max_tasks               Maximum number of tasks to claim; 0: none.
--   @max_concurrent_targets  The agent's limit; a term never holds more than twice as many tasks.
--   @last_task_id            The highest task id that the caller has received from a pass of this term; 0: none yet.
--                            Claimed tasks above it, whose answer was lost, are returned again and count against
--                            @max_tasks. NULL: they are not returned.
--   @term_guid               The term's GUID; NULL: an agent of an earlier release, not compared.
--   @claim_id                A GUID that the caller makes for this pass. It is stored with the tasks that the pass claims, and their
--                            outcomes must name it; NULL: an agent of an earlier release, whose outcomes name none.
-- Called by: agent/controller.go.
-- Locks:     see jobs_internal.check_restored, jobs_internal.begin_pass, jobs_internal.advance, jobs_internal.claim_steps,
--            jobs_internal.claim_limited_targets, jobs_internal.claim_unlimited_targets.
-- Returns:   1: one row: now, next_wake_at (earliest time of a retry, time limit or callback's deadline; NULL: none; before now: this
--               pass was cut off, so the next one should follow at once), held_count,
--               held_sum (a digest of the tasks that the term holds, the claimed ones included: their number, and the sum of
--               their ids, each plus 65537 for every attempt before its own), cleanup_due (1: jobs_internal.delete_leftovers has
--               something to do, even if an active rerun still needs the rows), advance_skipped (1: another session held the application
--               lock, so this pass advanced nothing), advanced_ago_ms (milliseconds since any pass did, to within a second; only
--               with advance_skipped = 1, and NULL while another pass is writing it), questions_due (1: jobs_internal.claim_question has
--               something to do), set_asides_due (1: jobs_internal.take_set_asides has).
--            2: the steps of the tasks in 3, each once. rest_job_id, tenant_id, subdomain and rest_schedule_id are those
--               of a job of the SAP surface.
--            3: the claimed tasks, and those above @last_task_id that were claimed before; resolutions first. claim_id is that of the
--               pass that claimed the task.
--            4: the members of the target groups of claimed resolutions. What members of the types Tag, Query and TargetGroup stand for is
--               in jobs_internal.get_members. A step of type Upkeep has no group: its one member is this database, by the name that its
--               server reports. An action without a group has one member of type Endpoint; the agent derives its target from the command.
--               An action with on_targets = Failed or Succeeded has the databases on which the steps before it failed or succeeded, and
--               the member of type Endpoint, if an endpoint did; with Succeeded, a rerun has those of the origin, too, on which the action
--               itself is to run again.
--            5: held tasks of runs with a stop request, unless what runs there goes on to its end (drains): task_id, reason.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.controller_pass
    @term_id                BIGINT,
    @max_tasks              INT,
    @max_concurrent_targets INT,
    @last_task_id           BIGINT = NULL,
    @term_guid              UNIQUEIDENTIFIER = NULL,
    @claim_id               UNIQUEIDENTIFIER = NULL,
    @now                    DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @set_now DATETIME2(7) = @now; -- of a test; NULL: the clock
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @command_types NVARCHAR(400); -- that the agent runs
    DECLARE @lock INT = 0;
    DECLARE @advanced_at DATETIME2(7);
    DECLARE @may_end BIT;
    DECLARE @turned_at DATETIME2(7); -- what the clock showed before it jumped back
    DECLARE @more BIT = 0; -- jobs_internal.advance was cut off, or targets were held
    DECLARE @holds BIT;
    DECLARE @room INT;
    DECLARE @agent_limit INT; -- the limit of scope Agent; NULL: none
    DECLARE @agent_room INT;  -- how many more targets it allows
    DECLARE @claimed INT;
    DECLARE @held INT;
    DECLARE @newest BIGINT;
    DECLARE @lost INT;
    DECLARE @resolving BIT; -- resolutions may be among the tasks that are returned
    DECLARE @stopping BIT;
    DECLARE @wake_at DATETIME2(7);
    DECLARE @cleanup_due BIT;
    DECLARE @questions_due BIT;
    DECLARE @set_asides_due BIT;

    IF @max_tasks IS NULL OR @max_tasks < 0 OR @max_concurrent_targets IS NULL OR @max_concurrent_targets < 1
        THROW 50029, N'Invalid arguments of controller_pass: want @max_tasks of at least 0 and @max_concurrent_targets of at least 1.', 1;
    EXECUTE jobs_internal.check_term
        @term_id = @term_id,
        @term_guid = @term_guid,
        @command_types = @command_types OUTPUT;

    -- Plan: the term's range of IX_task_executions_held, at most twice @max_concurrent_targets rows; so below, wherever tasks of the term
    -- are read.
    SELECT
        @held = COUNT(*),
        @newest = COALESCE(MAX(k.task_id), 0),
        @lost = COALESCE(SUM(CASE WHEN k.task_id > @last_task_id THEN 1 ELSE 0 END), 0)
    FROM jobs_internal.task_executions AS k
    WHERE k.term_id = @term_id
        AND k.ended_at IS NULL;
    SET @last_task_id = COALESCE(@last_task_id, @newest);
    SET @resolving = CASE WHEN @lost > 0 THEN 1 ELSE 0 END;
    SET @max_tasks = @max_tasks - @lost;
    SET @room = CASE WHEN @max_tasks < 2 * @max_concurrent_targets - @held THEN @max_tasks ELSE 2 * @max_concurrent_targets - @held END;

    -- Plan: at most one row each, of IX_job_executions_hot, the terms that last, IX_job_executions_unaccounted, schedule_buffer,
    -- IX_trigger_events_waiting (ready_triggers and stale_trigger_events),
    -- IX_rollouts_next_check_at, IX_callbacks_received_at and IX_callbacks_deadline_at. Runs that wait for callbacks are parked, and not
    -- read.
    IF EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1 AND e.parked = 0)
        OR EXISTS (SELECT 1 FROM jobs_internal.terms AS t WHERE t.ended_at IS NULL AND t.expires_at <= @now)
        OR EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.unaccounted = 1 AND e.is_active = 0)
        OR EXISTS (SELECT 1 FROM jobs_internal.schedule_buffer AS b)
        OR EXISTS (SELECT 1 FROM jobs_internal.ready_triggers AS r)
        OR EXISTS (SELECT 1 FROM jobs_internal.stale_trigger_events AS r)
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: a later pass does
            WHERE r.next_check_at IS NOT NULL
                AND r.next_check_at <= @now
        )
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.callbacks AS c
            WHERE c.received_at IS NOT NULL
                AND c.deadline_at IS NOT NULL
                AND c.closed_at IS NULL
        )
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.callbacks AS c
            WHERE c.deadline_at IS NOT NULL
                AND c.closed_at IS NULL
                AND c.deadline_at <= @now
        )
    BEGIN
        EXECUTE jobs_internal.check_restored @after_gap = 1, @now = @now;
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.job_agent AS a
            WHERE a.id = 1
                AND (a.state IN (N'Disabled', N'Faulted', N'Deleting', N'Deleted') OR a.paused_at IS NOT NULL)
        )
            SET @room = 0;
        -- Plan: one key of UQ_limits_name.
        SELECT @agent_limit = l.max_concurrent_targets
        FROM jobs_internal.limits AS l
        WHERE l.scope = N'Agent'
            AND l.name = N'*'
            AND l.server_name = N''
            AND l.job_id IS NULL;

        BEGIN TRANSACTION;
        EXECUTE @lock = sp_getapplock
            @Resource = N'jobagent.advance',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0,
            @DbPrincipal = N'jobs_agent'; -- only agents may take it, because a session that holds it stops all runs
        IF @lock >= 0
        BEGIN
            EXECUTE jobs_internal.begin_pass
                @at = @now OUTPUT,
                @may_end = @may_end OUTPUT,
                @turned_at = @turned_at OUTPUT,
                @now = @set_now;
            EXECUTE jobs_internal.advance
                @term_id = @term_id,
                @may_end = @may_end,
                @turned_at = @turned_at,
                @more = @more OUTPUT,
                @now = @now;
            EXECUTE jobs_internal.end_pass @at = @now, @now = @set_now;
            EXECUTE @claimed = jobs_internal.claim_steps
                @term_id = @term_id,
                @room = @room,
                @command_types = @command_types,
                @claim_id = @claim_id,
                @now = @now;
            SET @resolving = CASE WHEN @claimed > 0 THEN 1 ELSE @resolving END;
            SET @room = @room - @claimed;
            IF @agent_limit IS NOT NULL AND @room > 0
            BEGIN
                -- Under the application lock no other session claims targets. Plan: IX_task_executions_held, a row per held task.
                SELECT @agent_room = @agent_limit - COUNT(*)
                FROM jobs_internal.task_executions AS k
                WHERE k.ended_at IS NULL
                    AND k.kind = N'Run';
                SET @room = CASE WHEN @agent_room < @room THEN @agent_room ELSE @room END;
            END;
            EXECUTE @claimed = jobs_internal.claim_limited_targets
                @term_id = @term_id,
                @room = @room,
                @command_types = @command_types,
                @claim_id = @claim_id,
                @holds = @holds OUTPUT,
                @now = @now;
            SET @more = CASE WHEN @holds = 1 THEN 1 ELSE @more END;
            SET @room = @room - @claimed;
            IF @agent_limit IS NOT NULL
            BEGIN
                EXECUTE @claimed = jobs_internal.claim_unlimited_targets
                    @term_id = @term_id,
                    @room = @room,
                    @command_types = @command_types,
                    @claim_id = @claim_id,
                    @holds = @holds OUTPUT,
                    @now = @now;
                SET @more = CASE WHEN @holds = 1 THEN 1 ELSE @more END;
                SET @room = 0;
            END;
        END;
        ELSE
            -- past: here the time only serves diagnosis, so no pass waits for the one that writes it
            SELECT @advanced_at = a.last_advanced_at
            FROM jobs_internal.advance_state AS a WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK);
        COMMIT TRANSACTION;

        IF @room > 0
        BEGIN
            BEGIN TRANSACTION;
            IF @lock < 0
            BEGIN
                EXECUTE @claimed = jobs_internal.claim_steps
                    @term_id = @term_id,
                    @room = @room,
                    @command_types = @command_types,
                    @claim_id = @claim_id,
                    @now = @now;
                SET @resolving = CASE WHEN @claimed > 0 THEN 1 ELSE @resolving END;
                SET @room = @room - @claimed;
            END;
            IF @agent_limit IS NULL
            BEGIN
                EXECUTE @claimed = jobs_internal.claim_unlimited_targets
                    @term_id = @term_id,
                    @room = @room,
                    @command_types = @command_types,
                    @claim_id = @claim_id,
                    @holds = @holds OUTPUT,
                    @now = @now;
                SET @more = CASE WHEN @holds = 1 THEN 1 ELSE @more END;
            END;
            COMMIT TRANSACTION;
        END;

        -- TOP (1) and not MIN (DESIGN.md, "Rules of sql/", first). Plan: one key each of IX_target_executions_next_attempt_at,
        -- IX_target_executions_deadline_at, IX_target_pauses_ends_at, IX_step_executions_due, IX_rollout_paces_next_at and
        -- IX_terms_expires_at; the runs of IX_job_executions_unaccounted.
        WITH wake_times AS (
            SELECT x.at
            FROM (
                SELECT TOP (1) t.next_attempt_at AS at
                FROM jobs_internal.target_executions AS t
                WHERE t.next_attempt_at IS NOT NULL
                    AND t.deadline_at IS NOT NULL -- first attempts are due at once, or held
                    AND t.next_attempt_at > @now
                    AND t.next_attempt_at < '9999-12-31' -- not those that are held
                ORDER BY t.next_attempt_at
            ) AS x
            UNION ALL
            SELECT x.at
            FROM (
                SELECT TOP (1) p.ends_at AS at
                FROM jobs_internal.target_pauses AS p
                WHERE p.ends_at IS NOT NULL
                    AND p.ends_at > @now
                    AND p.resumed_at IS NULL
                ORDER BY p.ends_at
            ) AS x
            UNION ALL
            SELECT x.at
            FROM (
                SELECT TOP (1) t.deadline_at AS at
                FROM jobs_internal.target_executions AS t
                WHERE t.next_attempt_at IS NOT NULL
                    AND t.deadline_at IS NOT NULL
                    AND t.deadline_at > @now
                ORDER BY t.deadline_at
            ) AS x
            UNION ALL
            SELECT x.at
            FROM (
                SELECT TOP (1) s.next_attempt_at AS at
                FROM jobs_internal.step_executions AS s
                WHERE s.next_attempt_at IS NOT NULL
                    AND s.next_attempt_at > @now
                ORDER BY s.next_attempt_at
            ) AS x
            UNION ALL
            SELECT x.at
            FROM (
                SELECT TOP (1) p.next_at AS at
                FROM jobs_internal.rollout_paces AS p
                WHERE p.next_at > @now
                ORDER BY p.next_at
            ) AS x
            UNION ALL
            SELECT @now AS at
            -- Not for a run whose job another transaction holds: a later poll of the agent finds it.
            WHERE EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.unaccounted = 1
                    AND e.is_active = 0
                    AND e.end_time > DATEADD(SECOND, -1, @now)
            )
            UNION ALL
            SELECT x.at
            FROM (
                SELECT TOP (1) t.expires_at AS at
                FROM jobs_internal.terms AS t
                WHERE t.ended_at IS NULL
                    AND t.expires_at > @now
                    AND t.term_id <> @term_id
                ORDER BY t.expires_at
            ) AS x
        )
        SELECT @wake_at = MIN(w.at)
        FROM wake_times AS w;
    END;
    -- Plan: the first keys of IX_rollouts_next_check_at and of IX_callbacks_deadline_at.
    SELECT TOP (1) @wake_at = CASE WHEN r.next_check_at < COALESCE(@wake_at, '9999-12-31') THEN r.next_check_at ELSE @wake_at END
    FROM jobs_internal.rollouts AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE r.next_check_at IS NOT NULL
        AND r.next_check_at > @now
    ORDER BY r.next_check_at;
    SELECT TOP (1) @wake_at = CASE WHEN c.deadline_at < COALESCE(@wake_at, '9999-12-31') THEN c.deadline_at ELSE @wake_at END
    FROM jobs_internal.callbacks AS c
    WHERE c.deadline_at IS NOT NULL
        AND c.closed_at IS NULL
    ORDER BY c.deadline_at;
    -- Before @now only if there is more to do, and not for a callback that another session holds.
    SET @wake_at = CASE
        WHEN @more = 1 THEN DATEADD(SECOND, -1, @now)
        WHEN @wake_at < @now THEN @now
        ELSE @wake_at
    END;

    -- Deleted jobs whose last run has ended, and rows that a purge has left. The caller of a purge or deletion has a
    -- minute to delete them itself.
    SET @cleanup_due = CASE
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j
            WHERE j.deleted_at IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = j.job_id AND e.is_active = 1)
        ) THEN 1
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.purged_at IS NOT NULL
                AND e.purged_at < DATEADD(MINUTE, -1, @now)
        ) THEN 1
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.history_purges AS h
            WHERE h.purged_at < DATEADD(MINUTE, -1, @now)
        ) THEN 1
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.questions AS q
            WHERE q.is_active = 0
                AND q.expires_at <= @now
        ) THEN 1
        ELSE 0
    END;
    -- Plan: IX_questions_active, which is empty as a rule.
    SET @questions_due = CASE
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.questions AS q
            WHERE q.is_active = 1
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.terms AS t
                    WHERE t.term_id = q.term_id
                        AND t.ended_at IS NULL
                )
        ) THEN 1
        ELSE 0
    END;

    SET @set_asides_due = CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.due_set_asides AS z) THEN 1 ELSE 0 END;

    SELECT
        @now AS now,
        @wake_at AS next_wake_at,
        COUNT(*) AS held_count,
        COALESCE(SUM(k.task_id), 0) + CAST(65537 AS BIGINT) * (COALESCE(SUM(CAST(k.attempt AS BIGINT)), 0) - COUNT(*)) AS held_sum,
        @cleanup_due AS cleanup_due,
        CAST(CASE WHEN @lock < 0 THEN 1 ELSE 0 END AS BIT) AS advance_skipped,
        DATEDIFF_BIG(MILLISECOND, @advanced_at, @now) AS advanced_ago_ms,
        @questions_due AS questions_due,
        @set_asides_due AS set_asides_due
    FROM jobs_internal.task_executions AS k
    WHERE k.term_id = @term_id
        AND k.ended_at IS NULL;

    SELECT
        s.step_execution_id,
        e.job_id,
        j.name AS job_name,
        e.job_version,
        e.job_execution_id,
        e.create_time AS job_execution_create_time,
        s.step_id,
        d.step_name,
        d.target_group_name,
        d.command_id,
        d.credential_name,
        d.at_most_once,
        d.output_type,
        d.output_credential_name,
        d.output_server_name,
        d.output_database_name,
        d.output_schema_name,
        d.output_table_name,
        c.command_type,
        COALESCE(e.due_at, e.create_time) AS due_at,
        d.on_unknown_outcome,
        e.payload_id,
        CAST(COALESCE(JSON_VALUE(d.agent_options, N'$.bind_parameters'), N'0') AS BIT) AS bind_parameters,
        e.schedule_id,
        r.rest_job_id,
        r.tenant_id,
        o.subdomain,
        x.rest_schedule_id,
        d.agent_options,
        e.mode,
        e.mode_options,
        CAST(CASE
            WHEN e.rollout_probe = 1
                AND e.mode IS NULL -- no preflight
                AND c.command_type = N'TSql'
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_steps AS l
                    INNER JOIN jobs_internal.step_commands AS m ON m.command_id = l.command_id
                    WHERE l.job_id = d.job_id
                        AND l.version = d.version
                        AND l.step_id > d.step_id
                        AND m.command_type = N'TSql'
                )
                THEN 1
            ELSE 0
        END AS BIT) AS probes
    FROM (
        SELECT DISTINCT k.step_execution_id
        FROM jobs_internal.task_executions AS k
        WHERE k.term_id = @term_id
            AND k.ended_at IS NULL
            AND k.task_id > @last_task_id
    ) AS n
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = n.step_execution_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    LEFT JOIN jobs_internal.rest_jobs AS r ON r.job_id = e.job_id
    LEFT JOIN jobs_internal.tenants AS o ON o.tenant_id = r.tenant_id
    LEFT JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = e.schedule_id
    ORDER BY s.step_execution_id;

    SELECT
        k.task_id,
        k.kind,
        k.attempt,
        k.step_execution_id,
        t.target_id,
        t.server_name,
        t.database_name,
        t.elastic_pool_name,
        t.internal_id AS target_execution_id,
        DATEDIFF_BIG(MILLISECOND, @now, t.deadline_at) AS timeout_ms,
        k.claim_id
    FROM jobs_internal.task_executions AS k
    LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    WHERE k.term_id = @term_id
        AND k.ended_at IS NULL
        AND k.task_id > @last_task_id
    ORDER BY CASE WHEN k.kind = N'Resolve' THEN 0 ELSE 1 END, k.task_id;

    WITH members AS (
        SELECT
            k.task_id,
            m.member_id,
            m.target_id,
            m.membership_type,
            m.target_type,
            m.refresh_credential_name,
            m.server_name,
            m.database_name,
            m.elastic_pool_name,
            m.shard_map_name
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = d.target_group_id
        WHERE @resolving = 1
            AND k.term_id = @term_id
            AND k.ended_at IS NULL
            AND k.task_id > @last_task_id
            AND k.kind = N'Resolve'
            AND d.on_targets = N'All'
        UNION ALL
        SELECT
            k.task_id,
            0,
            NULL,
            N'Include',
            CASE WHEN c.command_type = N'Upkeep' THEN N'SqlDatabase' ELSE N'Endpoint' END,
            NULL,
            CASE
                WHEN c.command_type = N'Upkeep' THEN COALESCE(CAST(SERVERPROPERTY(N'ServerName') AS NVARCHAR(128)), N'(control server)')
            END,
            CASE WHEN c.command_type = N'Upkeep' THEN DB_NAME() END,
            NULL,
            NULL
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
        WHERE @resolving = 1
            AND k.term_id = @term_id
            AND k.ended_at IS NULL
            AND k.task_id > @last_task_id
            AND k.kind = N'Resolve'
            AND d.on_targets = N'All'
            AND d.target_group_id = '00000000-0000-0000-0000-000000000000'
        UNION ALL
        SELECT DISTINCT
            k.task_id,
            0,
            CASE WHEN t.is_endpoint = 0 THEN t.target_id END,
            N'Include',
            CASE WHEN t.is_endpoint = 0 THEN N'SqlDatabase' ELSE N'Endpoint' END,
            CAST(NULL AS NVARCHAR(128)), -- a NULL of DISTINCT may be an INT, to which UNION would convert the names of the others
            CASE WHEN t.is_endpoint = 0 THEN t.server_name END,
            CASE WHEN t.is_endpoint = 0 THEN t.database_name END,
            CASE WHEN t.is_endpoint = 0 THEN t.elastic_pool_name END,
            CAST(NULL AS NVARCHAR(128))
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.step_execution_causes AS c ON c.execution_id = s.execution_id AND c.step_id = s.step_id
        INNER JOIN jobs_internal.step_executions AS cs ON cs.execution_id = c.execution_id AND cs.step_id = c.cause_step_id
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = cs.step_execution_id
        WHERE @resolving = 1
            AND k.term_id = @term_id
            AND k.ended_at IS NULL
            AND k.task_id > @last_task_id
            AND k.kind = N'Resolve'
            AND (
                (d.on_targets = N'Failed' AND t.lifecycle IN (N'Failed', N'TimedOut'))
                OR (
                    d.on_targets = N'Succeeded'
                    AND t.lifecycle = N'Succeeded'
                    AND NOT EXISTS ( -- in another cause
                        SELECT 1
                        FROM jobs_internal.step_execution_causes AS oc
                        INNER JOIN jobs_internal.step_executions AS os ON os.execution_id = oc.execution_id
                            AND os.step_id = oc.cause_step_id
                        INNER JOIN jobs_internal.target_executions AS ot ON ot.step_execution_id = os.step_execution_id
                        WHERE oc.execution_id = s.execution_id
                            AND oc.step_id = s.step_id
                            AND ot.target_id = t.target_id
                            AND ot.lifecycle <> N'Succeeded'
                    )
                )
            )
        UNION ALL
        -- Of a rerun: what the action itself did in the origin, where no cause has run since.
        SELECT
            k.task_id,
            0,
            CASE WHEN t.is_endpoint = 0 THEN t.target_id END,
            N'Include',
            CASE WHEN t.is_endpoint = 0 THEN N'SqlDatabase' ELSE N'Endpoint' END,
            NULL,
            CASE WHEN t.is_endpoint = 0 THEN t.server_name END,
            CASE WHEN t.is_endpoint = 0 THEN t.database_name END,
            CASE WHEN t.is_endpoint = 0 THEN t.elastic_pool_name END,
            NULL
        FROM jobs_internal.task_executions AS k
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
        INNER JOIN jobs_internal.step_executions AS os ON os.execution_id = e.rerun_of AND os.step_id = s.step_id
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = os.step_execution_id
        WHERE @resolving = 1
            AND k.term_id = @term_id
            AND k.ended_at IS NULL
            AND k.task_id > @last_task_id
            AND k.kind = N'Resolve'
            AND d.on_targets = N'Succeeded'
            AND CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END IN (
                SELECT p.value FROM STRING_SPLIT(e.rerun_only, N',') AS p
            )
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_execution_causes AS oc
                INNER JOIN jobs_internal.step_executions AS cs ON cs.execution_id = oc.execution_id
                    AND cs.step_id = oc.cause_step_id
                INNER JOIN jobs_internal.target_executions AS ct ON ct.step_execution_id = cs.step_execution_id
                WHERE oc.execution_id = s.execution_id
                    AND oc.step_id = s.step_id
                    AND ct.target_id = t.target_id
            )
    )
    SELECT
        m.task_id,
        m.target_id,
        m.membership_type,
        m.target_type,
        m.refresh_credential_name,
        m.server_name,
        m.database_name,
        m.elastic_pool_name,
        m.shard_map_name
    FROM members AS m
    ORDER BY m.task_id, m.member_id;

    -- A term may hold thousands of tasks, but stop requests are rare.
    SET @stopping = CASE
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.is_active = 1
                AND e.stop_requested_at IS NOT NULL
        ) THEN 1
        ELSE 0
    END;
    SELECT
        k.task_id,
        CONCAT(N'stop requested by ', e.stop_requested_by) AS reason
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
    WHERE @stopping = 1
        AND k.term_id = @term_id
        AND k.ended_at IS NULL
        AND e.stop_requested_at IS NOT NULL
        AND COALESCE(e.drains, 0) = 0
    ORDER BY k.task_id;
    RETURN 0;
END;
