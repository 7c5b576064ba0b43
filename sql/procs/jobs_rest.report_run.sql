-- Accepts or refuses a report on a run of the SAP surface (E17, S-37 to S-41): job, schedule and run must belong together. A report that
-- comes before the answer is kept, and decides when the attempt ends. The same report again changes nothing. The next pass ends the wait.
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  The schedule's id.
--   @run       The run's id.
--   @success   1: the work succeeded, 0: it failed.
--   @message   Text of the report; cut to 16384 characters.
--   @by        Who reports, for display; cut to 128 characters.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.store_report.
-- Audit:     none; the sender is the application that a run called, and jobs.callbacks shows its report.
-- Returns:   0.
-- Throws:
--   50060 an argument is missing.
--   50097 a text is longer than its limit.
--   50135 there is no such callback.
--   50136 the caller has a transaction.
--   50137 the callback has ended with another report, or without one.
--   50172 the job does not exist in the tenant.
--   50173 the job has no such schedule.
--   50174 the schedule has no such run.
--   50177 nothing was sent for the run yet.
--   50402 the run is one of a task.
CREATE OR ALTER PROCEDURE jobs_rest.report_run
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule UNIQUEIDENTIFIER,
    @run      UNIQUEIDENTIFIER,
    @success  BIT,
    @message  NVARCHAR(MAX) = NULL,
    @by       NVARCHAR(MAX) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @oldest DATETIME2(7);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @execution_id BIGINT;
    DECLARE @is_active BIT;
    DECLARE @target_execution_id BIGINT;
    DECLARE @attempt INT;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @@TRANCOUNT > 0
        THROW 50136, N'A report is not accepted inside a transaction, because outcomes would wait for it. Commit first.', 1;
    IF @success IS NULL
        THROW 50060, N'Missing report: want @success = 1 or @success = 0.', 1;
    EXECUTE jobs_internal.find_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
    EXECUTE jobs_internal.find_rest_schedule @job_id = @job_id, @schedule = @schedule, @schedule_id = @schedule_id OUTPUT;
    SET @oldest = DATEADD(DAY, -(SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'sap_run_log_days'), @now);
    -- A run that still waits can be reported, however old it is.
    SELECT
        @execution_id = e.execution_id,
        @is_active = e.is_active
    FROM jobs_internal.visible_runs AS e
    WHERE e.job_execution_id = @run
        AND e.job_id = @job_id
        AND e.schedule_id = @schedule_id
        AND (e.due_at >= @oldest OR e.is_active = 1);
    IF @execution_id IS NULL
    BEGIN
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS s
            WHERE s.schedule_id = @schedule_id
                AND s.next_run_id = @run
                AND s.next_fire_at IS NOT NULL
        )
            THROW 50177, N'Run has not been started', 1;
        THROW 50174, N'The run does not exist.', 1;
    END;

    SELECT TOP (1)
        @target_execution_id = c.target_execution_id,
        @attempt = c.attempt
    FROM jobs_internal.callbacks AS c
    WHERE c.execution_id = @execution_id
    ORDER BY c.opened_at DESC, c.target_execution_id DESC, c.attempt DESC;
    IF @target_execution_id IS NULL
        AND @is_active = 1
        AND EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = @job_id AND r.job_type = N'CF_TASK')
        THROW 50402, N'The run of a task ends with its process, not by a report', 1;
    IF @target_execution_id IS NULL AND @is_active = 1
        THROW 50177, N'Run has not been started', 1;
    IF @target_execution_id IS NULL
        THROW 50137, N'Run is already completed', 1;
    EXECUTE jobs_internal.store_report
        @target_execution_id = @target_execution_id,
        @attempt = @attempt,
        @success = @success,
        @message = @message,
        @by = @by,
        @now = @now;
    RETURN 0;
END;
