-- Deletes a baseline. Steps that name it fail from then on.
--
-- Parameters:
--   @baseline_name  Name of the baseline.
-- Called by: members of the role jobs_author.
-- Locks:     the rows of the baseline (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50491 the baseline has no name, or one that a step cannot give.
--   50493 the baseline does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_delete_drift_baseline
    @baseline_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @locked INT;
    DECLARE @audit_before NVARCHAR(MAX);

    IF DATALENGTH(@baseline_name) > 256
        THROW 50097, N'Invalid @baseline_name: want at most 128 characters, not 129 or more.', 1;
    IF @baseline_name IS NULL OR LTRIM(@baseline_name) = N''
        THROW 50491, N'Missing baseline name: @baseline_name is NULL or empty.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    SET @locked = (SELECT COUNT(*) FROM jobs_internal.drift_baselines AS b WITH (UPDLOCK, HOLDLOCK) WHERE b.name = @baseline_name);
    IF @locked = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The baseline ''', @baseline_name, N''' does not exist. The view jobs.drift_baselines lists all baselines.'
        ), N'%', N'%%');
        THROW 50493, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_drift_baseline @baseline_name = @baseline_name, @state = @audit_before OUTPUT;
    -- rows: those of one baseline
    DELETE b
    FROM jobs_internal.drift_baselines AS b
    WHERE b.name = @baseline_name;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_drift_baseline',
        @object_kind = N'DriftBaseline',
        @object_name = @baseline_name,
        @before = @audit_before,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
