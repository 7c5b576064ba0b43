-- Records what databases have answered to a question that the term has claimed: rows, counts, and at the end how the question ended. The
-- agent calls it at least every second while it asks, which tells it about a cancellation. A call may be repeated: rows are stored once.
-- If questions were switched off meanwhile, the question is canceled, and no further row is stored.
--
-- Parameters:
--   @term_id      The term that carries the question out.
--   @question_id  The question.
--   @targets      Number of databases in the group; NULL: it is not known yet.
--   @answered     Number of databases that have answered.
--   @failed       Number of databases that have failed.
--   @paused       Number of databases that are not asked.
--   @shapes       JSON array of new shapes: shape, result_set, columns; NULL: none.
--   @rows         JSON array of rows, at most 1,000: row_number, shape, server_name, database_name, row_values; NULL: none.
--   @is_cut       1: the agent has left out rows because of a limit.
--   @is_ended     1: the question has ended.
--   @error        Why the question failed as a whole; NULL: it did not.
--   @errors       JSON array of grouped errors: message, error_class, targets, target_names; only with @is_ended. NULL: none.
--   @term_guid    The term's GUID.
-- Called by: agent/questions.go, while a question is asked.
-- Locks:     the question (U, X); inserts into question_shapes, question_rows and question_errors.
-- Returns:   one row: verdict, which is Proceed; Canceled (by a person, or because questions are off) or Full (there is no room for more
--            rows): the agent ends its queries; Busy: another session is changing the question, nothing was recorded, and the call is to be
--            repeated; or Refused: the term does not hold the question any more, and nothing was recorded.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.record_answers
    @term_id     BIGINT,
    @question_id BIGINT,
    @targets     INT = NULL,
    @answered    INT = 0,
    @failed      INT = 0,
    @paused      INT = 0,
    @shapes      NVARCHAR(MAX) = NULL,
    @rows        NVARCHAR(MAX) = NULL,
    @is_cut      BIT = 0,
    @is_ended    BIT = 0,
    @error       NVARCHAR(2000) = NULL,
    @errors      NVARCHAR(MAX) = NULL,
    @term_guid   UNIQUEIDENTIFIER = NULL,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @most_characters BIGINT = 4000000;
    DECLARE @permitted INT = (SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'questions');
    DECLARE @max_rows INT;
    DECLARE @held_by BIGINT;
    DECLARE @characters BIGINT;
    DECLARE @canceled_at DATETIME2(7);
    DECLARE @added INT = 0;
    DECLARE @added_characters BIGINT = 0;
    DECLARE @verdict NVARCHAR(20);
    DECLARE @new TABLE (
        row_number    INT NOT NULL PRIMARY KEY,
        shape         INT NOT NULL,
        server_name   NVARCHAR(256) NOT NULL,
        database_name NVARCHAR(128) NOT NULL,
        row_values    NVARCHAR(MAX) NOT NULL
    );

    IF @question_id IS NULL OR @answered IS NULL OR @failed IS NULL OR @paused IS NULL OR @is_cut IS NULL OR @is_ended IS NULL
        OR ISJSON(@shapes) = 0
        OR ISJSON(@rows) = 0
        OR ISJSON(@errors) = 0
        THROW 50029, N'Invalid arguments of record_answers: want a question, counts, and JSON arrays.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;
    INSERT INTO @new (row_number, shape, server_name, database_name, row_values)
    SELECT TOP (1000) o.row_number, o.shape, o.server_name, o.database_name, o.row_values
    FROM OPENJSON(@rows) WITH (
        row_number    INT,
        shape         INT,
        server_name   NVARCHAR(256),
        database_name NVARCHAR(128),
        row_values    NVARCHAR(MAX) AS JSON
    ) AS o
    ORDER BY o.row_number;

    BEGIN TRANSACTION;
    -- max_rows is in no other index, so that the lock is on the clustered key.
    SELECT
        @max_rows = q.max_rows,
        @held_by = CASE WHEN q.is_active = 1 THEN q.term_id END,
        @characters = q.characters,
        @canceled_at = q.cancel_requested_at
    FROM jobs_internal.questions AS q WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE q.question_id = @question_id;
    IF @held_by IS NULL OR @held_by <> @term_id
    BEGIN
        COMMIT TRANSACTION;
        -- @max_rows is NULL if the row was skipped or does not exist.
        SELECT CAST(CASE
            WHEN @max_rows IS NULL AND EXISTS (SELECT 1 FROM jobs_internal.questions AS q WHERE q.question_id = @question_id) THEN N'Busy'
            ELSE N'Refused'
        END AS NVARCHAR(20)) AS verdict;
        RETURN 0;
    END;

    IF @permitted = 0
    BEGIN
        SET @canceled_at = COALESCE(@canceled_at, @now);
        DELETE n
        FROM @new AS n;
    END;
    DELETE n
    FROM @new AS n
    WHERE n.row_number > @max_rows
        OR EXISTS (SELECT 1 FROM jobs_internal.question_rows AS r WHERE r.question_id = @question_id AND r.row_number = n.row_number);
    IF @characters < @most_characters
    BEGIN
        SELECT
            @added = COUNT(*),
            @added_characters = COALESCE(SUM(DATALENGTH(n.row_values) / 2), 0)
        FROM @new AS n;
        INSERT INTO jobs_internal.question_rows (question_id, row_number, shape, server_name, database_name, row_values)
        SELECT @question_id, n.row_number, n.shape, n.server_name, n.database_name, n.row_values
        FROM @new AS n
        ORDER BY n.row_number;
    END
    ELSE
        SET @is_cut = CASE WHEN EXISTS (SELECT 1 FROM @new AS n) THEN 1 ELSE @is_cut END;
    INSERT INTO jobs_internal.question_shapes (question_id, shape, result_set, columns)
    SELECT TOP (100) @question_id, o.shape, o.result_set, o.columns
    FROM OPENJSON(@shapes) WITH (shape INT, result_set INT, columns NVARCHAR(MAX) AS JSON) AS o
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.question_shapes AS s WHERE s.question_id = @question_id AND s.shape = o.shape)
    ORDER BY o.shape;
    SET @characters = @characters + @added_characters;
    SET @verdict = CASE
        WHEN @canceled_at IS NOT NULL THEN N'Canceled'
        WHEN @characters >= @most_characters THEN N'Full'
        ELSE N'Proceed'
    END;

    UPDATE q
    SET q.cancel_requested_at = @canceled_at,
        q.targets = COALESCE(@targets, q.targets),
        q.answered = @answered,
        q.failed = @failed,
        q.paused = @paused,
        q.rows_kept = q.rows_kept + @added,
        q.characters = @characters,
        q.is_cut = CASE WHEN @is_cut = 1 THEN 1 ELSE q.is_cut END
    FROM jobs_internal.questions AS q
    WHERE q.question_id = @question_id;
    IF @is_ended = 1
    BEGIN
        INSERT INTO jobs_internal.question_errors (question_id, error_group, message, error_class, targets, target_names)
        SELECT TOP (100) @question_id, CAST(o.[key] AS INT) + 1, e.message, e.error_class, e.targets, e.target_names
        FROM OPENJSON(@errors) AS o
        CROSS APPLY OPENJSON(o.value) WITH (
            message      NVARCHAR(2000),
            error_class  NVARCHAR(30),
            targets      INT,
            target_names NVARCHAR(MAX) AS JSON
        ) AS e
        ORDER BY CAST(o.[key] AS INT);
        UPDATE q
        SET q.lifecycle = CASE
                WHEN @canceled_at IS NOT NULL THEN N'Canceled'
                WHEN @error IS NOT NULL OR @failed > 0 THEN N'Failed'
                ELSE N'Succeeded'
            END,
            q.is_active = 0,
            q.ended_at = @now,
            q.message = CASE
                WHEN q.canceled_by IS NOT NULL THEN CONCAT(N'Canceled by ', q.canceled_by, N'.')
                WHEN @canceled_at IS NOT NULL THEN N'Questions were switched off meanwhile. What has come so far is not complete.'
                WHEN @error IS NOT NULL THEN @error
                WHEN @failed > 0 THEN CONCAT(@failed, N' of ', q.targets - @paused, N' databases failed.')
                WHEN q.targets = 0 THEN N'The target group has no databases.'
                WHEN q.targets = @paused THEN N'All databases of the target group are paused.'
            END
        FROM jobs_internal.questions AS q
        WHERE q.question_id = @question_id;
    END;
    COMMIT TRANSACTION;
    SELECT @verdict AS verdict;
    RETURN 0;
END;
