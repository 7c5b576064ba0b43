-- Ends a change of steps, or of the plan of roll-outs: raises the job's revision, and gives it to the steps that the new version has
-- changed. If the new version equals the one before it, the transaction goes back to the savepoint of copy_steps, and nothing has changed
-- (R-51).
--
-- A step has changed if the caller says so, or if it is at another position: another name was there before. A step whose predecessors
-- have moved has changed, too.
--
-- Parameters:
--   @job_id       The job; the caller has locked it.
--   @version      The version before.
--   @changed      Position of the step whose settings the caller has changed; NULL: none.
--   @job_version  The version that copy_steps has created; receives the job's current version, which is @version if nothing has
--                 changed.
--   @revision     Receives the job's revision.
-- Called by: jobs_internal.store_step, jobs.sp_delete_jobstep, jobs.sp_set_job_rollout, within their transactions, after the
--            last change of the new version.
-- Locks:     the job's row (X), the new version's steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.finish_version
    @job_id      UNIQUEIDENTIFIER,
    @version     INT,
    @changed     INT = NULL,
    @job_version INT OUTPUT,
    @revision    BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @steps TABLE (step_id INT NOT NULL PRIMARY KEY);

    -- Plan: two ranges of PK_job_steps, as many rows as the job has steps. Names are compared exactly: the collation may treat different
    -- ones as equal.
    INSERT INTO @steps (step_id)
    SELECT n.step_id
    FROM jobs_internal.job_steps AS n
    LEFT JOIN jobs_internal.job_steps AS o ON o.job_id = n.job_id AND o.version = @version AND o.step_id = n.step_id
    WHERE n.job_id = @job_id
        AND n.version = @job_version
        AND (
            o.step_id IS NULL
            OR n.step_id = @changed
            OR n.step_name <> o.step_name COLLATE Latin1_General_BIN2
            OR EXISTS (
                SELECT a.after_step_id
                FROM jobs_internal.job_step_dependencies AS a
                WHERE a.job_id = n.job_id
                    AND a.version = n.version
                    AND a.step_id = n.step_id
                EXCEPT
                SELECT b.after_step_id
                FROM jobs_internal.job_step_dependencies AS b
                WHERE b.job_id = o.job_id
                    AND b.version = o.version
                    AND b.step_id = o.step_id
            )
            OR EXISTS (
                SELECT b.after_step_id
                FROM jobs_internal.job_step_dependencies AS b
                WHERE b.job_id = o.job_id
                    AND b.version = o.version
                    AND b.step_id = o.step_id
                EXCEPT
                SELECT a.after_step_id
                FROM jobs_internal.job_step_dependencies AS a
                WHERE a.job_id = n.job_id
                    AND a.version = n.version
                    AND a.step_id = n.step_id
            )
        );
    -- Plans are compared exactly, too.
    IF NOT EXISTS (SELECT 1 FROM @steps)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_versions AS n
            INNER JOIN jobs_internal.job_versions AS o ON o.job_id = n.job_id AND o.version = @version
            WHERE n.job_id = @job_id
                AND n.version = @job_version
                AND CAST(COALESCE(n.rollout_plan, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(o.rollout_plan, N'') AS VARBINARY(MAX))
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_steps AS o
            WHERE o.job_id = @job_id
                AND o.version = @version
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_steps AS n
                    WHERE n.job_id = @job_id
                        AND n.version = @job_version
                        AND n.step_id = o.step_id
                )
        )
    BEGIN
        ROLLBACK TRANSACTION new_version;
        SET @job_version = @version;
        SELECT @revision = j.revision
        FROM jobs_internal.jobs AS j
        WHERE j.job_id = @job_id;
        RETURN 0;
    END;

    EXECUTE jobs_internal.raise_revision @job_id = @job_id, @revision = @revision OUTPUT;
    UPDATE s
    SET s.revision = @revision
    FROM @steps AS c
    INNER LOOP JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @job_version AND s.step_id = c.step_id;
    RETURN 0;
END;
