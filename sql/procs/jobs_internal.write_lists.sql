-- Writes slices of the lists of targets that wait to be written (step_lists): of large resolutions, of those that found their job
-- locked, of reruns, and of steps with on_targets = Failed or Succeeded. A list whose job another session holds waits for a later
-- pass, because this procedure runs under jobagent.advance and would block all agents (I14). Then it deletes parts of resolutions that
-- ended without a list.
--
-- Cost: at most (@slice) targets and one part a call. Short lists come first, so that a large one does not hold them up.
--
-- Parameters:
--   @slice  Maximum number of targets that are read, at least 1. A list that is read costs at least a two-hundredth of it.
--   @more   Output. 1: lists are left that can be written, so the next pass should follow at once.
-- Called by: jobs_internal.advance, within its transaction, before it has locked anything else.
-- Locks:     the jobs' rows (U), skipping locked rows; then see jobs_internal.write_list; list_parts (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.write_lists
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @room INT = @slice;
    DECLARE @step_execution_id BIGINT;
    DECLARE @examined INT;
    DECLARE @complete BIT;
    DECLARE @lists TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        current_version   INT NOT NULL,
        written           INT NOT NULL,
        served            INT NOT NULL -- slices in this call
    );
    DECLARE @ended TABLE (
        task_id BIGINT NOT NULL,
        part    INT NOT NULL,
        PRIMARY KEY (task_id, part)
    );

    -- The jobs are locked in the statement that picks the lists, so that lists of a locked job take no place of others, however many its
    -- runs are. current_version is in no index, so that the locks are on the clustered keys. READPAST never waits, so their order does not
    -- matter. Plan: the lists, which are few, in their order; per list one key of PK_jobs, until there are 200.
    INSERT INTO @lists (step_execution_id, current_version, written, served)
    SELECT TOP (200) l.step_execution_id, j.current_version, l.written, 0
    FROM jobs_internal.step_lists AS l
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) ON j.job_id = l.job_id
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.set_asides AS z
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id BETWEEN z.first_id AND z.last_id
        WHERE z.kind = N'Run'
            AND s.step_execution_id = l.step_execution_id
    )
    ORDER BY l.written, l.step_execution_id;
    IF @@ROWCOUNT > 0
    BEGIN
        WHILE @room > 0 AND EXISTS (SELECT 1 FROM @lists AS l)
        BEGIN
            SELECT TOP (1) @step_execution_id = l.step_execution_id
            FROM @lists AS l
            ORDER BY l.served, l.written, l.step_execution_id;
            EXECUTE jobs_internal.write_list
                @step_execution_id = @step_execution_id,
                @slice = @room,
                @examined = @examined OUTPUT,
                @complete = @complete OUTPUT,
                @now = @now;
            SET @room = @room - @examined - @slice / 200 - 1;
            UPDATE l
            SET l.served = l.served + 1
            FROM @lists AS l
            WHERE l.step_execution_id = @step_execution_id;
            DELETE l
            FROM @lists AS l
            WHERE l.step_execution_id = @step_execution_id
                AND @complete = 1;
        END;
        SET @more = CASE WHEN EXISTS (SELECT 1 FROM @lists AS l) THEN 1 ELSE 0 END;
    END;

    -- In two statements: when the first one has seen that a task ended, the second one sees its row in step_lists, which was
    -- committed with it. Plan: list_parts, usually empty.
    INSERT INTO @ended (task_id, part)
    SELECT TOP (5) p.task_id, p.part
    FROM jobs_internal.list_parts AS p
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.task_executions AS k WHERE k.task_id = p.task_id AND k.ended_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.task_id = p.task_id)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            INNER JOIN jobs_internal.task_executions AS k ON k.execution_id BETWEEN z.first_id AND z.last_id
            WHERE z.kind = N'Run'
                AND k.task_id = p.task_id
        )
    ORDER BY p.task_id, p.part;
    IF @@ROWCOUNT > 0
        DELETE p
        FROM @ended AS w
        INNER LOOP JOIN jobs_internal.list_parts AS p ON p.task_id = w.task_id AND p.part = w.part
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.task_id = p.task_id);
    RETURN 0;
END;
