CREATE PROCEDURE sys.sp_helptrigger @tabname nvarchar(776), @triggertype char(6) = NULL
AS
-- Documentation: sp_helptrigger.
SET NOCOUNT ON;
IF PARSENAME(@tabname, 3) <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(@tabname), @database sysname = DB_NAME();
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @tabname, @database);
    RETURN 1;
END
IF @triggertype NOT IN ('insert', 'update', 'delete')
BEGIN
    RAISERROR(15305, -1, -1);
    RETURN 1;
END
SELECT t.name AS trigger_name, USER_NAME(OBJECTPROPERTY(t.object_id, 'OwnerId')) AS trigger_owner,
    OBJECTPROPERTY(t.object_id, 'ExecIsUpdateTrigger') AS isupdate, OBJECTPROPERTY(t.object_id, 'ExecIsDeleteTrigger') AS isdelete,
    OBJECTPROPERTY(t.object_id, 'ExecIsInsertTrigger') AS isinsert, OBJECTPROPERTY(t.object_id, 'ExecIsAfterTrigger') AS isafter,
    OBJECTPROPERTY(t.object_id, 'ExecIsInsteadOfTrigger') AS isinsteadof, OBJECT_SCHEMA_NAME(t.object_id) AS trigger_schema
FROM sys.triggers AS t
WHERE t.parent_id = @id AND (@triggertype IS NULL OR OBJECTPROPERTY(t.object_id, 'ExecIs' + RTRIM(@triggertype) + 'Trigger') = 1)
ORDER BY t.object_id;
RETURN 0;
