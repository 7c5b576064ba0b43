-- Deletes resolved alerts and their deliveries, and deliveries of tests, that are older than the history, in batches.
--
-- Parameters:
--   @oldest     What ended before this time is deleted.
--   @until      No further batch of 1,000 alerts begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if alerts may be left because of @until.
-- Called by: jobs_internal.purge_history.
-- Locks:     alerts (U, X; READPAST), their deliveries (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_alerts
    @oldest    DATETIME2(7),
    @until     DATETIME2(7) = NULL,
    @remaining BIT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @old TABLE (alert_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);

    DECLARE @rows INT = 1000;
    DECLARE @deleted INT = 1;

    SET @remaining = 0;
    -- A batch of which nothing could be deleted is the last one: other transactions hold its rows.
    WHILE @rows = 1000 AND @deleted > 0 AND @remaining = 0
    BEGIN
        DELETE o
        FROM @old AS o;
        DELETE l
        FROM @locked AS l;
        -- Plan: the start of IX_alerts_resolved_at.
        INSERT INTO @old (alert_id)
        SELECT TOP (1000) a.alert_id
        FROM jobs_internal.alerts AS a
        WHERE a.resolved_at < @oldest
        ORDER BY a.resolved_at;
        SET @rows = @@ROWCOUNT;
        SET @deleted = 0;
        IF @rows > 0
        BEGIN
            BEGIN TRANSACTION;
            INSERT INTO @locked (alert_id, note)
            SELECT a.alert_id, a.acknowledge_note
            FROM @old AS o
            INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = o.alert_id;
            DELETE d
            FROM @locked AS l
            INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.alert_id = l.alert_id
            WHERE d.alert_id IS NOT NULL;
            DELETE a
            FROM @locked AS l
            INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = l.alert_id;
            SET @deleted = @@ROWCOUNT;
            COMMIT TRANSACTION;
        END;
        IF @rows = 1000 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    -- Tests are few, and in the order of their keys. Only the first 1,000 rows are examined.
    DELETE d
    FROM (
        SELECT TOP (1000) f.delivery_id
        FROM jobs_internal.alert_deliveries AS f
        ORDER BY f.delivery_id
    ) AS o
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON d.delivery_id = o.delivery_id
    WHERE d.alert_id IS NULL
        AND d.next_attempt_at IS NULL
        AND d.created_at < @oldest;
    RETURN 0;
END;
