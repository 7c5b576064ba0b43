-- Claims resolutions of target groups, oldest first. The resolutions of steps without a group are claimed like the
-- others: the only target of Upkeep is the control database, and that of an action its endpoint
-- (jobs_internal.controller_pass returns the member).
--
-- Parameters:
--   @term_id        The claiming term.
--   @room           Maximum number of tasks to claim; 0 or less: none.
--   @command_types  The types of commands that the agent runs, separated by commas.
--   @claim_id       The GUID of the pass, stored with each task; NULL: the agent gave none.
-- Called by: jobs_internal.controller_pass, within its transaction.
-- Locks:     the steps' rows (U, then X), skipping locked rows; inserts into task_executions.
-- Returns:   the number of claimed tasks.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.claim_steps
    @term_id       BIGINT,
    @room          INT,
    @command_types NVARCHAR(400) = N'TSql',
    @claim_id      UNIQUEIDENTIFIER = NULL,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @claimed INT;
    DECLARE @picked TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);

    -- Most passes find none, which needs no lock.
    IF @room <= 0
        OR NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.next_attempt_at IS NOT NULL
                AND s.next_attempt_at <= @now
        )
        RETURN 0;

    -- index: IX_step_executions_due, which has the required order; another claim skips locked keys
    INSERT INTO @picked (step_execution_id)
    SELECT TOP (@room) s.step_execution_id
    FROM jobs_internal.step_executions AS s WITH (UPDLOCK, READPAST, ROWLOCK)
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    WHERE s.next_attempt_at IS NOT NULL
        AND s.next_attempt_at <= @now
        AND e.stop_requested_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        )
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.job_steps AS d
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
            WHERE d.job_id = s.job_id
                AND d.version = s.job_version
                AND d.step_id = s.step_id
                AND CHARINDEX(N',' + CASE
                    WHEN e.mode IS NULL THEN c.command_type
                    WHEN c.command_type = N'TSql' THEN e.mode
                    ELSE N'(skipped)' -- jobs_internal.skip_actions
                END + N',', N',' + @command_types + N',') > 0
        )
    ORDER BY s.next_attempt_at, s.step_execution_id;
    SET @claimed = @@ROWCOUNT;
    IF @claimed = 0
        RETURN 0;

    INSERT INTO jobs_internal.task_executions (kind, execution_id, step_execution_id, attempt, term_id, claimed_at, claim_id)
    SELECT N'Resolve', s.execution_id, s.step_execution_id, s.attempts + 1, @term_id, @now, @claim_id
    FROM @picked AS p
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = p.step_execution_id
    ORDER BY s.step_execution_id;

    UPDATE s
    SET s.lifecycle = N'InProgress',
        s.attempts = s.attempts + 1,
        s.start_time = COALESCE(s.start_time, @now),
        s.attempt_start_time = @now,
        s.next_attempt_at = NULL
    FROM @picked AS p
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = p.step_execution_id;
    RETURN @claimed;
END;
