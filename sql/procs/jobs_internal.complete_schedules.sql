-- Completes the parameters of schedules by those that their job declares: stores what their runs get (run_payload_id), or why
-- their parameters do not fit (parameters_fault). Firings read both, so that no pass checks or stores parameters.
--
-- Parameters:
--   @job_id  The job; the caller has locked it.
-- Called by: jobs.sp_set_job_parameters, within its transaction.
-- Locks:     the schedules (U, X), in the order of their keys; stored parameters (S), or inserts into payloads.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.complete_schedules
    @job_id UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @id BIGINT = 0;
    DECLARE @parameters NVARCHAR(MAX);
    DECLARE @payload_id BIGINT;
    DECLARE @number INT;
    DECLARE @fault NVARCHAR(2048);
    DECLARE @declares BIT = 0;
    DECLARE @wanted TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        revision    INT NOT NULL,
        payload_id  BIGINT NULL,
        run_payload BIGINT NULL,
        fault       NVARCHAR(2048) NULL
    );

    SELECT @declares = CASE WHEN j.parameters IS NULL THEN 0 ELSE 1 END
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    INSERT INTO @wanted (schedule_id)
    SELECT s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id
        AND (@declares = 1 OR s.run_payload_id IS NOT NULL OR s.parameters_fault IS NOT NULL);
    -- revision is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (schedule_id, revision, payload_id)
    SELECT s.schedule_id, s.revision, s.payload_id
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;

    WHILE @declares = 1
    BEGIN
        SELECT @id = MIN(k.schedule_id)
        FROM @locked AS k
        WHERE k.schedule_id > @id;
        IF @id IS NULL
            BREAK;
        SET @parameters = NULL;
        SET @payload_id = NULL;
        SELECT @parameters = p.text
        FROM @locked AS k
        INNER JOIN jobs_internal.payloads AS p ON p.payload_id = k.payload_id
        WHERE k.schedule_id = @id;
        EXECUTE jobs_internal.complete_parameters
            @job_id = @job_id,
            @job_name = NULL,
            @parameters = @parameters,
            @complete = @parameters OUTPUT,
            @number = @number OUTPUT,
            @fault = @fault OUTPUT;
        IF @fault IS NULL
            EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;
        UPDATE k
        SET k.run_payload = @payload_id,
            k.fault = @fault
        FROM @locked AS k
        WHERE k.schedule_id = @id;
    END;

    UPDATE s
    SET s.run_payload_id = k.run_payload,
        s.parameters_fault = k.fault
    FROM @locked AS k
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = k.schedule_id;
    RETURN 0;
END;
