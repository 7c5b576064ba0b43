CREATE PROCEDURE sys.sp_MSforeachtable
    @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @whereand nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL
AS
-- Undocumented but widely used: executes up to three commands for each user table. @replacechar is replaced by the quoted
-- name of the table. @whereand may refer to o (sysobjects) and syso (sys.all_objects).
DECLARE @names TABLE (position int IDENTITY PRIMARY KEY, name nvarchar(517) NOT NULL);
DECLARE @position int = 1, @name nvarchar(517), @text nvarchar(max);
SET @text = N'SELECT QUOTENAME(SCHEMA_NAME(syso.schema_id)) + N''.'' + QUOTENAME(syso.name) FROM sys.sysobjects AS o JOIN sys.all_objects AS syso ON syso.object_id = o.id WHERE o.type = ''U'' AND syso.is_ms_shipped = 0 '
    + COALESCE(@whereand, N'') + N' ORDER BY o.id';
SET NOCOUNT ON;
INSERT @names (name) EXEC (@text);
SET NOCOUNT OFF;
IF @precommand IS NOT NULL
    EXEC (@precommand);
WHILE 1 = 1
BEGIN
    SELECT @name = NULL;
    SELECT @name = name FROM @names WHERE position = @position;
    IF @name IS NULL
        BREAK;
    SET @text = REPLACE(@command1, @replacechar, @name);
    EXEC (@text);
    SET @text = REPLACE(@command2, @replacechar, @name);
    IF @text IS NOT NULL
        EXEC (@text);
    SET @text = REPLACE(@command3, @replacechar, @name);
    IF @text IS NOT NULL
        EXEC (@text);
    SET @position += 1;
END
IF @postcommand IS NOT NULL
    EXEC (@postcommand);
RETURN 0;
