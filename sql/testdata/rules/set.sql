-- want: the pattern %[]]% has an empty set
-- want: the pattern [a]%[^]x] has an empty set
-- want: the pattern %[]/@[]% has an empty set
CREATE OR ALTER PROCEDURE jobs_internal.bad
    @p NVARCHAR(100)
AS
BEGIN
    DECLARE @bad NVARCHAR(100) = N'%[]/@[]%';
    IF @p LIKE N'%[]]%' OR PATINDEX(N'[a]%[^]x]', @p) > 0 OR @p LIKE @bad
        THROW 50001, N'Bad.', 1;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.good
    @p NVARCHAR(100)
AS
BEGIN
    DECLARE @empty NVARCHAR(100) = N'[]';
    DECLARE @token NVARCHAR(100) = N'%[^A-Z!^_-]%';
    IF @p LIKE N'%[[]]%' OR @p LIKE N'[[]%]' OR PATINDEX(@token, @p) > 0 OR @p LIKE N'%[[ /@]%' OR CHARINDEX(N']', @p) > 0
        THROW 50001, @empty, 1;
    SET @p = REPLACE(REPLACE(@p, N'[', N'[[]'), N'%', N'[%]');
END;
