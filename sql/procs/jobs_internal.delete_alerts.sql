-- Deletes resolved alerts and their deliveries, and deliveries that belong to no alert (tests, and events of the SAP surface), that are
-- older than the history, in batches.
--
-- Parameters:
--   @oldest     What ended before this time is deleted.
--   @until      No further batch of 1,000 alerts and 1,000 deliveries begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if some may be left because of @until.
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
    DECLARE @read TABLE (delivery_id BIGINT NOT NULL PRIMARY KEY, created_at DATETIME2(7) NOT NULL);

    DECLARE @rows INT = 1000;
    DECLARE @deliveries INT = 0;
    DECLARE @deleted INT = 1;
    DECLARE @after BIGINT = 0;
    DECLARE @is_old BIT = 1; -- the deliveries behind may be, too

    SET @remaining = 0;
    -- A batch of which nothing could be deleted is the last one: other transactions hold its rows.
    WHILE (@rows = 1000 OR @deliveries = 1000) AND @deleted > 0 AND @remaining = 0
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
        SET @deliveries = 0;
        SET @deleted = 0;
        IF @rows > 0
        BEGIN
            BEGIN TRANSACTION;
            INSERT INTO @locked (alert_id, note)
            SELECT a.alert_id, a.acknowledge_note
            FROM @old AS o
            INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = o.alert_id;
            -- An alert that was open for weeks, and was notified again each minute, has very many.
            DELETE TOP (1000) d
            FROM @locked AS l
            INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.alert_id = l.alert_id
            WHERE d.alert_id IS NOT NULL;
            SET @deliveries = @@ROWCOUNT;
            SET @deleted = @deliveries;
            IF @deliveries < 1000
            BEGIN
                DELETE a
                FROM @locked AS l
                INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = l.alert_id;
                SET @deleted = @deleted + @@ROWCOUNT;
            END;
            COMMIT TRANSACTION;
        END;
        IF (@rows = 1000 OR @deliveries = 1000) AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    -- The others are in the order of their keys, between those of alerts that are left. Plan: the first keys of PK_alert_deliveries.
    SET @rows = 1000;
    SET @deleted = 0;
    WHILE @rows = 1000 AND @is_old = 1 AND @remaining = 0
    BEGIN
        DELETE r
        FROM @read AS r;
        INSERT INTO @read (delivery_id, created_at)
        SELECT TOP (1000) d.delivery_id, d.created_at
        FROM jobs_internal.alert_deliveries AS d
        WHERE d.delivery_id > @after
        ORDER BY d.delivery_id;
        SET @rows = @@ROWCOUNT;
        SELECT
            @after = MAX(r.delivery_id),
            @is_old = CASE WHEN MAX(r.created_at) < @oldest THEN 1 ELSE 0 END
        FROM @read AS r;
        DELETE d
        FROM @read AS r
        INNER LOOP JOIN jobs_internal.alert_deliveries AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON d.delivery_id = r.delivery_id
        WHERE d.alert_id IS NULL
            AND d.next_attempt_at IS NULL
            AND d.created_at < @oldest;
        SET @deleted = @deleted + @@ROWCOUNT;
        IF @rows = 1000 AND @is_old = 1 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            BREAK;
    END;
    -- Not for deliveries that only were read: the next call would read them again.
    IF @rows = 1000 AND @is_old = 1 AND @deleted > 0
        SET @remaining = 1;
    RETURN 0;
END;
