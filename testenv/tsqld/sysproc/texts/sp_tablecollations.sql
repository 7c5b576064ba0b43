CREATE PROCEDURE sys.sp_tablecollations
    @object nvarchar(4000) = NULL
AS
EXEC sys.sp_tablecollations_100 @object;
