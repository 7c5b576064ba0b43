-- Deletes a calendar that no schedule, no plan of the current version of a job or of an active roll-out, and no window of databases uses.
--
-- Parameters:
--   @calendar_name  Name of the calendar.
-- Called by: members of the role jobs_author.
-- Locks:     the calendar's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50053 the calendar name is missing or empty.
--   50097 a text is longer than its limit.
--   50129 the calendar does not exist.
--   50131 the calendar is used by a schedule or a plan.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_calendar
    @calendar_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @user NVARCHAR(300);
    DECLARE @audit_before NVARCHAR(MAX);

    IF DATALENGTH(@calendar_name) > 256
        THROW 50097, N'Invalid @calendar_name: want at most 128 characters, not 129 or more.', 1;

    IF @calendar_name IS NULL OR LTRIM(@calendar_name) = N''
        THROW 50053, N'Missing calendar name: @calendar_name is NULL or empty.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.calendars AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.name = @calendar_name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' does not exist. The view jobs.calendars lists all calendars.'
        ), N'%', N'%%');
        THROW 50129, @message, 1;
    END;
    SELECT TOP (1) @user = CONCAT(N'the schedule ''', s.name, N''' of the job ''', j.name, N'''')
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE s.spec LIKE N'%blackouts%'
        AND j.deleted_at IS NULL
        AND (
            JSON_VALUE(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') = @calendar_name
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') AS k
                WHERE k.[type] = 1
                    AND k.value = @calendar_name
            )
        )
    ORDER BY s.schedule_id;
    IF @user IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' is used by ', @user, N'. Remove it from the schedule''s blackouts first.'
        ), N'%', N'%%');
        THROW 50131, @message, 1;
    END;
    SELECT TOP (1) @user = CONCAT(N'the wave ''', p.name, N''' of the roll-outs of the job ''', j.name, N'''')
    FROM jobs_internal.jobs AS j
    INNER JOIN jobs_internal.rollout_plan_waves AS p ON p.job_id = j.job_id AND p.version = j.current_version
    WHERE j.deleted_at IS NULL
        AND p.window_name = @calendar_name
    ORDER BY j.name, p.wave;
    IF @user IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' is used by ', @user, N'. Change the plan with jobs.sp_set_job_rollout first.'
        ), N'%', N'%%');
        THROW 50131, @message, 1;
    END;
    -- A roll-out keeps its plan, and a wave whose calendar is gone would never start. Plan: IX_rollouts_job_id, which has the active ones.
    SELECT TOP (1)
        @user = CONCAT(N'the wave ''', p.name, N''' of the active roll-out ', e.job_execution_id, N' of the job ''', j.name, N'''')
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    INNER JOIN jobs_internal.rollout_plan_waves AS p ON p.job_id = e.job_id AND p.version = e.job_version
    LEFT JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = p.wave
    WHERE r.ended_at IS NULL
        AND j.deleted_at IS NULL
        AND p.window_name = @calendar_name
        AND w.ended_at IS NULL
    ORDER BY j.name, r.execution_id, p.wave;
    IF @user IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' is used by ', @user, N'. Wait until the wave is over, or abort the roll-out first.'
        ), N'%', N'%%');
        THROW 50131, @message, 1;
    END;
    SELECT TOP (1) @user = CONCAT(N'the window ''', w.name, N''' of databases')
    FROM jobs_internal.target_windows AS w
    WHERE w.calendar_name = @calendar_name
        OR w.blackouts_name = @calendar_name
    ORDER BY w.name;
    IF @user IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' is used by ', @user,
            N'. Change it with jobs.sp_set_target_window, or delete it with jobs.sp_delete_target_window first.'
        ), N'%', N'%%');
        THROW 50131, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_before OUTPUT;
    DELETE c
    FROM jobs_internal.calendars AS c
    WHERE c.name = @calendar_name;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_calendar',
        @object_kind = N'Calendar',
        @object_name = @calendar_name,
        @before = @audit_before;

    COMMIT TRANSACTION;
    RETURN 0;
END;
