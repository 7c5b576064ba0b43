-- Completes the parameters of schedules by those that their job declares: stores what their runs get (run_payload_id), or why
-- their parameters do not fit (parameters_fault). Firings read both, so that no pass checks or stores parameters.
--
-- Cost: (schedules of the job), a few keys each, and one check for each of their different texts. It is one transaction with the change of
-- the declarations, because a schedule may come due at any time.
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
    DECLARE @given BIGINT = -1; -- what schedules give; 0: nothing
    DECLARE @parameters NVARCHAR(MAX);
    DECLARE @payload_id BIGINT;
    DECLARE @number INT;
    DECLARE @fault NVARCHAR(2048);
    DECLARE @declares BIT = 0;
    DECLARE @wanted TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        revision    INT NOT NULL,
        payload_id  BIGINT NOT NULL, -- 0: none
        run_payload BIGINT NULL,
        fault       NVARCHAR(2048) NULL,
        UNIQUE (payload_id, schedule_id)
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
    SELECT s.schedule_id, s.revision, COALESCE(s.payload_id, 0)
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;

    WHILE @declares = 1
    BEGIN
        SELECT @given = MIN(k.payload_id)
        FROM @locked AS k
        WHERE k.payload_id > @given;
        IF @given IS NULL
            BREAK;
        SET @parameters = NULL;
        SET @payload_id = NULL;
        SELECT @parameters = p.text
        FROM jobs_internal.payloads AS p
        WHERE p.payload_id = @given;
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
        WHERE k.payload_id = @given;
    END;

    UPDATE s
    SET s.run_payload_id = k.run_payload,
        s.parameters_fault = k.fault
    FROM @locked AS k
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = k.schedule_id;
    RETURN 0;
END;
