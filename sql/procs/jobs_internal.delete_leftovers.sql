-- Deletes rows that are no longer visible: purged executions with their parameters, then deleted jobs without executions, with
-- their secrets, then questions that have expired. Executions that a purge has hidden are marked meanwhile, a batch before each
-- batch of deleted rows.
-- Rows from which an active rerun, or a run that a trigger started, takes its targets stay until that has ended.
--
-- Each batch is a transaction of its own, so it holds few locks for a short time, and SQL Server can clean up deleted
-- rows before the next batch. Each batch takes the application lock jobagent.cleanup without waiting: a session that
-- does not get the lock leaves the rest to the session that holds it. Only agents and owners of the database may take
-- the lock, so that no other session can block deletions. For other callers nothing is deleted here; agents do it.
-- Inside a caller's transaction nothing is deleted either, because all batches would then be one.
--
-- Parameters:
--   @max_rows    Approximate number of rows to delete in this call.
--   @batch_size  Maximum number of rows that one statement deletes: fewer than the 5,000 locks at which SQL Server
--                escalates to a table lock
--                (https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide).
--   @deleted     Receives the number of deleted rows.
--   @remaining   Receives 1 if rows may be left, 0 if no more can be deleted now.
-- Called by: agent/cleaner.go when jobs_internal.controller_pass returns cleanup_due; jobs.sp_delete_job, jobs.sp_purge_jobhistory,
--            jobs_internal.purge_history.
-- Locks:     rows of one run after the other (X), children first; its parameters (X), skipping locked rows; rows of one deleted
--            job after the other (X), with its secrets and their rows of secret_data_keys; a question (X) with its rows (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_leftovers
    @max_rows   INT = 20000,
    @batch_size INT = 1000,
    @deleted    INT = NULL OUTPUT,
    @remaining  BIT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @lock INT;
    DECLARE @rows INT;
    DECLARE @more BIT; -- runs of a purge are to be marked
    DECLARE @execution_id BIGINT; -- whose rows are being deleted
    DECLARE @payload_id BIGINT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @question_id BIGINT;
    DECLARE @limit INT; -- of the question

    SET @deleted = 0;
    SET @remaining = 1;
    IF @@TRANCOUNT > 0
        RETURN 0;
    IF COALESCE(IS_ROLEMEMBER(N'jobs_agent'), 0) = 0 AND COALESCE(IS_ROLEMEMBER(N'db_owner'), 0) = 0
        RETURN 0;

    WHILE @remaining = 1 AND @deleted < @max_rows
    BEGIN
        EXECUTE jobs_internal.mark_purged_runs @more = @more OUTPUT;
        BEGIN TRANSACTION;
        EXECUTE @lock = sp_getapplock
            @Resource = N'jobagent.cleanup',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0,
            @DbPrincipal = N'jobs_agent';
        IF @lock < 0
        BEGIN
            COMMIT TRANSACTION;
            RETURN 0;
        END;

        IF @execution_id IS NULL
            SET @execution_id = (
                SELECT TOP (1) e.execution_id
                FROM jobs_internal.deletable_runs AS e
                WHERE e.purged_at IS NOT NULL
                ORDER BY e.purged_at, e.execution_id
            );
        -- APPLY, because a join may read the runs first. Plan: IX_jobs_deleted_at, and per job a range of IX_job_executions_job_id.
        IF @execution_id IS NULL
            SET @execution_id = (
                SELECT TOP (1) r.execution_id
                FROM jobs_internal.jobs AS j
                CROSS APPLY (
                    SELECT TOP (1) e.execution_id
                    FROM jobs_internal.deletable_runs AS e
                    WHERE e.job_id = j.job_id
                ) AS r
                WHERE j.deleted_at IS NOT NULL
            );

        IF @execution_id IS NOT NULL
        BEGIN
            DELETE TOP (@batch_size) m
            FROM jobs_internal.task_messages AS m
            WHERE m.execution_id = @execution_id;
            SET @rows = @@ROWCOUNT;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) k
                FROM jobs_internal.task_executions AS k
                WHERE k.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) c
                FROM jobs_internal.callbacks AS c
                WHERE c.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) t
                FROM jobs_internal.target_executions AS t
                WHERE t.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) q
                FROM jobs_internal.target_queues AS q
                WHERE q.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) t
                FROM jobs_internal.rollout_targets AS t
                WHERE t.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                DELETE TOP (@batch_size) v
                FROM jobs_internal.rollout_probe_values AS v
                WHERE v.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
            END;
            IF @rows = 0
            BEGIN
                -- rows: the waves of one roll-out, whose targets are gone
                DELETE w
                FROM jobs_internal.rollout_waves AS w
                WHERE w.execution_id = @execution_id;
                DELETE p
                FROM jobs_internal.rollout_paces AS p
                WHERE p.execution_id = @execution_id;
                DELETE r
                FROM jobs_internal.rollouts AS r
                WHERE r.execution_id = @execution_id;
                -- rows: the steps of one run, whose targets are gone
                DELETE s
                FROM jobs_internal.step_executions AS s
                WHERE s.execution_id = @execution_id;
                SET @rows = @@ROWCOUNT;
                SET @payload_id = (SELECT e.payload_id FROM jobs_internal.job_executions AS e WHERE e.execution_id = @execution_id);
                DELETE e
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = @execution_id;
                SET @rows = @rows + 1;
                SET @execution_id = NULL;
            END;
        END
        ELSE
        BEGIN
            -- Schedules and limits are deleted with the job. What may be many rows is deleted before: ten thousand skipped instants, or a
            -- thousand versions, would be rows of one statement, whose locks become one on the table.
            SET @job_id = (
                SELECT TOP (1) j.job_id
                FROM jobs_internal.jobs AS j
                WHERE j.deleted_at IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.job_id = j.job_id)
            );
            SET @rows = 0;
            IF @job_id IS NOT NULL
            BEGIN
                DELETE TOP (@batch_size) k
                FROM jobs_internal.schedule_skips AS k
                WHERE k.job_id = @job_id;
                SET @rows = @@ROWCOUNT;
                IF @rows = 0
                BEGIN
                    DELETE TOP (@batch_size) s
                    FROM jobs_internal.job_steps AS s
                    WHERE s.job_id = @job_id;
                    SET @rows = @@ROWCOUNT;
                END;
                IF @rows = 0
                BEGIN
                    DELETE TOP (@batch_size) c
                    FROM jobs_internal.step_commands AS c
                    WHERE c.job_id = @job_id;
                    SET @rows = @@ROWCOUNT;
                END;
                IF @rows = 0
                BEGIN
                    DELETE TOP (@batch_size) v
                    FROM jobs_internal.job_versions AS v
                    WHERE v.job_id = @job_id;
                    SET @rows = @@ROWCOUNT;
                END;
                IF @rows = 0
                BEGIN
                    DELETE k
                    FROM jobs_internal.secrets AS k
                    WHERE k.job_id = @job_id
                        AND k.job_id IS NOT NULL;
                    SET @rows = @@ROWCOUNT;
                    DELETE j
                    FROM jobs_internal.jobs AS j
                    WHERE j.job_id = @job_id;
                    SET @rows = @rows + 1;
                END;
            END;
            -- Plan: the first key of IX_questions_expires_at.
            SET @question_id = NULL;
            IF @job_id IS NULL
                SELECT TOP (1) @question_id = q.question_id
                FROM jobs_internal.questions AS q
                WHERE q.is_active = 0
                    AND q.expires_at <= SYSUTCDATETIME()
                ORDER BY q.expires_at, q.question_id;
            IF @question_id IS NOT NULL
            BEGIN
                -- max_rows is in no other index, so that the lock is on the clustered key. past: somebody is changing it
                SET @limit = NULL;
                SELECT @limit = q.max_rows
                FROM jobs_internal.questions AS q WITH (UPDLOCK, READPAST, ROWLOCK)
                WHERE q.question_id = @question_id;
                IF @limit IS NOT NULL
                BEGIN
                    DELETE TOP (@batch_size) r
                    FROM jobs_internal.question_rows AS r
                    WHERE r.question_id = @question_id;
                    SET @rows = @@ROWCOUNT;
                    IF @rows = 0
                    BEGIN
                        -- rows: at most 100 each
                        DELETE s
                        FROM jobs_internal.question_shapes AS s
                        WHERE s.question_id = @question_id;
                        DELETE e
                        FROM jobs_internal.question_errors AS e
                        WHERE e.question_id = @question_id;
                        DELETE q
                        FROM jobs_internal.questions AS q
                        WHERE q.question_id = @question_id;
                        SET @rows = 1;
                    END;
                END;
            END;
            SET @remaining = CASE WHEN @job_id IS NULL AND @rows = 0 AND @more = 0 THEN 0 ELSE 1 END;
        END;
        COMMIT TRANSACTION;
        SET @deleted = @deleted + @rows;
        IF @payload_id IS NOT NULL
            EXECUTE jobs_internal.delete_payloads @payload_id = @payload_id;
        SET @payload_id = NULL;
    END;
    RETURN 0;
END;
