-- Ends a change of steps: raises the job's revision, and gives it to the steps that the new version has changed. If the new version
-- equals the one before it, the transaction goes back to the savepoint
-- of copy_steps, and nothing has changed (R-51).
--
-- A step has changed if it is at another position, or has another name, setting or predecessor. A new column of job_steps must be
-- compared here.
--
-- Parameters:
--   @job_id       The job; the caller has locked it.
--   @version      The version before.
--   @job_version  The version that copy_steps has created; receives the job's current version, which is @version if nothing has
--                 changed.
--   @revision     Receives the job's revision.
-- Called by: jobs.sp_add_jobstep, jobs.sp_update_jobstep, jobs.sp_delete_jobstep, jobs.sp_set_jobstep_options, within their
--            transactions, after the last change of the new version.
-- Locks:     the job's row (X), the new version's steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.finish_version
    @job_id      UNIQUEIDENTIFIER,
    @version     INT,
    @job_version INT OUTPUT,
    @revision    BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @changed TABLE (step_id INT NOT NULL PRIMARY KEY);

    -- Plan: two ranges of PK_job_steps, as many rows as the job has steps. Texts are compared exactly: the collation may treat
    -- different ones as equal.
    INSERT INTO @changed (step_id)
    SELECT n.step_id
    FROM jobs_internal.job_steps AS n
    LEFT JOIN jobs_internal.job_steps AS o ON o.job_id = n.job_id AND o.version = @version AND o.step_id = n.step_id
    WHERE n.job_id = @job_id
        AND n.version = @job_version
        AND (
            o.step_id IS NULL
            OR EXISTS (
                SELECT
                    n.step_name COLLATE Latin1_General_BIN2, n.credential_name COLLATE Latin1_General_BIN2,
                    n.target_group_name COLLATE Latin1_General_BIN2, n.output_type COLLATE Latin1_General_BIN2,
                    n.output_credential_name COLLATE Latin1_General_BIN2,
                    n.output_resource_group_name COLLATE Latin1_General_BIN2,
                    n.output_server_name COLLATE Latin1_General_BIN2,
                    n.output_database_name COLLATE Latin1_General_BIN2,
                    n.output_schema_name COLLATE Latin1_General_BIN2, n.output_table_name COLLATE Latin1_General_BIN2,
                    n.on_unknown_outcome COLLATE Latin1_General_BIN2, n.run_when COLLATE Latin1_General_BIN2,
                    n.on_targets COLLATE Latin1_General_BIN2, n.retry_errors COLLATE Latin1_General_BIN2,
                    n.tolerated_failures COLLATE Latin1_General_BIN2, n.command_id, n.target_group_id,
                    n.initial_retry_interval_seconds, n.maximum_retry_interval_seconds,
                    n.retry_interval_backoff_multiplier, n.retry_attempts, n.step_timeout_seconds,
                    n.output_subscription_id, n.max_parallelism, n.at_most_once, n.bind_parameters, n.has_after
                EXCEPT
                SELECT
                    o.step_name COLLATE Latin1_General_BIN2, o.credential_name COLLATE Latin1_General_BIN2,
                    o.target_group_name COLLATE Latin1_General_BIN2, o.output_type COLLATE Latin1_General_BIN2,
                    o.output_credential_name COLLATE Latin1_General_BIN2,
                    o.output_resource_group_name COLLATE Latin1_General_BIN2,
                    o.output_server_name COLLATE Latin1_General_BIN2,
                    o.output_database_name COLLATE Latin1_General_BIN2,
                    o.output_schema_name COLLATE Latin1_General_BIN2, o.output_table_name COLLATE Latin1_General_BIN2,
                    o.on_unknown_outcome COLLATE Latin1_General_BIN2, o.run_when COLLATE Latin1_General_BIN2,
                    o.on_targets COLLATE Latin1_General_BIN2, o.retry_errors COLLATE Latin1_General_BIN2,
                    o.tolerated_failures COLLATE Latin1_General_BIN2, o.command_id, o.target_group_id,
                    o.initial_retry_interval_seconds, o.maximum_retry_interval_seconds,
                    o.retry_interval_backoff_multiplier, o.retry_attempts, o.step_timeout_seconds,
                    o.output_subscription_id, o.max_parallelism, o.at_most_once, o.bind_parameters, o.has_after
            )
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
    IF NOT EXISTS (SELECT 1 FROM @changed)
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
    FROM @changed AS c
    INNER LOOP JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @job_version AND s.step_id = c.step_id;
    RETURN 0;
END;
