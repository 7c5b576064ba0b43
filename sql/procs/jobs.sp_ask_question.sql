-- Asks the databases of a target group a question in T-SQL. An agent asks them, and brings the rows back: jobs.questions,
-- jobs.question_shapes, jobs.question_rows and jobs.question_errors. The text runs in a transaction that is rolled back, on a replica that
-- may be read where there is one; a text with statements that cannot be rolled back is refused by the agent before anything is sent.
-- Databases that are paused are not asked; windows of databases do not matter, because nothing is changed.
--
-- Whoever may ask may read what the credentials of the agents may read. So questions are switched off until an administrator switches them
-- on: EXECUTE jobs.sp_set_setting N'questions', 1.
--
-- Parameters:
--   @target_group_name   Name of the target group.
--   @question            The T-SQL text, of at most 100,000 characters. GO separates batches.
--   @credential_name     The credential, as of a step. NULL or empty: the agent's default.
--   @max_rows            Most rows of all databases together, 1 to 10,000. Rows of more than 4,000,000 characters in all are cut off, too.
--   @max_rows_of_target  Most rows of one database, 1 to 10,000; NULL: no limit of its own.
--   @timeout_seconds     Time limit of one database, its login included, 1 to 600.
--   @question_id         Receives the id of the question.
-- Called by: members of the role jobs_operator.
-- Locks:     the target group's row (U); an insert into questions, and up to 10 older ones (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50097 a text is longer than its limit.
--   50106 the target group does not exist.
--   50147 an option of the caller's session does not permit changes.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50193 the control database is paused, and the run does not exist yet.
--   50422 questions are switched off.
--   50423 the question is missing, empty or too long.
--   50424 a limit of the question is out of range.
--   50425 too many questions have not ended.
CREATE OR ALTER PROCEDURE jobs.sp_ask_question
    @target_group_name  NVARCHAR(129),
    @question           NVARCHAR(MAX),
    @credential_name    NVARCHAR(129) = NULL,
    @max_rows           INT = 1000,
    @max_rows_of_target INT = NULL,
    @timeout_seconds    INT = 30,
    @question_id        BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @most INT = 20; -- questions that have not ended
    DECLARE @kept INT = 100; -- questions that are kept
    DECLARE @first_kept BIGINT;
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @by NVARCHAR(256);
    DECLARE @by_front BIT;
    DECLARE @days INT = (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'question_retention_days');
    DECLARE @audit_id NVARCHAR(100);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@credential_name) > 256
        THROW 50097, N'Invalid @credential_name: want at most 128 characters, not 129 or more.', 1;
    IF (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'questions') = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Questions to target groups are switched off. To switch them on, an administrator sets the setting ''questions'' to 1 ',
            N'(jobs.sp_set_setting). ',
            N'Members of the role jobs_operator can then read whatever the credentials of the agents can read.'
        ), N'%', N'%%');
        THROW 50422, @message, 1;
    END;
    IF @question IS NULL OR DATALENGTH(@question) > 200000
        OR REPLACE(REPLACE(REPLACE(@question, NCHAR(13), N' '), NCHAR(10), N' '), NCHAR(9), N' ') = N''
        THROW 50423, N'Invalid @question: want a T-SQL text of 1 to 100,000 characters.', 1;
    IF @max_rows IS NULL OR @max_rows NOT BETWEEN 1 AND 10000
        THROW 50424, N'Invalid @max_rows: want 1 to 10000.', 1;
    IF @max_rows_of_target NOT BETWEEN 1 AND 10000
        THROW 50424, N'Invalid @max_rows_of_target: want 1 to 10000.', 1;
    IF @timeout_seconds IS NULL OR @timeout_seconds NOT BETWEEN 1 AND 600
        THROW 50424, N'Invalid @timeout_seconds: want 1 to 600 seconds.', 1;
    SET @credential_name = NULLIF(LTRIM(@credential_name), N'');
    SELECT
        @by = c.name,
        @by_front = CASE WHEN c.door IN (N'REST', N'Web') THEN 1 ELSE 0 END
    FROM jobs_internal.current_caller AS c;

    EXECUTE jobs_internal.check_not_paused;
    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    EXECUTE jobs_internal.lock_target_group
        @target_group_name = @target_group_name OUTPUT,
        @target_group_id = @target_group_id OUTPUT;
    -- Two callers at the same time may exceed the limit by one. Plan: IX_questions_active.
    IF (SELECT COUNT(*) FROM jobs_internal.questions AS q WHERE q.is_active = 1) >= @most
        THROW 50425, N'There are 20 questions that have not ended: wait for one, or cancel one with jobs.sp_cancel_question.', 1;

    INSERT INTO jobs_internal.questions (
        target_group_id, target_group_name, question, credential_name, max_rows, max_rows_of_target, timeout_seconds, lifecycle, is_active,
        asked_at, asked_by, asked_by_front, expires_at
    )
    VALUES (
        @target_group_id, @target_group_name, @question, @credential_name, @max_rows, @max_rows_of_target, @timeout_seconds, N'Created', 1,
        @now, @by, @by_front, DATEADD(DAY, @days, @now)
    );
    SET @question_id = SCOPE_IDENTITY();
    -- Ids have gaps, large ones after a failover, which loses those that the server has cached
    -- (https://learn.microsoft.com/sql/t-sql/statements/create-table-transact-sql-identity-property). Plan: the last keys, and a range of
    -- the clustered key, which has few rows: the cleanup deletes them within minutes.
    SET @first_kept = (
        SELECT MIN(k.question_id)
        FROM (
            SELECT TOP (@kept) x.question_id
            FROM jobs_internal.questions AS x
            ORDER BY x.question_id DESC
        ) AS k
    );
    UPDATE TOP (10) q
    SET q.expires_at = @now
    FROM jobs_internal.questions AS q WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE q.question_id < @first_kept
        AND q.is_active = 0
        AND q.expires_at > @now;

    SET @audit_id = CAST(@question_id AS NVARCHAR(100));
    SET @audit_after = (
        SELECT
            LEFT(@question, 4000) AS question,
            @credential_name AS credential_name,
            @max_rows AS max_rows,
            @max_rows_of_target AS max_rows_of_target,
            @timeout_seconds AS timeout_seconds
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_ask_question',
        @object_kind = N'Question',
        @object_name = @target_group_name,
        @object_id = @audit_id,
        @after = @audit_after,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
