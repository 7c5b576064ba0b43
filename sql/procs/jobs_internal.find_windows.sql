-- Finds the windows of some databases (target_windows), by their ids and tags, by reads alone. A window whose filter cannot be evaluated
-- applies to all of them.
--
-- Cost: (databases) × (windows); a filter is parsed in each call.
--
-- Parameters:
--   @targets  JSON array of objects with target_id.
--   @found    Receives a JSON array of objects with target_id and window_id; NULL: none of them has a window.
-- Called by: jobs_internal.match_windows, jobs.sp_get_targets.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.find_windows
    @targets NVARCHAR(MAX),
    @found   NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @window_id BIGINT = 0;
    DECLARE @tag_filter NVARCHAR(4000);
    DECLARE @matches NVARCHAR(MAX);
    DECLARE @windows TABLE (window_id BIGINT NOT NULL, target_id UNIQUEIDENTIFIER NOT NULL, PRIMARY KEY (window_id, target_id));

    INSERT INTO @windows (window_id, target_id)
    SELECT DISTINCT w.window_id, w.target_id
    FROM jobs_internal.target_windows AS w
    INNER JOIN OPENJSON(@targets) WITH (target_id UNIQUEIDENTIFIER) AS o ON o.target_id = w.target_id;
    WHILE 1 = 1
    BEGIN
        SET @tag_filter = NULL;
        SELECT TOP (1)
            @window_id = w.window_id,
            @tag_filter = w.tag_filter
        FROM jobs_internal.target_windows AS w
        WHERE w.window_id > @window_id
            AND w.tag_filter IS NOT NULL
        ORDER BY w.window_id;
        IF @tag_filter IS NULL
            BREAK;
        EXECUTE jobs_internal.match_tags @filter = @tag_filter, @targets = @targets, @matches = @matches OUTPUT;
        -- A filter that cannot be evaluated, because another release has stored it, may mean each of them (I25).
        SET @matches = COALESCE(@matches, @targets);
        INSERT INTO @windows (window_id, target_id)
        SELECT DISTINCT @window_id, o.target_id
        FROM OPENJSON(@matches) WITH (target_id UNIQUEIDENTIFIER) AS o;
    END;
    SET @found = (SELECT w.target_id, w.window_id FROM @windows AS w FOR JSON PATH);
    RETURN 0;
END;
