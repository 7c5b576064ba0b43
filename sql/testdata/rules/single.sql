-- want: the only row of state is skipped while it is locked
CREATE OR ALTER PROCEDURE jobs_internal.reads
    @p NVARCHAR(20)
AS
BEGIN
    SELECT @p = x.state FROM jobs_internal.state AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) WHERE x.id = 1;
END;
GO
-- want: EXISTS skips locked rows
CREATE OR ALTER PROCEDURE jobs_internal.fires
    @p BIGINT
AS
BEGIN
    INSERT INTO jobs_internal.things (id, parent, name)
    SELECT @p, 1, N''
    WHERE EXISTS (SELECT 1 FROM jobs_internal.state AS x WITH (REPEATABLEREAD, READPAST, ROWLOCK) WHERE x.state = N'Ready');
END;
GO
-- want: EXISTS skips locked rows
CREATE OR ALTER PROCEDURE jobs_internal.asks
    @p BIGINT
AS
BEGIN
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.things AS x WITH (READCOMMITTEDLOCK, READPAST) WHERE x.id = @p)
        RETURN 1;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.explains
    @p BIGINT
AS
BEGIN
    -- past: whoever has the row carries on alone
    UPDATE x SET x.state = N'' FROM jobs_internal.state AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) WHERE x.id = 1;
    SELECT @p = x.id FROM jobs_internal.things AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) WHERE x.parent = @p;
END;
