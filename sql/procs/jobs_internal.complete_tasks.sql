-- Records the outcomes of tasks. Outcomes of tasks that the term does not hold are refused one by one; the others are
-- accepted.
--
-- Parameters:
--   @term_id    The term that holds the tasks.
--   @outcomes   JSON array; see jobs_internal.record_outcomes.
--   @term_guid  The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/outbox.go, once per batch of outcomes.
-- Locks:     the tasks (X), then their callbacks (X), targets (X), steps (X).
-- Returns:   one row per refused outcome: task_id, reason.
-- Throws:
--   50029 the outcomes are missing, or one of them is invalid.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.complete_tasks
    @term_id   BIGINT,
    @outcomes  NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    IF @outcomes IS NULL OR ISJSON(@outcomes) = 0
        THROW 50029, N'Invalid @outcomes of complete_tasks: want a JSON array.', 1;

    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;
    BEGIN TRANSACTION;
    EXECUTE jobs_internal.record_outcomes @term_id = @term_id, @outcomes = @outcomes, @report = 1, @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
