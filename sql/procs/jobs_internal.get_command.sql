-- Reads the text of a step's command. The text of an id never changes, so agents may cache it.
--
-- Parameters:
--   @command_id  The command.
-- Called by: agent/task_host.go, once per command and agent.
-- Locks:     nothing.
-- Returns:   one row: command (see jobs_internal.step_commands).
-- Throws:
--   50113 the command does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_command
    @command_id BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @command NVARCHAR(MAX);

    SELECT @command = c.command
    FROM jobs_internal.step_commands AS c
    WHERE c.command_id = @command_id;
    IF @command IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The command ', @command_id, N' does not exist.'), N'%', N'%%');
        THROW 50113, @message, 1;
    END;
    SELECT @command AS command;
    RETURN 0;
END;
