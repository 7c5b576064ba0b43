-- Ends waits for callbacks: by the report, if one was accepted, else by a stop request or at the deadline. A run that goes on to its end
-- after a stop request (drains) waits for its reports. A failure that is reported is retried by the step's policy, unless its retry_errors
-- is Transient. The targets' steps are not parked any more; jobs_internal.advance does the same for their runs.
--
-- Cost: (callbacks that end), at most @slice a call; the next pass ends the rest. Callbacks that still wait are not read.
--
-- Parameters:
--   @slice  Maximum number of callbacks that end, at least 1.
--   @more   Output. 1: that many ended, so the next pass should follow at once.
-- Called by: jobs_internal.advance, within a transaction that holds the application lock jobagent.advance.
-- Locks:     the callbacks (U, then X), skipping locked rows, which a report is changing; their targets and steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_callbacks
    @slice INT = 1000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @room INT = @slice;
    DECLARE @ended INT;
    DECLARE @outcomes NVARCHAR(MAX);
    DECLARE @wanted TABLE (
        target_execution_id BIGINT NOT NULL,
        attempt             INT NOT NULL,
        stopping            BIT NOT NULL,
        PRIMARY KEY (target_execution_id, attempt)
    );
    DECLARE @locked TABLE (
        target_execution_id BIGINT NOT NULL,
        attempt             INT NOT NULL,
        task_id             BIGINT NOT NULL,
        deadline_at         DATETIME2(7) NOT NULL,
        success             BIT NULL,
        message             NVARCHAR(MAX) NULL,
        closed_by           NVARCHAR(10) NOT NULL,
        PRIMARY KEY (target_execution_id, attempt)
    );

    -- Plan: at most @slice keys of IX_callbacks_received_at and IX_callbacks_deadline_at. For stop requests, IX_job_executions_stopping;
    -- per run a range of IX_step_executions_active, and per step the start of IX_target_executions_waiting, until there are @room keys.
    -- Nothing is sorted.
    INSERT INTO @wanted (target_execution_id, attempt, stopping)
    SELECT TOP (@room) c.target_execution_id, c.attempt, 0
    FROM jobs_internal.callbacks AS c
    WHERE c.received_at IS NOT NULL
        AND c.deadline_at IS NOT NULL
        AND c.closed_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            INNER JOIN jobs_internal.target_executions AS t ON t.execution_id BETWEEN z.first_id AND z.last_id
            WHERE z.kind = N'Run'
                AND t.target_execution_id = c.target_execution_id
        )
    ORDER BY c.received_at;
    SET @room = @room - @@ROWCOUNT;
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NOT NULL
    )
    BEGIN
        INSERT INTO @wanted (target_execution_id, attempt, stopping)
        SELECT TOP (@room) w.target_execution_id, w.attempts, 1
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        CROSS APPLY (
            SELECT TOP (@room) t.target_execution_id, t.attempts
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = s.step_execution_id
                AND t.lifecycle = N'WaitingForCallback'
                AND NOT EXISTS (SELECT 1 FROM @wanted AS v WHERE v.target_execution_id = t.target_execution_id AND v.attempt = t.attempts)
            ORDER BY t.target_execution_id
        ) AS w
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NOT NULL
            AND COALESCE(e.drains, 0) = 0
            AND s.is_active = 1
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND e.execution_id BETWEEN z.first_id AND z.last_id
            );
        SET @room = @room - @@ROWCOUNT;
    END;
    INSERT INTO @wanted (target_execution_id, attempt, stopping)
    SELECT TOP (@room) c.target_execution_id, c.attempt, 0
    FROM jobs_internal.callbacks AS c
    WHERE c.deadline_at IS NOT NULL
        AND c.closed_at IS NULL
        AND c.deadline_at <= @now
        AND NOT EXISTS (SELECT 1 FROM @wanted AS w WHERE w.target_execution_id = c.target_execution_id AND w.attempt = c.attempt)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            INNER JOIN jobs_internal.target_executions AS t ON t.execution_id BETWEEN z.first_id AND z.last_id
            WHERE z.kind = N'Run'
                AND t.target_execution_id = c.target_execution_id
        )
    ORDER BY c.deadline_at;
    SET @room = @room - @@ROWCOUNT;
    IF NOT EXISTS (SELECT 1 FROM @wanted AS w)
        RETURN 0;

    -- message is in no index, so that the locks are on the clustered key. A report that comes later finds the row closed.
    INSERT INTO @locked (target_execution_id, attempt, task_id, deadline_at, success, message, closed_by)
    SELECT
        c.target_execution_id, c.attempt, c.task_id, c.deadline_at, c.success, c.message,
        CASE
            WHEN c.success IS NOT NULL THEN N'Report'
            WHEN w.stopping = 1 THEN N'Stop'
            ELSE N'Deadline'
        END
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.callbacks AS c WITH (UPDLOCK, READPAST, ROWLOCK) ON c.target_execution_id = w.target_execution_id
        AND c.attempt = w.attempt
    WHERE c.closed_at IS NULL
        AND c.deadline_at IS NOT NULL;
    SET @ended = @@ROWCOUNT;
    IF @ended = 0
        RETURN 0;
    SET @more = CASE WHEN @room = 0 THEN 1 ELSE 0 END; -- not if another session holds all of them
    UPDATE c
    SET c.closed_at = @now,
        c.closed_by = l.closed_by
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.callbacks AS c ON c.target_execution_id = l.target_execution_id AND c.attempt = l.attempt;

    SET @outcomes = (
        SELECT
            l.task_id,
            l.attempt,
            CASE l.closed_by
                WHEN N'Stop' THEN N'Canceled'
                WHEN N'Deadline' THEN N'TimedOut'
                ELSE CASE WHEN l.success = 1 THEN N'Succeeded' ELSE N'Failed' END
            END AS outcome,
            CASE
                WHEN l.closed_by = N'Stop' THEN CONCAT(
                    N'Step ', t.step_id, N' was canceled by a stop request while it waited for a callback about ', p.place,
                    N'. Whether the request was carried out is unknown.'
                )
                WHEN l.closed_by = N'Deadline' THEN CONCAT(
                    N'Step ', t.step_id, N' got no callback about ', p.place, N' until ', CONVERT(NVARCHAR(19), l.deadline_at, 126),
                    N'Z. Whether the request was carried out is unknown.'
                )
                WHEN l.success = 1 THEN l.message
                ELSE CONCAT(N'Step ', t.step_id, N' failed on ', p.place, N', as its callback reports', N': ' + NULLIF(l.message, N''))
            END AS message,
            CASE WHEN l.success = 0 THEN CAST(0 AS BIT) END AS transient -- a receiver does not report that another try would help
        FROM @locked AS l
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id
        CROSS APPLY (
            SELECT CASE
                WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', t.server_name, N'''')
                ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
            END AS place
        ) AS p
        ORDER BY l.task_id
        FOR JSON PATH
    );
    EXECUTE jobs_internal.record_outcomes @outcomes = @outcomes, @ended = 1, @now = @now;

    UPDATE s
    SET s.parked = 0
    FROM @locked AS l
    INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
    WHERE s.parked = 1;
    RETURN 0;
END;
