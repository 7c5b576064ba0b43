-- Deletes secrets that REST stored for a job that is gone, or that no stored definition of their job names. Versions keep their
-- definitions, so a secret lives as long as a version that names it. New secrets are left alone for a day: the definition that
-- names one may not be stored yet.
--
-- Parameters:
--   @until      No further batch of 1,000 begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if secrets may be left because of @until.
-- Called by: jobs_internal.purge_history.
-- Locks:     the secrets (U), skipping locked rows; those that it deletes (X), with their rows of secret_data_keys.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_secrets
    @until     DATETIME2(7) = NULL,
    @remaining BIT = NULL OUTPUT,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @found TABLE (secret_id BIGINT NOT NULL PRIMARY KEY);

    DECLARE @rows INT = 1000;
    DECLARE @deleted INT = 1;

    SET @remaining = 0;
    -- A batch of which nothing could be deleted is the last one: other transactions hold its rows.
    WHILE @rows = 1000 AND @deleted > 0 AND @remaining = 0
    BEGIN
        DELETE f
        FROM @found AS f;
        -- Plan: the secrets of IX_secrets_job_id; for each of them, the few definitions of its job.
        INSERT INTO @found (secret_id)
        SELECT TOP (1000) s.secret_id
        FROM jobs_internal.secrets AS s
        WHERE s.job_id IS NOT NULL
            AND s.updated_at < DATEADD(DAY, -1, @now)
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.step_commands AS c
                WHERE c.job_id = s.job_id
                    AND CHARINDEX(s.name, c.command) > 0
            )
        ORDER BY s.secret_id;
        SET @rows = @@ROWCOUNT;
        DELETE s
        FROM @found AS f
        INNER LOOP JOIN jobs_internal.secrets AS s WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON s.secret_id = f.secret_id
        WHERE s.updated_at < DATEADD(DAY, -1, @now); -- a definition that was stored meanwhile may name it again
        SET @deleted = @@ROWCOUNT;
        IF @rows = 1000 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    RETURN 0;
END;
