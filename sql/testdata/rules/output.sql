-- want: OUTPUT without INTO
-- want: OUTPUT without INTO
-- want: OUTPUT without INTO
CREATE OR ALTER PROCEDURE jobs_internal.sends
    @id BIGINT
AS
BEGIN
    INSERT INTO jobs_internal.things (id, parent, name) OUTPUT inserted.id VALUES (@id, 1, N'');
    UPDATE x SET x.note = N'' OUTPUT inserted.note FROM jobs_internal.things AS x WHERE x.id = @id;
    DELETE x OUTPUT deleted.id FROM jobs_internal.things AS x WHERE x.id = @id;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.keeps
    @id BIGINT
AS
BEGIN
    DECLARE @out TABLE (id BIGINT NOT NULL);
    INSERT INTO jobs_internal.things (id, parent, name) OUTPUT inserted.id INTO @out (id) VALUES (@id, 1, N'');
    SELECT o.id FROM @out AS o;
END;
