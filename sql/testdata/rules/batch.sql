-- want: DELETE TOP without a loop
CREATE OR ALTER PROCEDURE jobs_internal.once
AS
BEGIN
    DELETE TOP (1000) x FROM jobs_internal.things AS x WHERE x.parent = 1;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.loops
    @n INT = 1
AS
BEGIN
    WHILE @n > 0
    BEGIN
        DELETE TOP (1000) x FROM jobs_internal.things AS x WHERE x.parent = 1;
        SET @n = @@ROWCOUNT;
    END;
    -- rows: agents call this again and again
    DELETE TOP (1000) x FROM jobs_internal.things AS x WHERE x.parent = 2;
END;
