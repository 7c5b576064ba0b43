-- Cancels a question: the queries on the servers are canceled within seconds, and what has come so far stays. A question that has ended, or
-- was canceled before, is left as it is.
--
-- Parameters:
--   @question_id  The question, as in jobs.questions.
-- Called by: members of the role jobs_operator.
-- Locks:     the question (U, X); an insert into audit_entries.
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50426 the question does not exist, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_cancel_question
    @question_id BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @by NVARCHAR(256) = (SELECT c.name FROM jobs_internal.current_caller AS c);
    DECLARE @group NVARCHAR(128);
    DECLARE @lifecycle NVARCHAR(20);
    DECLARE @canceled_at DATETIME2(7);
    DECLARE @audit_id NVARCHAR(100) = CAST(@question_id AS NVARCHAR(100));

    BEGIN TRANSACTION;
    -- lifecycle is in no other index, so that the lock is on the clustered key.
    SELECT
        @group = q.target_group_name,
        @lifecycle = q.lifecycle,
        @canceled_at = q.cancel_requested_at
    FROM jobs_internal.questions AS q WITH (UPDLOCK)
    WHERE q.question_id = @question_id;
    IF @lifecycle IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The question ', @question_id, N' does not exist, or was deleted. The view jobs.questions lists questions.'
        ), N'%', N'%%');
        THROW 50426, @message, 1;
    END;
    IF @lifecycle IN (N'Created', N'InProgress') AND @canceled_at IS NULL
    BEGIN
        UPDATE q
        SET q.cancel_requested_at = @now,
            q.canceled_by = @by,
            q.lifecycle = CASE WHEN @lifecycle = N'Created' THEN N'Canceled' ELSE q.lifecycle END,
            q.is_active = CASE WHEN @lifecycle = N'Created' THEN 0 ELSE 1 END,
            q.ended_at = CASE WHEN @lifecycle = N'Created' THEN @now END,
            q.message = CASE WHEN @lifecycle = N'Created' THEN N'Canceled before an agent began with it.' END
        FROM jobs_internal.questions AS q
        WHERE q.question_id = @question_id;
        EXECUTE jobs_internal.audit
            @action = N'sp_cancel_question',
            @object_kind = N'Question',
            @object_name = @group,
            @object_id = @audit_id,
            @now = @now;
    END;
    COMMIT TRANSACTION;
    RETURN 0;
END;
