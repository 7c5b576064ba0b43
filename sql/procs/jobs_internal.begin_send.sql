-- Records that attempts of actions are about to send their requests, and opens their callbacks. An agent calls it right
-- before the first byte of a request and sends only if the task is not refused. So an agent that was frozen and lost its
-- tasks does not send any more, and hand_over knows which requests may have been sent.
--
-- Parameters:
--   @term_id    The term that holds the tasks.
--   @sends      JSON array of objects: task_id, attempt, claim_id (see jobs_internal.record_outcomes), token_hash (64
--               hexadecimal digits: the SHA-256 of the token in the callback's address), callback_timeout_seconds (the time
--               that a report has; NULL: the setting async_exec_timeout_seconds). A callback is opened if one of the latter two is given.
--   @term_guid  The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/task_host.go, once per batch of attempts.
-- Locks:     the tasks (X); inserts into callbacks.
-- Returns:   one row per refused task: task_id, reason.
-- Throws:
--   50029 the sends are missing, or a member is out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.begin_send
    @term_id   BIGINT,
    @sends     NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @given TABLE (
        task_id         BIGINT NOT NULL PRIMARY KEY,
        attempt         INT NOT NULL,
        claim_id        UNIQUEIDENTIFIER NULL,
        token_hash      BINARY(32) NULL,
        timeout_seconds INT NULL
    );
    DECLARE @begun TABLE (
        task_id             BIGINT NOT NULL PRIMARY KEY,
        target_execution_id BIGINT NOT NULL,
        attempt             INT NOT NULL,
        execution_id        BIGINT NOT NULL
    );

    IF @sends IS NULL OR ISJSON(@sends) = 0
        THROW 50029, N'Invalid @sends of begin_send: want a JSON array.', 1;
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@sends) WITH (
            task_id                  BIGINT,
            attempt                  INT,
            token_hash               VARCHAR(100),
            callback_timeout_seconds INT
        ) AS o
        WHERE o.task_id IS NULL
            OR o.attempt IS NULL
            OR o.callback_timeout_seconds < 1
            OR (o.token_hash IS NOT NULL AND (LEN(o.token_hash) <> 64 OR TRY_CONVERT(BINARY(32), o.token_hash, 2) IS NULL))
    )
        THROW 50029, N'Invalid @sends of begin_send: want task_id, attempt, a token_hash of 64 hex digits, and a time-out from 1 on.', 1;
    INSERT INTO @given (task_id, attempt, claim_id, token_hash, timeout_seconds)
    SELECT o.task_id, o.attempt, o.claim_id, CONVERT(BINARY(32), o.token_hash, 2), o.callback_timeout_seconds
    FROM OPENJSON(@sends) WITH (
        task_id                  BIGINT,
        attempt                  INT,
        claim_id                 UNIQUEIDENTIFIER,
        token_hash               VARCHAR(100),
        callback_timeout_seconds INT
    ) AS o;

    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;
    BEGIN TRANSACTION;

    UPDATE k
    SET k.send_began_at = @now
    OUTPUT inserted.task_id, inserted.target_execution_id, inserted.attempt, inserted.execution_id
    INTO @begun (task_id, target_execution_id, attempt, execution_id)
    FROM @given AS g
    INNER LOOP JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id
    WHERE k.ended_at IS NULL
        AND k.attempt = g.attempt
        AND (g.claim_id IS NULL OR k.claim_id = g.claim_id)
        AND k.term_id = @term_id
        AND k.kind = N'Run'
        AND k.send_began_at IS NULL;

    INSERT INTO jobs_internal.callbacks (target_execution_id, attempt, execution_id, task_id, token_hash, timeout_seconds, opened_at)
    SELECT b.target_execution_id, b.attempt, b.execution_id, b.task_id, g.token_hash, g.timeout_seconds, @now
    FROM @begun AS b
    INNER JOIN @given AS g ON g.task_id = b.task_id
    WHERE g.token_hash IS NOT NULL
        OR g.timeout_seconds IS NOT NULL
    ORDER BY b.target_execution_id;

    COMMIT TRANSACTION;

    SELECT
        g.task_id,
        CAST(CASE
            WHEN k.task_id IS NULL THEN N'the task does not exist'
            WHEN k.term_id <> @term_id THEN N'another term held the task'
            WHEN k.attempt <> g.attempt THEN N'the task is another attempt'
            WHEN g.claim_id IS NOT NULL AND (k.claim_id IS NULL OR k.claim_id <> g.claim_id)
                THEN N'the task is another claim of the same number'
            WHEN k.kind <> N'Run' THEN N'the task is a resolution'
            WHEN k.ended_at IS NOT NULL THEN N'the task has its outcome already'
            ELSE N'the attempt has begun to send already'
        END AS NVARCHAR(100)) AS reason
    FROM @given AS g
    LEFT JOIN @begun AS b ON b.task_id = g.task_id
    LEFT JOIN jobs_internal.task_executions AS k ON k.task_id = g.task_id
    WHERE b.task_id IS NULL
    ORDER BY g.task_id;
    RETURN 0;
END;
