-- want: READPAST on jobs_internal.things needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD
CREATE OR ALTER PROCEDURE jobs_internal.selects
    @p BIGINT
AS
BEGIN
    SELECT @p = x.id FROM jobs_internal.things AS x WITH (READPAST, ROWLOCK);
END;
GO
-- want: READPAST on jobs_internal.things needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD
CREATE OR ALTER PROCEDURE jobs_internal.updates
    @p BIGINT
AS
BEGIN
    UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WITH (READPAST, ROWLOCK) WHERE x.parent = @p;
END;
GO
-- want: READPAST on jobs_internal.things needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD
CREATE OR ALTER PROCEDURE jobs_internal.deletes
    @p BIGINT
AS
BEGIN
    DELETE jobs_internal.things WITH (READPAST, ROWLOCK) WHERE parent = @p;
END;
GO
-- want: READPAST on jobs_internal.things needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD
CREATE OR ALTER VIEW jobs_internal.viewed
AS
SELECT x.id FROM jobs_internal.things AS x WITH (READPAST);
GO
-- want: READPAST on jobs_internal.things needs READCOMMITTEDLOCK, UPDLOCK, XLOCK or REPEATABLEREAD
CREATE OR ALTER PROCEDURE jobs_internal.asks
    @p BIGINT
AS
BEGIN
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.things AS x WITH (READPAST) WHERE x.id = @p)
        RETURN 1;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.skips
    @p BIGINT
AS
BEGIN
    SELECT @p = x.id FROM jobs_internal.things AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK);
    SELECT @p = x.id FROM jobs_internal.things AS x WITH (UPDLOCK, READPAST, ROWLOCK);
    SELECT @p = x.id FROM jobs_internal.things AS x WITH (REPEATABLEREAD, READPAST, ROWLOCK);
    DELETE x FROM jobs_internal.things AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) WHERE x.parent = @p;
END;
