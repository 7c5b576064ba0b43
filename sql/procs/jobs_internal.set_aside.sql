-- Sets a run, schedule or trigger aside: passes leave it out, because the control database refuses what they would store about it. If it is
-- set aside already, only the error changes (DESIGN.md, "Set aside").
--
-- Parameters:
--   @term_id        The caller's term.
--   @term_guid      The term's GUID; NULL: not compared.
--   @kind           Run, Schedule or Trigger.
--   @id             The run (execution_id), schedule or trigger.
--   @error_message  What the server answered.
-- Called by: agent/set_aside.go.
-- Locks:     the row of set_asides (X).
-- Returns:   1: one row: job_name, job_execution_id, name and message, as in jobs.set_asides.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.set_aside
    @term_id       BIGINT,
    @term_guid     UNIQUEIDENTIFIER = NULL,
    @kind          NVARCHAR(10) = NULL,
    @id            BIGINT = NULL,
    @error_message NVARCHAR(2000) = NULL,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    IF @kind IS NULL OR @kind NOT IN (N'Run', N'Schedule', N'Trigger') OR @id IS NULL OR @error_message IS NULL
        THROW 50029, N'Invalid arguments of set_aside: want @kind (Run, Schedule or Trigger), @id and @error_message.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    BEGIN TRANSACTION;
    UPDATE z
    SET z.error_message = @error_message
    FROM jobs_internal.set_asides AS z WITH (UPDLOCK, HOLDLOCK)
    WHERE z.kind = @kind
        AND z.first_id = @id
        AND z.is_part = 0;
    IF @@ROWCOUNT = 0
        INSERT INTO jobs_internal.set_asides (kind, first_id, is_part, last_id, created_at, tries, tried_at, retry_at, error_message)
        VALUES (@kind, @id, 0, @id, @now, 1, @now, DATEADD(SECOND, 30, @now), @error_message);
    COMMIT TRANSACTION;

    SELECT j.name AS job_name, e.job_execution_id, COALESCE(s.name, t.name) AS name, m.message
    FROM jobs_internal.set_aside_messages AS m
    LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = CASE WHEN m.kind = N'Run' THEN m.first_id END
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = CASE WHEN m.kind = N'Schedule' THEN m.first_id END
    LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = CASE WHEN m.kind = N'Trigger' THEN m.first_id END
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = COALESCE(e.job_id, s.job_id, t.job_id)
    WHERE m.kind = @kind
        AND m.first_id = @id;
    RETURN 0;
END;
