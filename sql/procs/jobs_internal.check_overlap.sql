-- Checks the name of an overlap policy and normalises its spelling (D-P2). While an earlier run of the same schedule is
-- active:
--   Skip            the instant is recorded as skipped
--   BufferOne       one instant waits until that run ends; further ones are recorded as skipped
--   BufferAll       all instants wait, and run one after the other
--   CancelOther     the run is stopped, and the instant waits until it has ended; an instant that waited is skipped
--   TerminateOther  the run is stopped, and the instant's run begins at once
--   AllowAll        the instant's run begins beside the active run
--   Elastic         as AllowAll, but targets on which an older run of the job is still at the same step are Skipped
--
-- Parameters:
--   @overlap  The name in any case; receives the canonical spelling, or the default if it is NULL or empty.
--   @kind     Kind of the schedule, which determines the default; NULL: no default, so that NULL stays NULL.
-- Called by: jobs_internal.store_schedule, jobs.sp_backfill_schedule.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50050 the overlap policy is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_overlap
    @overlap NVARCHAR(20) OUTPUT,
    @kind    NVARCHAR(20) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @canonical NVARCHAR(20);

    IF @overlap IS NULL OR LTRIM(@overlap) = N''
    BEGIN
        SET @overlap = CASE
            WHEN @kind IS NULL THEN NULL
            WHEN @kind = N'elastic' THEN N'Elastic'
            WHEN @kind = N'sap' THEN N'AllowAll'
            ELSE N'Skip'
        END;
        RETURN 0;
    END;
    SET @canonical = CASE @overlap COLLATE Latin1_General_100_CI_AS
        WHEN N'skip' THEN N'Skip'
        WHEN N'bufferone' THEN N'BufferOne'
        WHEN N'bufferall' THEN N'BufferAll'
        WHEN N'cancelother' THEN N'CancelOther'
        WHEN N'terminateother' THEN N'TerminateOther'
        WHEN N'allowall' THEN N'AllowAll'
        WHEN N'elastic' THEN N'Elastic'
    END;
    IF @canonical IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @overlap ''', @overlap,
            N''': want Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll or Elastic.'
        ), N'%', N'%%');
        THROW 50050, @message, 1;
    END;
    SET @overlap = @canonical;
    RETURN 0;
END;
