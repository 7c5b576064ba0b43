-- Claims the oldest question that waits for an agent. First it ends questions whose agent was lost, those that no agent has claimed
-- within 15 minutes, because nobody waits for them any more, and all that wait if questions were switched off meanwhile. While the control
-- database is paused, or the job agent is not Ready, nothing is claimed.
--
-- Parameters:
--   @term_id    The caller's term.
--   @term_guid  The term's GUID.
-- Called by: agent/questions.go, when jobs_internal.controller_pass returns questions_due.
-- Locks:     questions that have not ended (U, X; READPAST).
-- Returns:   1: the question, or no row: question_id, target_group_id, question, credential_name, max_rows, max_rows_of_target,
--               timeout_seconds.
--            2: the databases that are paused now: target_id.
-- Throws:
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.claim_question
    @term_id   BIGINT,
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @question_id BIGINT;
    DECLARE @permitted INT = (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'questions');
    DECLARE @found TABLE (question_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @active TABLE (
        question_id BIGINT NOT NULL PRIMARY KEY,
        term_id     BIGINT NULL,
        asked_at    DATETIME2(7) NOT NULL
    );

    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    -- Plan: IX_questions_active, 20 rows or so.
    INSERT INTO @found (question_id)
    SELECT q.question_id
    FROM jobs_internal.questions AS q
    WHERE q.is_active = 1;

    BEGIN TRANSACTION;
    -- asked_at is in no other index, so that the locks are on the clustered keys, and the rows are checked again.
    INSERT INTO @active (question_id, term_id, asked_at)
    SELECT q.question_id, q.term_id, q.asked_at
    FROM @found AS f
    INNER LOOP JOIN jobs_internal.questions AS q WITH (UPDLOCK, READPAST, ROWLOCK) ON q.question_id = f.question_id
    WHERE q.is_active = 1;
    UPDATE q
    SET q.lifecycle = CASE WHEN q.cancel_requested_at IS NOT NULL THEN N'Canceled' ELSE N'Failed' END,
        q.is_active = 0,
        q.ended_at = @now,
        q.message = CASE
            WHEN q.cancel_requested_at IS NOT NULL THEN N'Canceled. The agent was lost; its sessions on the servers end by themselves.'
            WHEN a.term_id IS NOT NULL THEN N'The agent was lost; ask again. What has come so far is not complete.'
            WHEN @permitted = 0 THEN N'Questions were switched off before an agent began with it.'
            ELSE N'No agent began with the question within 15 minutes; ask again.'
        END
    FROM @active AS a
    INNER LOOP JOIN jobs_internal.questions AS q ON q.question_id = a.question_id
    WHERE (a.term_id IS NULL AND (@permitted = 0 OR a.asked_at < DATEADD(MINUTE, -15, @now)))
        OR (
            a.term_id IS NOT NULL
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.terms AS t
                WHERE t.term_id = a.term_id
                    AND t.ended_at IS NULL -- one that has expired lasts until a pass ends it
            )
        );
    SELECT @question_id = MIN(a.question_id)
    FROM @active AS a
    WHERE a.term_id IS NULL
        AND @permitted = 1
        AND a.asked_at >= DATEADD(MINUTE, -15, @now)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_agent AS g
            WHERE g.id = 1
                AND (g.state IN (N'Disabled', N'Faulted', N'Deleting', N'Deleted') OR g.paused_at IS NOT NULL)
        );
    UPDATE q
    SET q.lifecycle = N'InProgress',
        q.term_id = @term_id,
        q.started_at = @now
    FROM @active AS a
    INNER LOOP JOIN jobs_internal.questions AS q ON q.question_id = a.question_id
    WHERE a.question_id = @question_id;
    COMMIT TRANSACTION;

    SELECT
        q.question_id,
        q.target_group_id,
        q.question,
        q.credential_name,
        q.max_rows,
        q.max_rows_of_target,
        q.timeout_seconds
    FROM jobs_internal.questions AS q
    WHERE q.question_id = @question_id;
    SELECT p.target_id
    FROM jobs_internal.target_pauses AS p
    WHERE @question_id IS NOT NULL
        AND p.resumed_at IS NULL
        AND (p.ends_at IS NULL OR p.ends_at > @now);
    RETURN 0;
END;
