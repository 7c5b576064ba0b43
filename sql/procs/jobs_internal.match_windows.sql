-- Finds the windows of some databases (find_windows), and stores them (target_gates). One session at a time does so, under an
-- application lock that no session waits for.
--
-- Parameters:
--   @targets  JSON array of objects with target_id.
-- Called by: jobs_internal.hold_targets, for databases whose windows are not known or have changed.
-- Locks:     the application lock jobagent.windows; gated_targets and target_gates (X), which nobody else changes; inserts into
--            window_answers.
-- Returns:   0; -1: another session has the lock, and nothing was stored.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.match_windows
    @targets NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @lock INT;
    DECLARE @revision BIGINT;
    DECLARE @found NVARCHAR(MAX);
    DECLARE @wanted TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @gates TABLE (
        target_id      UNIQUEIDENTIFIER NOT NULL,
        calendar_name  NVARCHAR(128) NOT NULL,
        blackouts_name NVARCHAR(128) NOT NULL,
        time_zone      NVARCHAR(128) NOT NULL
    );

    EXECUTE @lock = sp_getapplock
        @Resource = N'jobagent.windows',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = 0,
        @DbPrincipal = N'jobs_agent';
    IF @lock < 0
        RETURN -1;
    -- Read before windows and tags: what changes meanwhile has a later revision.
    SELECT @revision = v.revision
    FROM jobs_internal.window_state AS v;
    INSERT INTO @wanted (target_id)
    SELECT DISTINCT o.target_id
    FROM OPENJSON(@targets) WITH (target_id UNIQUEIDENTIFIER) AS o;

    EXECUTE jobs_internal.find_windows @targets = @targets, @found = @found OUTPUT;
    -- plan: per window and database one key of target_windows and target_tags
    INSERT INTO @gates (target_id, calendar_name, blackouts_name, time_zone)
    SELECT DISTINCT
        m.target_id, w.calendar_name, w.blackouts_name,
        COALESCE(CAST(g.value AS NVARCHAR(128)), w.time_zone) -- LEFT may count a pair of UTF-16 as one
    FROM OPENJSON(@found) WITH (target_id UNIQUEIDENTIFIER, window_id BIGINT) AS m
    INNER JOIN jobs_internal.target_windows AS w ON w.window_id = m.window_id
    LEFT JOIN jobs_internal.target_tags AS g ON g.target_id = m.target_id AND g.name = w.zone_tag;

    INSERT INTO jobs_internal.window_answers (calendar_name, blackouts_name, time_zone, revision)
    SELECT DISTINCT g.calendar_name, g.blackouts_name, g.time_zone, @revision
    FROM @gates AS g
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.window_answers AS a
        WHERE a.calendar_name = g.calendar_name
            AND a.blackouts_name = g.blackouts_name
            AND a.time_zone = g.time_zone
    );
    DELETE t
    FROM @wanted AS n
    INNER LOOP JOIN jobs_internal.target_gates AS t ON t.target_id = n.target_id;
    INSERT INTO jobs_internal.target_gates (target_id, answer_id)
    SELECT g.target_id, a.answer_id
    FROM @gates AS g
    INNER JOIN jobs_internal.window_answers AS a ON a.calendar_name = g.calendar_name
        AND a.blackouts_name = g.blackouts_name
        AND a.time_zone = g.time_zone;
    UPDATE t
    SET t.revision = @revision
    FROM @wanted AS n
    INNER LOOP JOIN jobs_internal.gated_targets AS t ON t.target_id = n.target_id;
    INSERT INTO jobs_internal.gated_targets (target_id, revision)
    SELECT n.target_id, @revision
    FROM @wanted AS n
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.gated_targets AS t WHERE t.target_id = n.target_id);
    RETURN 0;
END;
