-- Lets schedules be validated again that another engine has computed: other rules of a time zone may move their instants
-- (D-Z1), another program may be able to read what was Faulted, or refuse what was not: also in UTC. Due instants stay until
-- the verdict is there.
--
-- Parameters:
--   @term_id  Who calls.
--   @engine   What computes from now on: program and time zone data.
--   @now      Tests only.
-- Called by: agent/scheduler.go, once per term.
-- Locks:     the schedules that another engine has computed (X).
-- Returns:   one row: rechecked, the number of schedules.
-- Throws:
--   50029 the engine is missing.
--   50201 the term has ended or expired.
CREATE OR ALTER PROCEDURE jobs_internal.recheck_schedules
    @term_id BIGINT,
    @engine  NVARCHAR(128),
    @now     DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @rechecked INT;

    IF @engine IS NULL OR LTRIM(@engine) = N''
        THROW 50029, N'recheck_schedules needs @engine.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @now = @now;

    UPDATE s
    SET s.awaits_verdict = 1
    FROM jobs_internal.schedules AS s
    WHERE s.spec IS NOT NULL
        AND s.awaits_verdict = 0
        AND s.engine <> @engine
        AND s.state IN (N'Enabled', N'Faulted');
    SET @rechecked = @@ROWCOUNT;

    SELECT @rechecked AS rechecked;
    RETURN 0;
END;
