-- Checks that a term has not ended. One that has expired lasts until a pass ends it (jobs_internal.begin_pass), because its agent may be
-- unable to renew it for reasons that concern all agents.
--
-- Parameters:
--   @term_id        The term.
--   @command_types  Receives the types of commands that its agent runs, separated by commas. Parameters is among them if it
--                   runs TSql with parameters: agents of earlier protocols would send their names instead of their values.
--   @term_guid      The GUID that start_term returned; NULL: not compared. A restored database gives the numbers of terms again.
-- Called by: the procedures that agents call.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50201 the term has ended, or is another one of the same number.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.check_term
    @term_id       BIGINT,
    @command_types NVARCHAR(400) = NULL OUTPUT,
    @term_guid     UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @is_foreign BIT = 0;

    SET @command_types = NULL;
    -- A term that began before the schema had incarnations has none, and is not compared.
    SELECT
        @command_types = CASE
            WHEN t.ended_at IS NULL
                THEN CONCAT(t.command_types, CASE WHEN t.protocol >= 3 THEN N',Parameters' END)
        END,
        @is_foreign = CASE WHEN t.incarnation <> i.incarnation THEN 1 ELSE 0 END
    FROM jobs_internal.terms AS t
    CROSS JOIN jobs_internal.control_identity AS i -- one row
    WHERE t.term_id = @term_id
        AND (@term_guid IS NULL OR t.term_guid = @term_guid); -- plan: the row is found by term_id
    IF @is_foreign = 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The term ', @term_id, N' began before this control database was restored. Start a new term.'
        ), N'%', N'%%');
        THROW 50204, @message, 1;
    END;
    IF @command_types IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The term ', @term_id, N' has ended.'), N'%', N'%%');
        THROW 50201, @message, 1;
    END;
    RETURN 0;
END;
