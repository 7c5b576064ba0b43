-- Changes the state of the job agent, and its operation with it. The only procedure that does.
--
--   from                                to        what happened
--   None, Deleted                       Creating  an operation has begun to create it
--   Creating                            Ready     it was created
--   Creating                            None, Deleted  its creation has failed
--   Ready, Faulted                      Updating  an operation has begun to change it
--   Updating                            Ready     it was changed, or the change has failed and the old values hold
--   Ready                               Disabled  an administrator has disabled it
--   Disabled, Faulted                   Ready     an administrator has enabled it
--   Ready, Disabled, Faulted            Deleting  an operation has begun to delete it
--   Deleting                            Deleted   nothing of it is active
--   Updating, Deleting                  Faulted   the operation could not be carried out
--
-- Parameters:
--   @to            The new state.
--   @reason        Disabled, Faulted: why. NULL otherwise.
--   @operation_id  Creating, Updating, Deleting: the operation that has begun. NULL otherwise.
--   @values        1: the job agent gets the values of @operation_id, or of the operation that ends: all for Creating and Ready.
--   @now           The time of the change.
-- Called by: jobs.sp_set_job_agent, jobs.sp_delete_job_agent, jobs.sp_enable_job_agent, jobs.sp_disable_job_agent,
--            jobs_internal.advance_job_agent, within their transactions.
-- Locks:     the row of the job agent (X).
-- Returns:   0.
-- Throws:
--   50029 the job agent cannot go from its state to this one.
CREATE OR ALTER PROCEDURE jobs_internal.set_job_agent_state
    @to           NVARCHAR(20),
    @reason       NVARCHAR(2000) = NULL,
    @operation_id UNIQUEIDENTIFIER = NULL,
    @values       BIT = 0,
    @now          DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @from NVARCHAR(20);
    DECLARE @source UNIQUEIDENTIFIER;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    SELECT
        @from = a.state,
        @source = COALESCE(@operation_id, a.operation_id)
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1;
    IF NOT EXISTS (
        SELECT 1
        FROM (VALUES
            (N'None', N'Creating'), (N'Deleted', N'Creating'),
            (N'Creating', N'Ready'), (N'Creating', N'None'), (N'Creating', N'Deleted'),
            (N'Ready', N'Updating'), (N'Faulted', N'Updating'),
            (N'Updating', N'Ready'), (N'Updating', N'Faulted'),
            (N'Ready', N'Disabled'), (N'Disabled', N'Ready'), (N'Faulted', N'Ready'),
            (N'Ready', N'Deleting'), (N'Disabled', N'Deleting'), (N'Faulted', N'Deleting'),
            (N'Deleting', N'Deleted'), (N'Deleting', N'Faulted')
        ) AS v (from_state, to_state)
        WHERE v.from_state = @from
            AND v.to_state = @to
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job agent cannot go from the state ', @from, N' to ', @to, N'.'), N'%', N'%%');
        THROW 50029, @message, 1;
    END;

    IF @to IN (N'None', N'Deleted')
        UPDATE a
        SET a.name = NULL,
            a.location = NULL,
            a.sku = NULL,
            a.capacity = NULL,
            a.identity_id = NULL,
            a.tags = NULL,
            a.state = @to,
            a.reason = NULL,
            a.disabled_by = NULL,
            a.operation_id = NULL,
            a.created_at = NULL,
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1;
    ELSE IF @values = 1
        UPDATE a
        SET a.name = CASE WHEN @to = N'Creating' THEN o.agent_name ELSE a.name END,
            a.location = o.location,
            a.sku = o.sku,
            a.capacity = o.capacity,
            a.identity_id = o.identity_id,
            a.tags = o.tags,
            a.state = @to,
            a.reason = NULL,
            a.disabled_by = NULL,
            a.operation_id = @operation_id,
            a.created_at = COALESCE(a.created_at, @now),
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        INNER JOIN jobs_internal.job_agent_operations AS o ON o.operation_id = @source
        WHERE a.id = 1;
    ELSE
        UPDATE a
        SET a.state = @to,
            a.reason = @reason,
            a.disabled_by = CASE WHEN @to = N'Disabled' THEN @caller END,
            a.operation_id = @operation_id,
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1;
    RETURN 0;
END;
