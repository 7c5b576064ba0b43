-- Locks calendars until the caller's transaction has ended, so that jobs.sp_delete_calendar finds what the transaction makes use them, or
-- has deleted them before.
--
-- Parameters:
--   @names    JSON array of their names; empty ones are ignored.
--   @missing  Receives the name of one that does not exist; NULL: all exist.
-- Called by: jobs.sp_set_job_rollout, jobs.sp_set_target_window, within their transactions.
-- Locks:     the calendars (U), in the order of their names.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.lock_calendars
    @names   NVARCHAR(MAX),
    @missing NVARCHAR(128) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @name NVARCHAR(128);
    DECLARE @calendars TABLE (name NVARCHAR(128) NOT NULL PRIMARY KEY);

    SET @missing = NULL;
    INSERT INTO @calendars (name)
    SELECT DISTINCT o.value COLLATE DATABASE_DEFAULT
    FROM OPENJSON(@names) AS o
    WHERE o.value <> N'';
    -- One after the other: two sessions that lock the same ones never wait for each other in a circle.
    SET @name = (SELECT MIN(c.name) FROM @calendars AS c);
    WHILE @name IS NOT NULL
    BEGIN
        IF NOT EXISTS (SELECT 1 FROM jobs_internal.calendars AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.name = @name)
            SET @missing = COALESCE(@missing, @name);
        SET @name = (SELECT MIN(c.name) FROM @calendars AS c WHERE c.name > @name);
    END;
    RETURN 0;
END;
