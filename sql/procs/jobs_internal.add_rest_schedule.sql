-- Adds a schedule to a job of the SAP surface. Within a second, an agent computes its first due instant.
--
-- Parameters:
--   @job         The job's _id; the caller has locked the job.
--   @schedule    JSON object: mode, spec (text of the kind sap), start_at and end_at (the instants of its bounds), description, active,
--                data (a text: a JSON object, which is stored already). Members without a value are left out.
--   @payload_id  The stored data; NULL: none.
--   @id          Receives the public id.
--   @now         Time of the change.
-- Called by: jobs_rest.set_job, jobs_rest.add_schedule, within their transactions.
-- Locks:     inserts into schedules and rest_schedules.
-- Returns:   0.
-- Throws:
--   50090 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.add_rest_schedule
    @job        INT,
    @schedule   NVARCHAR(MAX),
    @payload_id BIGINT,
    @id         UNIQUEIDENTIFIER OUTPUT,
    @now        DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @mode NVARCHAR(20), @spec NVARCHAR(MAX), @start_at DATETIME2(7), @end_at DATETIME2(7), @active BIT;
    DECLARE @description NVARCHAR(MAX);
    DECLARE @schedule_id BIGINT;

    SELECT
        @mode = g.mode,
        @spec = g.spec,
        @start_at = g.start_at,
        @end_at = g.end_at,
        @active = COALESCE(g.active, 0),
        @description = g.description
    FROM OPENJSON(@schedule) WITH (
        mode        NVARCHAR(20),
        spec        NVARCHAR(MAX),
        start_at    DATETIME2(7),
        end_at      DATETIME2(7),
        active      BIT,
        description NVARCHAR(MAX)
    ) AS g;
    IF @mode IS NULL OR @mode NOT IN (N'cron', N'time', N'repeatInterval', N'repeatAt') OR @spec IS NULL OR ISJSON(@spec) = 0
        THROW 50090, N'Invalid schedule: want a mode and a text of the kind sap.', 1;

    SET @id = NEWID();
    -- next_run_id marks the schedules of this surface.
    -- rows: one
    INSERT INTO jobs_internal.schedules (
        job_id, name, kind, spec, time_zone, catch_up, overlap, payload_id, enabled, next_run_id, created_at, updated_at
    )
    SELECT
        r.job_id, CAST(@id AS NVARCHAR(36)), N'sap', @spec, NULL, N'sap-20min', N'AllowAll', @payload_id, 0, NEWID(), @now, @now
    FROM jobs_internal.rest_jobs AS r
    WHERE r.rest_job_id = @job;
    SET @schedule_id = SCOPE_IDENTITY();
    INSERT INTO jobs_internal.rest_schedules (schedule_id, rest_schedule_id, mode, spec, active, description, start_at, end_at)
    VALUES (@schedule_id, @id, @mode, @spec, @active, NULLIF(@description, N''), @start_at, @end_at);
    UPDATE s
    SET s.enabled = w.enabled,
        s.spec = w.spec
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.rest_schedule_settings AS w ON w.schedule_id = s.schedule_id
    WHERE s.schedule_id = @schedule_id;
    EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
    RETURN 0;
END;
