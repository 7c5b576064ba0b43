-- Holds a roll-out before its first wave if a wave with names, patterns or tags has no targets, unless its plan permits that: a misspelt
-- name makes a canary empty, and an empty wave passes. The roll-out is paused, or aborted if its plan says so. A roll-out that has no
-- targets at all is not held. A wave that has only some of its names says so in its gate, until its gates are evaluated.
--
-- Parameters:
--   @execution_id  The roll-out's own run, whose targets are assigned; the caller has locked the row of the roll-out.
--   @aborts        Output. 1: the plan aborts it, which is left to the caller. 0: it is paused, or not held.
--   @reason        Output. Which waves are empty, if it is aborted; NULL otherwise.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its waves (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.hold_empty_waves
    @execution_id BIGINT,
    @aborts       BIT = 0 OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @number INT;
    DECLARE @text NVARCHAR(2000);
    DECLARE @missing TABLE (wave INT NOT NULL, turn INT NOT NULL, name NVARCHAR(400) NOT NULL, PRIMARY KEY (wave, turn));

    SET @aborts = 0;
    SET @reason = NULL;
    -- plan: at most 100 waves of at most 1,000 names; per wave a range of IX_rollout_targets_wave, of at most as many targets
    INSERT INTO @missing (wave, turn, name)
    SELECT w.wave, ROW_NUMBER() OVER (PARTITION BY w.wave ORDER BY CAST(n.[key] AS INT)), n.value
    FROM jobs_internal.rollout_waves AS w
    CROSS APPLY OPENJSON(CASE WHEN w.selects = N'names' THEN w.selection ELSE N'[]' END) AS n
    WHERE w.execution_id = @execution_id
        AND w.selects = N'names'
        AND w.targets > 0
        AND n.value COLLATE DATABASE_DEFAULT NOT IN (
            SELECT CONCAT(t.server_name, N'/', t.database_name)
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = w.execution_id
                AND t.wave = w.wave
        );
    -- plan: at most 100 waves
    UPDATE w
    SET w.gate = CONCAT(
            m.number, CASE m.number WHEN 1 THEN N' of its names is' ELSE N' of its names are' END,
            N' no target of it (there is none, or it is in an earlier wave): ', m.names,
            CASE WHEN m.number > 3 THEN N' …' ELSE N'.' END
        )
    FROM (
        SELECT
            o.wave,
            COUNT(*) AS number,
            STRING_AGG(CASE WHEN o.turn <= 3 THEN o.name END, N', ') WITHIN GROUP (ORDER BY o.turn) AS names
        FROM @missing AS o
        GROUP BY o.wave
    ) AS m
    INNER LOOP JOIN jobs_internal.rollout_waves AS w ON w.execution_id = @execution_id AND w.wave = m.wave;

    -- plan: at most 100 waves
    SELECT
        @number = COUNT(*),
        @text = STRING_AGG(CASE WHEN e.turn <= 5 THEN CONCAT(N'''', e.name, N''' (', e.selects, N')') END, N', ')
            WITHIN GROUP (ORDER BY e.turn)
    FROM (
        SELECT w.name, w.selects, ROW_NUMBER() OVER (ORDER BY w.wave) AS turn
        FROM jobs_internal.rollouts AS r
        INNER JOIN jobs_internal.job_executions AS x ON x.execution_id = r.execution_id
        INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
        INNER JOIN jobs_internal.rollout_plan_waves AS p ON p.job_id = x.job_id AND p.version = x.job_version AND p.wave = w.wave
        WHERE r.execution_id = @execution_id
            AND r.targets > 0
            AND w.targets = 0
            AND w.selects IN (N'names', N'like', N'tags')
            AND COALESCE(p.allow_empty, 0) = 0 -- NULL in a plan that an earlier release has stored
    ) AS e;
    IF @number = 0
        RETURN 0;
    SET @text = CONCAT(
        CASE @number WHEN 1 THEN N'The wave ' ELSE N'The waves ' END, @text, CASE WHEN @number > 5 THEN N', …' END,
        CASE @number
            WHEN 1 THEN N' has no targets: its selection matches none, or only targets of earlier waves.'
            ELSE N' have no targets: their selections match none, or only targets of earlier waves.'
        END,
        N' Nothing has run. "allow_empty" in the plan permits it.'
    );
    SELECT @aborts = CASE WHEN r.on_gate_failure = N'abort' THEN 1 ELSE 0 END
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    IF @aborts = 1
    BEGIN
        SET @reason = @text;
        RETURN 0;
    END;
    UPDATE r
    SET r.paused_at = COALESCE(r.paused_at, @now),
        r.paused_by = COALESCE(r.paused_by, N'(empty wave)'),
        -- Why a person, or the deadline, has paused it stays.
        r.pause_reason = CAST(CONCAT(CASE WHEN r.paused_at IS NOT NULL THEN r.pause_reason + N' ' END, @text) AS NVARCHAR(2000))
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id;
    RETURN 0;
END;
