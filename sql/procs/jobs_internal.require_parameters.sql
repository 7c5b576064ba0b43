-- Completes the parameters of a run by those that its job declares (jobs_internal.complete_parameters), and refuses those that do
-- not fit.
--
-- Parameters:
--   @job_id      The job; the caller has locked it.
--   @job_name    Its name, for the message.
--   @parameters  The parameters that are given: NULL or empty, or what jobs_internal.check_parameters has accepted.
--   @complete    Receives the parameters of the run; NULL: none.
-- Called by: jobs.sp_start_job, jobs_internal.store_schedule, within their transactions.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:
--   50069 a value does not have the declared type, or is not one of the choices.
--   50071 the parameters are too long.
--   50159 a required parameter is missing.
--   50160 the job declares no parameter of this name.
CREATE OR ALTER PROCEDURE jobs_internal.require_parameters
    @job_id     UNIQUEIDENTIFIER,
    @job_name   NVARCHAR(128),
    @parameters NVARCHAR(MAX),
    @complete   NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @number INT;
    DECLARE @fault NVARCHAR(2048);

    EXECUTE jobs_internal.complete_parameters
        @job_id = @job_id,
        @job_name = @job_name,
        @parameters = @parameters,
        @complete = @complete OUTPUT,
        @number = @number OUTPUT,
        @fault = @fault OUTPUT;
    SET @message = REPLACE(@fault, N'%', N'%%');
    IF @number = 50069
        THROW 50069, @message, 1;
    IF @number = 50071
        THROW 50071, @message, 1;
    IF @number = 50159
        THROW 50159, @message, 1;
    IF @number = 50160
        THROW 50160, @message, 1;
    RETURN 0;
END;
