-- want: ] ends the set in %[] /]%
-- want: ] ends the set in %[^][ ]%
CREATE OR ALTER PROCEDURE jobs_internal.ends
    @text NVARCHAR(100)
AS
BEGIN
    IF @text LIKE N'%[] /]%' OR PATINDEX(N'%[^][ ]%', @text) > 0
        RETURN 1;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.escapes
    @text NVARCHAR(100)
AS
BEGIN
    IF @text LIKE N'%[ /~]]%' ESCAPE N'~' OR @text LIKE N'%[[]]' OR @text = N'[]'
        RETURN 1;
    RETURN 0;
END;
