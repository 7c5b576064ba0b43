-- Stores the answer to a request of the SAP surface, and whether the client has got it (S-4). It also deletes old requests.
--
-- Parameters:
--   @tenant     The caller's tenant; NULL: the provider.
--   @request    The request, as in jobs_internal.begin_rest_request; an unknown one changes nothing.
--   @answer     The answer, in the form of the front.
--   @delivered  1: the client has got the answer, so that an equal request is a new one.
-- Called by: members of the role jobs_operator.
-- Locks:     the request's row (X); old requests (X), skipping locked rows.
-- Audit:     none; it keeps an answer, and changes nothing that anybody defined.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.finish_request
    @tenant    NVARCHAR(129),
    @request   BINARY(32),
    @answer    NVARCHAR(MAX) = NULL,
    @delivered BIT = 0,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @old TABLE (request_hash BINARY(32) NOT NULL PRIMARY KEY);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    UPDATE q
    SET q.answer = @answer,
        q.delivered = COALESCE(@delivered, 0)
    FROM jobs_internal.rest_requests AS q
    WHERE q.request_hash = @request;
    -- A request counts for a minute. Plan: the start of IX_rest_requests_created_at.
    INSERT INTO @old (request_hash)
    SELECT TOP (10) q.request_hash
    FROM jobs_internal.rest_requests AS q
    WHERE q.created_at < DATEADD(MINUTE, -10, @now)
    ORDER BY q.created_at;
    -- By the clustered key: an equal request that comes again locks its row there, and changes the key of the other index afterwards.
    DELETE q
    FROM @old AS o
    INNER LOOP JOIN jobs_internal.rest_requests AS q WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON q.request_hash = o.request_hash
    WHERE q.created_at < DATEADD(MINUTE, -10, @now);
    RETURN 0;
END;
