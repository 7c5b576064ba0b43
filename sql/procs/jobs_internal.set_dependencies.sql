-- Sets the dependencies of a step of a new version of a job. Parameters that are NULL leave their option unchanged.
--
-- Parameters:
--   @job_name    Name of the job, for messages.
--   @job_id      The job; the caller has locked it.
--   @version     The version that the caller has just created.
--   @step_id     The step.
--   @after       Names of the steps that come before it: one name, names separated by commas, or a JSON array of names. Empty
--                text or []: none. (default): the step with the preceding id.
--   @run_when    Succeeded, Failed or Finished, in any case.
--   @on_targets  All, Failed or Succeeded, in any case.
-- Called by: jobs_internal.store_step, within its transaction, before jobs_internal.check_dependencies.
-- Locks:     the version's step (X), inserts into job_step_dependencies.
-- Returns:   0.
-- Throws:
--   50063 @run_when is not Succeeded, Failed or Finished.
--   50064 @on_targets is not All, Failed or Succeeded.
--   50065 @after is not a list of names.
--   50067 a step with @on_targets Failed has the @run_when Succeeded.
--   50142 @after names a step that does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.set_dependencies
    @job_name   NVARCHAR(128),
    @job_id     UNIQUEIDENTIFIER,
    @version    INT,
    @step_id    INT,
    @after      NVARCHAR(MAX),
    @run_when   NVARCHAR(50),
    @on_targets NVARCHAR(50)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @list NVARCHAR(1000);
    DECLARE @wrong NVARCHAR(MAX);
    DECLARE @step NVARCHAR(200);
    DECLARE @has_after BIT = CASE WHEN @after IS NOT NULL THEN 1 END;
    DECLARE @names TABLE (name NVARCHAR(MAX) NULL, is_text BIT NOT NULL);

    IF @run_when COLLATE Latin1_General_100_CI_AS NOT IN (N'succeeded', N'failed', N'finished')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @run_when ''', @run_when, N''': want Succeeded, Failed or Finished.'), N'%', N'%%');
        THROW 50063, @message, 1;
    END;
    IF @on_targets COLLATE Latin1_General_100_CI_AS NOT IN (N'all', N'failed', N'succeeded')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @on_targets ''', @on_targets, N''': want All, Failed or Succeeded.'), N'%', N'%%');
        THROW 50064, @message, 1;
    END;

    -- The name of a step may contain commas and brackets, so a whole name comes first.
    SET @after = LTRIM(RTRIM(@after));
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = @after
    )
        INSERT INTO @names (name, is_text)
        VALUES (@after, 1);
    ELSE IF @after COLLATE Latin1_General_100_CI_AS = N'(default)'
        SET @has_after = 0;
    ELSE IF LEFT(@after, 1) = N'['
    BEGIN
        IF ISJSON(@after) = 0
            INSERT INTO @names (name, is_text)
            VALUES (NULL, 0);
        ELSE
            INSERT INTO @names (name, is_text)
            SELECT LTRIM(RTRIM(o.value)), CASE WHEN o.type = 1 THEN 1 ELSE 0 END
            FROM OPENJSON(@after) AS o;
    END
    ELSE IF @after <> N''
        INSERT INTO @names (name, is_text)
        SELECT LTRIM(RTRIM(p.value)), 1
        FROM STRING_SPLIT(@after, N',') AS p;

    IF EXISTS (SELECT 1 FROM @names AS n WHERE n.is_text = 0 OR n.name = N'')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @after ''', LEFT(@after, 1000), N''': want the name of a step, names separated by commas, or a JSON array of names.'
        ), N'%', N'%%');
        THROW 50065, @message, 1;
    END;
    SELECT @wrong = MIN(n.name)
    FROM @names AS n
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = n.name
    );
    IF @wrong IS NOT NULL
    BEGIN
        SELECT @list = LEFT(
            STRING_AGG(CAST(CONCAT(s.step_id, N' ''', s.step_name, N'''') AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY s.step_id),
            1000
        )
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version;
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has no step named ''', LEFT(@wrong, 500), N''', which @after names. Its steps are: ', @list, N'.'
        ), N'%', N'%%');
        THROW 50142, @message, 1;
    END;

    UPDATE s
    SET s.has_after = COALESCE(@has_after, s.has_after),
        s.run_when = CASE @run_when COLLATE Latin1_General_100_CI_AS
            WHEN N'succeeded' THEN N'Succeeded'
            WHEN N'failed' THEN N'Failed'
            WHEN N'finished' THEN N'Finished'
            ELSE s.run_when
        END,
        s.on_targets = CASE @on_targets COLLATE Latin1_General_100_CI_AS
            WHEN N'all' THEN N'All'
            WHEN N'failed' THEN N'Failed'
            WHEN N'succeeded' THEN N'Succeeded'
            ELSE s.on_targets
        END
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id = @step_id;
    SELECT @step = CONCAT(s.step_id, N' ''', s.step_name, N'''')
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id = @step_id
        AND s.on_targets = N'Failed'
        AND s.run_when = N'Succeeded';
    IF @step IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @on_targets ''Failed'' of step ', @step, N' of the job ''', @job_name,
            N''': it starts only if the steps before it succeeded on all targets. Set its @run_when to Failed or Finished.'
        ), N'%', N'%%');
        THROW 50067, @message, 1;
    END;
    IF @has_after IS NOT NULL
    BEGIN
        DELETE d
        FROM jobs_internal.job_step_dependencies AS d
        WHERE d.job_id = @job_id
            AND d.version = @version
            AND d.step_id = @step_id;
        INSERT INTO jobs_internal.job_step_dependencies (job_id, version, step_id, after_step_id)
        SELECT DISTINCT @job_id, @version, @step_id, s.step_id
        FROM @names AS n
        INNER JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @version AND s.step_name = n.name;
    END;
    RETURN 0;
END;
