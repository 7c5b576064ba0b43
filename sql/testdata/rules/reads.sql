-- want: any number of rows of things is read
CREATE OR ALTER PROCEDURE jobs_internal.counts_all
    @n INT = NULL
AS
BEGIN
    DECLARE @parents TABLE (parent BIGINT NOT NULL PRIMARY KEY);
    SELECT @n = COUNT(*)
    FROM @parents AS p
    INNER JOIN jobs_internal.things AS x ON x.parent = p.parent;
END;
GO
-- want: any number of rows of things is read
CREATE OR ALTER PROCEDURE jobs_internal.counts_some
    @n INT = NULL
AS
BEGIN
    SELECT TOP (10) @n = s.parent
    FROM jobs_internal.state AS s
    CROSS APPLY (SELECT COUNT(*) AS things, MAX(x.parent) AS parent FROM jobs_internal.things AS x WHERE x.parent = s.id) AS s;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.counts_few
    @n INT = NULL
AS
BEGIN
    DECLARE @parents TABLE (parent BIGINT NOT NULL PRIMARY KEY, id BIGINT NOT NULL);
    -- reads: at most 20,000, because the parents were chosen so
    SELECT @n = COUNT(*)
    FROM @parents AS p
    INNER JOIN jobs_internal.things AS x ON x.parent = p.parent;
    SELECT @n = COUNT(*)
    FROM (SELECT TOP (100) x.id FROM jobs_internal.things AS x WHERE x.parent = @n ORDER BY x.id) AS f;
    SELECT @n = COUNT(*)
    FROM @parents AS p
    INNER JOIN jobs_internal.things AS x ON x.id = p.id;
    SELECT @n = COUNT(*)
    FROM @parents AS p
    INNER JOIN jobs_internal.things AS x ON x.parent = p.parent AND x.name = N'a';
    SELECT @n = COUNT(*)
    FROM @parents AS p
    WHERE EXISTS (SELECT 1 FROM jobs_internal.things AS x WHERE x.parent = p.parent);
END;
GO
-- want: any number of rows of things is read
CREATE OR ALTER PROCEDURE jobs.sp_counts_within
    @n INT = NULL
AS
BEGIN
    BEGIN TRANSACTION;
    SELECT @n = COUNT(*)
    FROM jobs_internal.things AS x
    WHERE x.parent = @n;
    COMMIT TRANSACTION;
END;
GO
CREATE OR ALTER PROCEDURE jobs.sp_counts_before
    @n INT = NULL
AS
BEGIN
    SELECT @n = COUNT(*)
    FROM jobs_internal.things AS x
    WHERE x.parent = @n;
    BEGIN TRANSACTION;
    UPDATE s
    SET s.parent = @n
    FROM jobs_internal.state AS s
    WHERE s.id = 1;
    COMMIT TRANSACTION;
END;
