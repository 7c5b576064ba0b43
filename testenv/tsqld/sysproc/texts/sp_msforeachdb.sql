CREATE PROCEDURE sys.sp_MSforeachdb
    @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL
AS
-- Undocumented but widely used: executes up to three commands for each database that the caller may use. @replacechar is
-- replaced by the name of the database.
DECLARE @names TABLE (position int IDENTITY PRIMARY KEY, name nvarchar(517) NOT NULL);
DECLARE @position int = 1, @name nvarchar(517), @text nvarchar(max);
SET NOCOUNT ON;
INSERT @names (name) SELECT d.name FROM sys.databases AS d WHERE d.state = 0 AND HAS_DBACCESS(d.name) = 1 ORDER BY d.database_id;
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
