-- want: any number of rows of things
-- want: any number of rows of things
-- want: any number of rows of things
CREATE OR ALTER PROCEDURE jobs_internal.floods
    @p BIGINT
AS
BEGIN
    UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.parent = @p;
    DELETE x FROM jobs_internal.things AS x WHERE x.parent = @p;
    INSERT INTO jobs_internal.things (id, parent, name)
    SELECT x.id + 1, x.parent, x.name FROM jobs_internal.things AS x WHERE x.parent = @p;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.slices
    @p BIGINT
AS
BEGIN
    DECLARE @ids TABLE (id BIGINT NOT NULL PRIMARY KEY);
    UPDATE TOP (1000) x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.parent = @p;
    UPDATE x SET x.note = N'' FROM @ids AS i INNER LOOP JOIN jobs_internal.things AS x ON x.id = i.id;
    UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.id = @p;
    INSERT INTO jobs_internal.things (id, parent, name) VALUES (@p, 1, N'');
    -- rows: a parent has at most ten
    DELETE x FROM jobs_internal.things AS x WHERE x.parent = @p;
END;
