-- Stores outcomes of tasks and updates their targets or steps: to a final lifecycle, or to the next attempt after the
-- wait that the step's retry policy defines, counted from the database's current time. An outcome is accepted only for
-- a task that this term holds, and only for the current attempt (I4). An unknown outcome of a script is retried like a
-- failure, unless the step's on_unknown_outcome is Fail (decision 31), or an action must not run twice. A step whose retry_errors
-- is Transient is not retried after a failure whose error will not pass by itself; what is unknown is no such failure. The targets of a run
-- with a mode have one attempt.
--
-- A target waits for a callback (I12) after Accepted, after NoAnswer if the step's on_unknown_outcome is Await (else
-- NoAnswer is Unknown), and after every outcome but Returned if a report came first: then the report decides, when the
-- next pass ends the wait.
--
-- Cost: (outcomes), each by the keys of its task, target and step. Plan: the table variables are the outer side of all
-- joins, with one seek of a clustered key for each of their rows, so the plan does not depend on SQL Server's estimate
-- of their row counts.
--
-- Parameters:
--   @term_id   The term that holds the tasks; NULL: any term (only for terms that have ended).
--   @outcomes  JSON array of objects: task_id, attempt, claim_id (of the task, from controller_pass; NULL: an agent of an earlier release,
--              not compared), outcome (Succeeded, Failed, TimedOut, Canceled, Unknown,
--              Returned, Accepted, NoAnswer), unsent_outcome (instead of outcome if jobs_internal.begin_send was not called),
--              message, error_number, error_severity, error_state, error_line, error_procedure,
--              rows_affected, elapsed_ms, session_id, unreached (true: there was no connection, or the login was refused),
--              unsent (true: no part of the script was sent, so an unknown outcome of the previous attempt stays unknown),
--              outcome_unknown (true, with TimedOut: the script may still run, or the request take effect),
--              no_retry (true: a failure is not retried), retry_after_ms (the least wait before a retry, within the policy's
--              maximum), transient (of a failure: true, its error may pass by itself; false, it will not; NULL: nobody knows, as of
--              agents of earlier releases), endpoint (the server that was called, of an action with several),
--              probe_rows (of a probe that succeeded: the rows of all result sets of its script), probe_value (the first column of the
--              first row, without an exponent; NULL: it is NULL or no number, or there is no row),
--              messages (array of ordinal, kind, number, severity, state, line, procedure, text, rows).
--   @report    1: return the refused outcomes.
--   @ended     1: the tasks ended before, and their targets wait for callbacks, which ended with these outcomes.
-- Called by: jobs_internal.complete_tasks, jobs_internal.complete_resolution, jobs_internal.hand_over,
--            jobs_internal.end_callbacks, within their transactions.
-- Locks:     the tasks (X), then their callbacks (X), targets (X), steps (X); inserts into task_messages and rollout_probe_values.
-- Returns:   with @report = 1, one row per refused outcome: task_id, reason.
-- Throws:
--   50029 an outcome is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.record_outcomes
    @term_id  BIGINT = NULL,
    @outcomes NVARCHAR(MAX),
    @report   BIT = 0,
    @ended    BIT = 0,
    @now      DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @given TABLE (
        task_id         BIGINT NOT NULL PRIMARY KEY,
        attempt         INT NOT NULL,
        claim_id        UNIQUEIDENTIFIER NULL,
        outcome         NVARCHAR(20) NOT NULL,
        unsent_outcome  NVARCHAR(20) NULL,
        message         NVARCHAR(MAX) NULL,
        error_number    INT NULL,
        error_severity  TINYINT NULL,
        error_state     TINYINT NULL,
        error_line      INT NULL,
        error_procedure NVARCHAR(256) NULL,
        rows_affected   BIGINT NULL,
        elapsed_ms      BIGINT NULL,
        session_id      INT NULL,
        messages        NVARCHAR(MAX) NULL
    );
    DECLARE @accepted TABLE (
        task_id             BIGINT NOT NULL PRIMARY KEY,
        kind                NVARCHAR(10) NOT NULL,
        execution_id        BIGINT NOT NULL,
        step_execution_id   BIGINT NOT NULL,
        target_execution_id BIGINT NULL,
        attempt             INT NOT NULL,
        outcome             NVARCHAR(20) NOT NULL,
        send_began_at       DATETIME2(7) NULL,
        waits_until         DATETIME2(7) NULL -- NULL: the target does not wait for a callback
    );
    DECLARE @unsent TABLE (task_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @unknown TABLE (task_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @retries TABLE (
        task_id        BIGINT NOT NULL PRIMARY KEY,
        no_retry       BIT NULL,
        retry_after_ms BIGINT NULL,
        transient      BIT NULL
    );
    DECLARE @endpoints TABLE (task_id BIGINT NOT NULL PRIMARY KEY, endpoint NVARCHAR(256) NOT NULL);
    DECLARE @timeout_seconds INT; -- of callbacks that have none of their own
    DECLARE @former NVARCHAR(50) = CASE WHEN @ended = 1 THEN N'WaitingForCallback' ELSE N'InProgress' END; -- lifecycle of the targets
    -- New states of targets and steps that did not succeed; wait_ms is NULL unless another attempt is due.
    DECLARE @next TABLE (
        task_id   BIGINT NOT NULL PRIMARY KEY,
        lifecycle NVARCHAR(50) NOT NULL,
        attempts  INT NOT NULL,
        wait_ms   INT NULL,
        message   NVARCHAR(MAX) NULL
    );

    INSERT INTO @given (
        task_id, attempt, claim_id, outcome, unsent_outcome, message, error_number, error_severity, error_state, error_line,
        error_procedure, rows_affected, elapsed_ms, session_id, messages
    )
    SELECT
        o.task_id, o.attempt, o.claim_id, o.outcome, o.unsent_outcome, o.message, o.error_number, o.error_severity, o.error_state,
        o.error_line,
        o.error_procedure, o.rows_affected, o.elapsed_ms, o.session_id, o.messages
    FROM OPENJSON(@outcomes) WITH (
        task_id         BIGINT,
        attempt         INT,
        claim_id        UNIQUEIDENTIFIER,
        outcome         NVARCHAR(20),
        unsent_outcome  NVARCHAR(20),
        message         NVARCHAR(MAX),
        error_number    INT,
        error_severity  TINYINT,
        error_state     TINYINT,
        error_line      INT,
        error_procedure NVARCHAR(256),
        rows_affected   BIGINT,
        elapsed_ms      BIGINT,
        session_id      INT,
        messages        NVARCHAR(MAX) AS JSON
    ) AS o;
    IF EXISTS (
        SELECT 1
        FROM @given AS g
        WHERE g.outcome NOT IN (
            N'Succeeded', N'Failed', N'TimedOut', N'Canceled', N'Unknown', N'Returned', N'Accepted', N'NoAnswer'
        )
    )
        THROW 50029, N'Invalid outcome: want Succeeded, Failed, TimedOut, Canceled, Unknown, Returned, Accepted or NoAnswer.', 1;

    -- Only a step whose on_unknown_outcome is Await waits for a report after a request without an answer.
    IF EXISTS (SELECT 1 FROM @given AS g WHERE g.outcome = N'NoAnswer')
        UPDATE g
        SET g.outcome = N'Unknown'
        FROM @given AS g
        INNER JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        WHERE g.outcome = N'NoAnswer'
            AND (k.kind <> N'Run' OR d.on_unknown_outcome <> N'Await');

    IF @ended = 1
        INSERT INTO @accepted (task_id, kind, execution_id, step_execution_id, target_execution_id, attempt, outcome)
        SELECT k.task_id, k.kind, k.execution_id, k.step_execution_id, k.target_execution_id, k.attempt, g.outcome
        FROM @given AS g
        INNER JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id;
    ELSE
        -- Whether the attempt began to send is read with the lock, so that jobs_internal.begin_send comes either before or after.
        UPDATE k
        SET k.ended_at = @now,
            k.outcome = CASE WHEN k.send_began_at IS NULL THEN COALESCE(g.unsent_outcome, g.outcome) ELSE g.outcome END,
            k.message = g.message,
            k.error_number = g.error_number,
            k.error_severity = g.error_severity,
            k.error_state = g.error_state,
            k.error_line = g.error_line,
            k.error_procedure = g.error_procedure,
            k.rows_affected = g.rows_affected,
            k.elapsed_ms = g.elapsed_ms,
            k.session_id = g.session_id
        OUTPUT inserted.task_id, inserted.kind, inserted.execution_id, inserted.step_execution_id, inserted.target_execution_id,
            inserted.attempt, inserted.outcome, inserted.send_began_at
        INTO @accepted (task_id, kind, execution_id, step_execution_id, target_execution_id, attempt, outcome, send_began_at)
        FROM @given AS g
        INNER LOOP JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id
        WHERE k.ended_at IS NULL
            AND k.attempt = g.attempt
            AND (g.claim_id IS NULL OR k.claim_id = g.claim_id) -- a restored database gives the numbers of tasks again (I16)
            AND (@term_id IS NULL OR k.term_id = @term_id) -- plan: the rows are found by task_id
            AND (k.kind = N'Run' OR g.outcome NOT IN (N'Succeeded', N'Accepted')); -- a resolution can succeed only with its targets

    -- The UPDATE locks the callbacks, so that a report comes either before, and is seen here, or after. The number of an attempt that was
    -- handed back is used again, so its callback is deleted.
    IF EXISTS (SELECT 1 FROM @accepted AS a WHERE a.send_began_at IS NOT NULL OR a.outcome IN (N'Accepted', N'NoAnswer'))
    BEGIN
        SELECT @timeout_seconds = v.value
        FROM jobs_internal.effective_settings AS v
        WHERE v.name = N'async_exec_timeout_seconds';
        UPDATE c
        SET c.acked = CASE WHEN a.outcome = N'Accepted' THEN 1 ELSE 0 END,
            c.deadline_at = CASE
                WHEN a.outcome NOT IN (N'Accepted', N'NoAnswer') AND (a.outcome = N'Returned' OR c.received_at IS NULL) THEN NULL
                WHEN t.deadline_at < DATEADD(SECOND, COALESCE(c.timeout_seconds, @timeout_seconds), @now) THEN t.deadline_at
                ELSE DATEADD(SECOND, COALESCE(c.timeout_seconds, @timeout_seconds), @now)
            END
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        WHERE c.closed_at IS NULL;
        DELETE c
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
        WHERE a.outcome = N'Returned';
        UPDATE c
        SET c.closed_at = @now,
            c.closed_by = N'Attempt'
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
        WHERE c.deadline_at IS NULL
            AND c.closed_at IS NULL;
        INSERT INTO jobs_internal.callbacks (target_execution_id, attempt, execution_id, task_id, acked, opened_at, deadline_at)
        SELECT
            a.target_execution_id, a.attempt, a.execution_id, a.task_id, CASE WHEN a.outcome = N'Accepted' THEN 1 ELSE 0 END, @now,
            CASE
                WHEN t.deadline_at < DATEADD(SECOND, @timeout_seconds, @now) THEN t.deadline_at
                ELSE DATEADD(SECOND, @timeout_seconds, @now)
            END
        FROM @accepted AS a
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        WHERE a.outcome IN (N'Accepted', N'NoAnswer')
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.callbacks AS c
                WHERE c.target_execution_id = a.target_execution_id
                    AND c.attempt = a.attempt
            )
        ORDER BY a.target_execution_id;
        UPDATE a
        SET a.waits_until = c.deadline_at
        FROM @accepted AS a
        INNER JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
        WHERE c.deadline_at IS NOT NULL
            AND c.closed_at IS NULL;
    END;

    -- Unreachable targets are rare, so this member is not read for every outcome. A binary
    -- collation compares characters without a table of their weights.
    IF CHARINDEX(N'"unreached":', @outcomes COLLATE Latin1_General_BIN2) > 0
        UPDATE k
        SET k.unreached = 1
        FROM OPENJSON(@outcomes) WITH (
            task_id   BIGINT,
            unreached BIT
        ) AS u
        INNER JOIN @accepted AS a ON a.task_id = u.task_id
        INNER LOOP JOIN jobs_internal.task_executions AS k ON k.task_id = a.task_id
        WHERE u.unreached = 1;

    IF CHARINDEX(N'"unsent":', @outcomes COLLATE Latin1_General_BIN2) > 0
        INSERT INTO @unsent (task_id)
        SELECT u.task_id
        FROM OPENJSON(@outcomes) WITH (
            task_id BIGINT,
            unsent  BIT
        ) AS u
        WHERE u.unsent = 1;

    IF CHARINDEX(N'"outcome_unknown":', @outcomes COLLATE Latin1_General_BIN2) > 0
        INSERT INTO @unknown (task_id)
        SELECT u.task_id
        FROM OPENJSON(@outcomes) WITH (
            task_id         BIGINT,
            outcome_unknown BIT
        ) AS u
        WHERE u.outcome_unknown = 1;

    IF CHARINDEX(N'"no_retry":', @outcomes COLLATE Latin1_General_BIN2) > 0
        OR CHARINDEX(N'"retry_after_ms":', @outcomes COLLATE Latin1_General_BIN2) > 0
        OR CHARINDEX(N'"transient":', @outcomes COLLATE Latin1_General_BIN2) > 0
        INSERT INTO @retries (task_id, no_retry, retry_after_ms, transient)
        SELECT r.task_id, r.no_retry, r.retry_after_ms, r.transient
        FROM OPENJSON(@outcomes) WITH (
            task_id        BIGINT,
            no_retry       BIT,
            retry_after_ms BIGINT,
            transient      BIT
        ) AS r
        WHERE r.no_retry = 1
            OR r.retry_after_ms > 0
            OR r.transient = 0;

    IF CHARINDEX(N'"endpoint":', @outcomes COLLATE Latin1_General_BIN2) > 0
        INSERT INTO @endpoints (task_id, endpoint)
        SELECT n.task_id, n.endpoint
        FROM OPENJSON(@outcomes) WITH (
            task_id  BIGINT,
            endpoint NVARCHAR(256)
        ) AS n
        WHERE n.endpoint <> N'';

    -- What a probe returned. It counts only of an attempt that succeeded, which is the last one of its target.
    IF CHARINDEX(N'"probe_rows":', @outcomes COLLATE Latin1_General_BIN2) > 0
        INSERT INTO jobs_internal.rollout_probe_values (execution_id, target_id, row_count, value)
        SELECT a.execution_id, t.target_id, p.probe_rows, TRY_CAST(p.probe_value AS DECIMAL(28, 6))
        FROM OPENJSON(@outcomes) WITH (
            task_id     BIGINT,
            probe_rows  BIGINT,
            probe_value NVARCHAR(41)
        ) AS p
        INNER JOIN @accepted AS a ON a.task_id = p.task_id
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = a.execution_id
        WHERE a.outcome = N'Succeeded'
            AND e.rollout_probe = 1
            AND e.mode IS NULL
            AND p.probe_rows >= 0
            AND NOT EXISTS (
                SELECT 1 FROM jobs_internal.rollout_probe_values AS v WHERE v.execution_id = a.execution_id AND v.target_id = t.target_id
            );

    IF EXISTS (SELECT 1 FROM @given AS g WHERE g.messages IS NOT NULL)
        INSERT INTO jobs_internal.task_messages (
            task_id, ordinal, execution_id, kind, number, severity, state, line, procedure_name, message, row_count
        )
        SELECT
            a.task_id, m.ordinal, a.execution_id, m.kind, COALESCE(m.number, 0), COALESCE(m.severity, 0),
            COALESCE(m.state, 0), COALESCE(m.line, 0), m.[procedure], m.text, m.rows
        FROM @accepted AS a
        INNER JOIN @given AS g ON g.task_id = a.task_id
        CROSS APPLY OPENJSON(g.messages) WITH (
            ordinal     INT,
            kind        NVARCHAR(20),
            number      INT,
            severity    TINYINT,
            state       TINYINT,
            line        INT,
            [procedure] NVARCHAR(256),
            text        NVARCHAR(MAX),
            rows        BIGINT
        ) AS m
        WHERE g.messages IS NOT NULL;

    -- Success is the common case and needs no policy.
    UPDATE t
    SET t.lifecycle = N'Succeeded',
        t.is_active = 0,
        t.end_time = @now,
        t.next_attempt_at = NULL,
        t.last_message = CASE
            WHEN g.message <> N'' THEN CONCAT(
                N'Step ', t.step_id, N' succeeded execution on ',
                CASE
                    WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', COALESCE(n.endpoint, t.server_name), N'''')
                    ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
                END,
                N'. ', g.message
            )
        END,
        t.error_number = g.error_number,
        t.error_line = g.error_line,
        t.outcome_unknown = 0
    FROM @accepted AS a
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
    INNER JOIN @given AS g ON g.task_id = a.task_id
    LEFT JOIN @endpoints AS n ON n.task_id = a.task_id
    WHERE a.outcome = N'Succeeded'
        AND a.waits_until IS NULL
        AND t.lifecycle = @former;

    IF EXISTS (SELECT 1 FROM @accepted AS a WHERE a.waits_until IS NOT NULL)
        UPDATE t
        SET t.lifecycle = N'WaitingForCallback',
            t.last_message = CONCAT(
                N'Step ', t.step_id, N' waits for a callback about ',
                CASE
                    WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', COALESCE(n.endpoint, t.server_name), N'''')
                    ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
                END,
                N' until ', CONVERT(NVARCHAR(19), a.waits_until, 126), N'Z.',
                N' ' + NULLIF(g.message, N'')
            ),
            t.error_number = g.error_number,
            t.error_line = g.error_line
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        INNER JOIN @given AS g ON g.task_id = a.task_id
        LEFT JOIN @endpoints AS n ON n.task_id = a.task_id
        WHERE a.waits_until IS NOT NULL
            AND t.lifecycle = @former;

    -- The wait before retry n is min(maximum, initial * multiplier ^ (n - 1)); logarithms keep the power in range.
    WITH unsuccessful AS (
        SELECT
            a.task_id,
            a.kind,
            a.outcome,
            g.message,
            d.step_id,
            CASE
                WHEN a.kind <> N'Run' THEN NULL
                WHEN e.mode IS NOT NULL THEN CASE e.mode WHEN N'Trial' THEN N'the run is a trial' ELSE N'the run is a preflight' END
                WHEN d.on_unknown_outcome <> N'Retry' THEN N'on_unknown_outcome is ' + d.on_unknown_outcome
                WHEN d.at_most_once = 1 AND c.command_type NOT IN (N'TSql', N'Upkeep') THEN N'at_most_once is 1'
            END AS not_repeated, -- why no attempt follows an unknown outcome
            x.retry_after_ms,
            CASE
                WHEN a.outcome = N'Failed' AND d.retry_errors = N'Transient' AND x.transient = 0
                    AND (e.mode IS NULL OR a.kind <> N'Run') AND COALESCE(x.no_retry, 0) = 0
                    AND COALESCE(t.attempts, s.attempts) <= d.retry_attempts
                    THEN CONCAT(
                        CASE WHEN g.message <> N'' AND g.message NOT LIKE N'%[.!?]' THEN N'.' END, N' Not retried: the error',
                        N' ' + CAST(g.error_number AS NVARCHAR(12)), N' is not transient (@retry_errors).'
                    )
            END AS not_retried, -- why no attempt follows a failure, although the number of attempts permits one
            COALESCE(t.attempts, s.attempts) AS attempts,
            CASE WHEN t.target_execution_id IS NULL THEN s.last_message ELSE t.last_message END AS former_message,
            CASE
                WHEN t.target_execution_id IS NULL AND d.target_group_id = '00000000-0000-0000-0000-000000000000'
                    THEN SUBSTRING(d.target_group_name, 2, LEN(d.target_group_name) - 2)
                WHEN t.target_execution_id IS NULL THEN CONCAT(N'target group ''', d.target_group_name, N'''')
                WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', COALESCE(n.endpoint, t.server_name), N'''')
                ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
            END AS place,
            CASE
                WHEN a.outcome IN (N'TimedOut', N'Canceled') THEN a.outcome
                WHEN e.stop_requested_at IS NOT NULL AND e.drains = 1 AND a.kind = N'Run' AND a.outcome IN (N'Failed', N'Unknown')
                    THEN N'Failed' -- what runs goes on to its end, and this is its end
                WHEN e.stop_requested_at IS NOT NULL THEN N'Canceled'
                WHEN a.outcome = N'Returned' AND COALESCE(t.attempts, s.attempts) <= 1 THEN N'Created'
                WHEN a.outcome = N'Returned' THEN N'WaitingForRetry'
                WHEN e.mode IS NOT NULL AND a.kind = N'Run' THEN N'Failed'
                WHEN a.outcome = N'Unknown' AND a.kind = N'Run' AND d.on_unknown_outcome <> N'Retry' THEN N'Failed'
                WHEN a.outcome = N'Unknown' AND a.kind = N'Run' AND d.at_most_once = 1 AND c.command_type NOT IN (N'TSql', N'Upkeep')
                    THEN N'Failed'
                WHEN a.outcome = N'Failed' AND x.no_retry = 1 THEN N'Failed'
                WHEN a.outcome = N'Failed' AND d.retry_errors = N'Transient' AND x.transient = 0 THEN N'Failed'
                WHEN COALESCE(t.attempts, s.attempts) <= d.retry_attempts THEN N'WaitingForRetry'
                ELSE N'Failed'
            END AS lifecycle,
            CAST(d.initial_retry_interval_seconds AS FLOAT) AS initial_seconds,
            CAST(d.maximum_retry_interval_seconds AS FLOAT) AS maximum_seconds,
            CAST(d.retry_interval_backoff_multiplier AS FLOAT) AS multiplier
        FROM @accepted AS a
        INNER JOIN @given AS g ON g.task_id = a.task_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = a.execution_id
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = a.step_execution_id
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
        LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        LEFT JOIN @retries AS x ON x.task_id = a.task_id
        LEFT JOIN @endpoints AS n ON n.task_id = a.task_id
        WHERE a.outcome <> N'Succeeded'
            AND a.waits_until IS NULL
    )
    INSERT INTO @next (task_id, lifecycle, attempts, wait_ms, message)
    SELECT
        r.task_id,
        r.lifecycle,
        CASE WHEN r.outcome = N'Returned' THEN r.attempts - 1 ELSE r.attempts END,
        CASE
            WHEN r.lifecycle NOT IN (N'Created', N'WaitingForRetry') THEN NULL
            WHEN r.outcome = N'Returned' THEN 0
            WHEN r.retry_after_ms >= r.maximum_seconds * 1000 THEN r.maximum_seconds * 1000
            WHEN LOG(r.initial_seconds) + (r.attempts - 1) * LOG(r.multiplier) >= LOG(r.maximum_seconds) THEN r.maximum_seconds * 1000
            WHEN r.retry_after_ms > 1000 * r.initial_seconds * POWER(r.multiplier, r.attempts - 1) THEN r.retry_after_ms
            ELSE CAST(1000 * r.initial_seconds * POWER(r.multiplier, r.attempts - 1) AS INT)
        END,
        CASE
            WHEN r.outcome = N'Unknown' THEN CONCAT(
                N'The outcome of attempt ', r.attempts, N' of step ', r.step_id, N' on ', r.place, N' is unknown',
                CASE
                    WHEN r.not_repeated IS NOT NULL AND r.lifecycle = N'Failed'
                        THEN CONCAT(N', and the step is not retried after that (', r.not_repeated, N')')
                    WHEN r.kind = N'Run' AND r.lifecycle = N'Canceled' THEN N', and a stop was requested'
                END,
                N': ', r.message
            )
            WHEN r.outcome = N'Returned' AND r.lifecycle = N'Canceled' THEN CONCAT(
                N'Step ', r.step_id, N' was canceled on ', r.place, N' by a stop request.',
                N' Before: ' + CASE WHEN r.attempts > 1 THEN r.former_message END
            )
            WHEN r.outcome = N'Returned' THEN r.former_message
            ELSE COALESCE(NULLIF(r.message, N''), CONCAT(N'Step ', r.step_id, N' on ', r.place, N': ', r.outcome, N'.'))
                + CASE WHEN r.lifecycle = N'Failed' AND r.not_retried IS NOT NULL THEN r.not_retried ELSE N'' END
        END
    FROM unsuccessful AS r;

    IF EXISTS (SELECT 1 FROM @next)
        UPDATE t
        SET t.lifecycle = n.lifecycle,
            t.is_active = CASE WHEN n.lifecycle IN (N'Created', N'WaitingForRetry') THEN 1 ELSE 0 END,
            t.end_time = CASE WHEN n.lifecycle IN (N'Created', N'WaitingForRetry') THEN NULL ELSE @now END,
            t.attempts = n.attempts,
            t.start_time = CASE WHEN n.attempts = 0 THEN NULL ELSE t.start_time END,
            t.attempt_start_time = CASE WHEN n.attempts = 0 THEN NULL ELSE t.attempt_start_time END,
            t.deadline_at = CASE WHEN n.attempts = 0 THEN NULL ELSE t.deadline_at END,
            t.next_attempt_at = DATEADD(MILLISECOND, n.wait_ms, @now),
            t.last_message = n.message,
            t.error_number = g.error_number,
            t.error_line = g.error_line,
            t.outcome_unknown = CASE
                WHEN a.outcome = N'Unknown' OR (@ended = 1 AND a.outcome IN (N'TimedOut', N'Canceled')) THEN 1
                WHEN EXISTS (SELECT 1 FROM @unknown AS u WHERE u.task_id = a.task_id) THEN 1
                WHEN a.outcome = N'Returned' OR EXISTS (SELECT 1 FROM @unsent AS u WHERE u.task_id = a.task_id) THEN t.outcome_unknown
                ELSE 0
            END
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = a.target_execution_id
        INNER JOIN @given AS g ON g.task_id = a.task_id
        INNER JOIN @next AS n ON n.task_id = a.task_id
        WHERE t.lifecycle = @former;

    IF EXISTS (SELECT 1 FROM @accepted AS a WHERE a.kind = N'Resolve')
        UPDATE s
        SET s.lifecycle = n.lifecycle,
            s.is_active = CASE WHEN n.lifecycle IN (N'Created', N'WaitingForRetry') THEN 1 ELSE 0 END,
            s.end_time = CASE WHEN n.lifecycle IN (N'Created', N'WaitingForRetry') THEN NULL ELSE @now END,
            s.attempts = n.attempts,
            s.start_time = CASE WHEN n.attempts = 0 THEN NULL ELSE s.start_time END,
            s.attempt_start_time = CASE WHEN n.attempts = 0 THEN NULL ELSE s.attempt_start_time END,
            s.next_attempt_at = DATEADD(MILLISECOND, n.wait_ms, @now),
            s.last_message = n.message
        FROM @accepted AS a
        INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = a.step_execution_id
        INNER JOIN @next AS n ON n.task_id = a.task_id
        WHERE a.kind = N'Resolve'
            AND s.lifecycle = N'InProgress';

    IF @report = 1
        SELECT
            g.task_id,
            CAST(CASE
                WHEN k.task_id IS NULL THEN N'the task does not exist'
                WHEN k.term_id <> @term_id THEN N'another term held the task'
                WHEN k.attempt <> g.attempt THEN N'the task is another attempt'
                WHEN g.claim_id IS NOT NULL AND (k.claim_id IS NULL OR k.claim_id <> g.claim_id)
                    THEN N'the task is another claim of the same number'
                WHEN k.kind = N'Resolve' AND k.outcome IS NULL THEN N'a resolution can succeed only with its targets'
                ELSE N'the task has its outcome already'
            END AS NVARCHAR(100)) AS reason
        FROM @given AS g
        LEFT JOIN @accepted AS a ON a.task_id = g.task_id
        LEFT JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id
        WHERE a.task_id IS NULL
        ORDER BY g.task_id;
    RETURN 0;
END;
