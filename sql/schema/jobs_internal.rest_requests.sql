-- Requests of the SAP surface that have changed something, for blind repeats of clients that got no answer (S-4). A row is written by
-- the transaction of the change. It counts for a minute, and is deleted later by other requests.
--
-- Columns:
--   request_hash  SHA-256 of principal, method, path and body.
--   created_at    When the change was made.
--   result        Ids that the change has made, a JSON object; NULL while the transaction is open.
--   answer        The answer of the front; NULL: not known yet.
--   delivered     1: the client has got the answer, so that an equal request is a new one.
CREATE TABLE jobs_internal.rest_requests (
    request_hash BINARY(32) NOT NULL,
    created_at   DATETIME2(7) NOT NULL,
    result       NVARCHAR(MAX) NULL,
    answer       NVARCHAR(MAX) NULL,
    delivered    BIT NOT NULL CONSTRAINT DF_rest_requests_delivered DEFAULT 0,
    CONSTRAINT PK_rest_requests PRIMARY KEY (request_hash)
);

CREATE INDEX IX_rest_requests_created_at ON jobs_internal.rest_requests (created_at);
