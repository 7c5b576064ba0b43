-- Begins a request of the SAP surface that changes something, in the transaction of the change. An equal request waits until this
-- transaction ends. If an equal one was carried out within the last minute and its client has not got the answer, the request is its
-- blind repeat (S-4): the caller changes nothing. One of more than a minute in the future was carried out before the clock was set back.
-- It is not repeated. The job agent must permit changes (jobs_internal.check_job_agent).
--
-- Parameters:
--   @request   SHA-256 of principal, method, path and body; NULL: repeats are not recognised.
--   @replayed  Receives 1 for a repeat.
--   @result    Receives the ids that the earlier request has made, a JSON object; NULL if it is no repeat.
--   @answer    Receives the answer to the earlier request; NULL: not known.
--   @makes     job or schedule: what the request makes. It is no repeat if that was deleted meanwhile. NULL: it makes nothing.
--   @now       Time of the request.
-- Called by: the procedures of jobs_rest that change something, at the beginning of their transactions.
-- Locks:     the request's row (U, X), what it has made (S).
-- Returns:   0.
-- Throws:
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.begin_rest_request
    @request  BINARY(32),
    @replayed BIT OUTPUT,
    @result   NVARCHAR(MAX) OUTPUT,
    @answer   NVARCHAR(MAX) OUTPUT,
    @makes    NVARCHAR(10) = NULL,
    @now      DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @created_at DATETIME2(7);
    DECLARE @delivered BIT;
    DECLARE @gone BIT = 0;

    SELECT
        @replayed = 0,
        @result = NULL,
        @answer = NULL;
    EXECUTE jobs_internal.check_job_agent;
    IF @request IS NULL
        RETURN 0;
    -- delivered is in no index, so that the lock is on the clustered key, where equal requests look for it. If there is none, the lock is
    -- on the gap around it. Only requests insert there, one row each, so another one waits for the transaction of one change at most. As
    -- both ask for U before they insert, this is no deadlock. finish_request deletes old rows by READPAST.
    SELECT
        @created_at = q.created_at,
        @delivered = q.delivered,
        @result = q.result,
        @answer = q.answer
    FROM jobs_internal.rest_requests AS q WITH (UPDLOCK, HOLDLOCK)
    WHERE q.request_hash = @request;
    IF @makes IS NOT NULL AND @delivered = 0
        SET @gone = CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.rest_jobs AS j
                WHERE j.rest_job_id = CAST(JSON_VALUE(@result, N'$.job') AS INT)
                    AND (
                        @makes = N'job'
                        OR EXISTS (
                            SELECT 1
                            FROM jobs_internal.schedules AS s
                            INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
                            WHERE s.job_id = j.job_id
                                AND x.rest_schedule_id = CAST(JSON_VALUE(@result, N'$.schedules[0]') AS UNIQUEIDENTIFIER)
                        )
                    )
            ) THEN 0
            ELSE 1
        END;
    IF @delivered = 0 AND @gone = 0 AND @created_at > DATEADD(SECOND, -60, @now) AND @created_at < DATEADD(SECOND, 60, @now)
    BEGIN
        SET @replayed = 1;
        RETURN 0;
    END;
    SELECT
        @result = NULL,
        @answer = NULL;
    IF @created_at IS NULL
        INSERT INTO jobs_internal.rest_requests (request_hash, created_at)
        VALUES (@request, @now);
    ELSE
        UPDATE q
        SET q.created_at = @now,
            q.result = NULL,
            q.answer = NULL,
            q.delivered = 0
        FROM jobs_internal.rest_requests AS q
        WHERE q.request_hash = @request;
    RETURN 0;
END;
