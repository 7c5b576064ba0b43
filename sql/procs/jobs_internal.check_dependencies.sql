-- Checks the dependencies of all steps of a new version of a job, and stores whether the version has any.
--
-- Parameters:
--   @job_name  Name of the job, for messages.
--   @job_id    The job; the caller has locked it.
--   @version   The version that the caller has just created.
-- Called by: jobs_internal.store_step, jobs.sp_delete_jobstep, within their transactions.
-- Locks:     the version's row (X).
-- Returns:   0.
-- Throws:
--   50066 a step whose @run_when is Failed, or whose @on_targets is not All, comes after no step.
--   50143 steps come after each other.
CREATE OR ALTER PROCEDURE jobs_internal.check_dependencies
    @job_name NVARCHAR(128),
    @job_id   UNIQUEIDENTIFIER,
    @version  INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @list NVARCHAR(1500);
    DECLARE @step NVARCHAR(200);
    DECLARE @option NVARCHAR(50);
    DECLARE @result NVARCHAR(10);
    DECLARE @removed INT;
    DECLARE @edges TABLE (
        step_id       INT NOT NULL,
        after_step_id INT NOT NULL,
        PRIMARY KEY (step_id, after_step_id)
    );
    DECLARE @left TABLE (step_id INT NOT NULL PRIMARY KEY);

    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND (s.has_after = 1 OR s.run_when <> N'Succeeded' OR s.on_targets <> N'All')
    )
        RETURN 0;

    INSERT INTO @edges (step_id, after_step_id)
    SELECT s.step_id, s.step_id - 1
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.has_after = 0
        AND s.step_id > 1
    UNION ALL
    SELECT d.step_id, d.after_step_id
    FROM jobs_internal.job_step_dependencies AS d
    WHERE d.job_id = @job_id
        AND d.version = @version;

    SELECT TOP (1)
        @step = CONCAT(s.step_id, N' ''', s.step_name, N''''),
        @option = CASE WHEN s.run_when = N'Failed' THEN N'@run_when ''Failed''' ELSE CONCAT(N'@on_targets ''', s.on_targets, N'''') END,
        @result = CASE WHEN s.run_when = N'Failed' OR s.on_targets = N'Failed' THEN N'fail' ELSE N'succeed' END
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND (s.run_when = N'Failed' OR s.on_targets <> N'All')
        AND NOT EXISTS (SELECT 1 FROM @edges AS g WHERE g.step_id = s.step_id)
    ORDER BY s.step_id;
    IF @step IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid ', @option, N' of step ', @step, N' of the job ''', @job_name,
            N''': no step comes before it that could ', @result, N'. Name one in @after.'
        ), N'%', N'%%');
        THROW 50066, @message, 1;
    END;

    -- What is left when all steps that come after no step left are removed again and again contains the cycles; the second loop
    -- removes the steps that only come after a cycle.
    INSERT INTO @left (step_id)
    SELECT s.step_id
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;
    SET @removed = 1;
    WHILE @removed > 0
    BEGIN
        DELETE n
        FROM @left AS n
        WHERE NOT EXISTS (
            SELECT 1
            FROM @edges AS g
            INNER JOIN @left AS b ON b.step_id = g.after_step_id
            WHERE g.step_id = n.step_id
        );
        SET @removed = @@ROWCOUNT;
    END;
    SET @removed = 1;
    WHILE @removed > 0
    BEGIN
        DELETE n
        FROM @left AS n
        WHERE NOT EXISTS (
            SELECT 1
            FROM @edges AS g
            INNER JOIN @left AS b ON b.step_id = g.step_id
            WHERE g.after_step_id = n.step_id
        );
        SET @removed = @@ROWCOUNT;
    END;
    SELECT @list = LEFT(
        STRING_AGG(CAST(CONCAT(s.step_id, N' ''', s.step_name, N'''') AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY s.step_id),
        1500
    )
    FROM @left AS n
    INNER JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @version AND s.step_id = n.step_id;
    IF @list IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            CASE WHEN (SELECT COUNT(*) FROM @left) = 1 THEN N'The step ' ELSE N'The steps ' END, @list, N' of the job ''', @job_name,
            CASE WHEN (SELECT COUNT(*) FROM @left) = 1 THEN N''' comes after itself.' ELSE N''' come after each other.' END,
            N' Change @after so that a step can start first.'
        ), N'%', N'%%');
        THROW 50143, @message, 1;
    END;

    UPDATE v
    SET v.has_dependencies = 1
    FROM jobs_internal.job_versions AS v
    WHERE v.job_id = @job_id
        AND v.version = @version;
    RETURN 0;
END;
