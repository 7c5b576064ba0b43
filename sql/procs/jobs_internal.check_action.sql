-- Checks the definition of an action.
--
-- Parameters:
--   @command_type  The type of the command. TSql is not checked.
--   @command       The definition.
-- Called by: jobs.sp_add_jobstep, jobs.sp_update_jobstep.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50058 the definition is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_action
    @command_type NVARCHAR(50),
    @command      NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @command_type <> N'TSql' AND (ISJSON(@command) = 0 OR LEFT(LTRIM(@command), 1) <> N'{')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @command of a step of type ', @command_type, N': want a JSON object.'), N'%', N'%%');
        THROW 50058, @message, 1;
    END;
    RETURN 0;
END;
