-- Cancels active runs of the SAP surface, all of schedules or given ones: passes end those that wait, and agents those that they carry out.
--
-- Parameters:
--   @schedules  JSON array of internal keys of schedules; NULL: none.
--   @runs       JSON array of internal keys of runs; NULL: none.
--   @by         Who cancels them.
--   @now        Time of the request.
-- Called by: jobs_rest.set_job, jobs_rest.update_schedule, jobs_rest.delete_schedules, within their transactions, as the last lock.
-- Locks:     the active runs (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.stop_rest_runs
    @schedules NVARCHAR(MAX) = NULL,
    @runs      NVARCHAR(MAX) = NULL,
    @by        NVARCHAR(128),
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @by = COALESCE(@by, (SELECT c.short_name FROM jobs_internal.current_caller AS c));
    DECLARE @stopped TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    -- Plan: per schedule a range of IX_job_executions_active_schedule_id.
    INSERT INTO @stopped (execution_id)
    SELECT e.execution_id
    FROM OPENJSON(@schedules) AS v
    INNER JOIN jobs_internal.job_executions AS e ON e.schedule_id = CAST(v.value AS BIGINT)
    WHERE e.is_active = 1
        AND e.schedule_id IS NOT NULL
    UNION
    SELECT CAST(v.value AS BIGINT)
    FROM OPENJSON(@runs) AS v;
    UPDATE e
    SET e.stop_requested_at = COALESCE(e.stop_requested_at, @now),
        e.stop_requested_by = COALESCE(e.stop_requested_by, @by, @caller),
        e.parked = 0
    FROM @stopped AS n
    INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = n.execution_id
    WHERE e.is_active = 1; -- plan: the rows are found by their keys
    RETURN 0;
END;
