-- Records the result of a request of the SAP surface, in the transaction of its change.
--
-- Parameters:
--   @request  The request, as in jobs_internal.begin_rest_request; NULL: nothing is recorded.
--   @result   Ids that it has made, a JSON object.
-- Called by: the procedures of jobs_rest that change something, at the end of their transactions.
-- Locks:     the request's row (X), which the transaction has locked before.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_rest_request
    @request BINARY(32),
    @result  NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    IF @request IS NOT NULL
        UPDATE q
        SET q.result = @result
        FROM jobs_internal.rest_requests AS q
        WHERE q.request_hash = @request;
    RETURN 0;
END;
