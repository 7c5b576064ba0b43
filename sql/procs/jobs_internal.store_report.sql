-- Accepts a report on an attempt, or refuses it: the first report on an open callback is accepted (I12), and the same report
-- again changes nothing. A refused report is kept in the column late. The next pass ends the wait.
--
-- Parameters:
--   @target_execution_id  The target.
--   @attempt              The attempt; it must have a callback.
--   @success              1: the work succeeded, 0: it failed.
--   @message              Text for last_message; cut to 16384 characters.
--   @by                   Who reports.
--   @action               Name of the public procedure, if the report is to be in the audit log; the next three belong to it.
--   @job_execution_id     The run.
--   @job_id               Its job.
--   @job_name             The job's name.
--   @now                  The time of the report.
-- Called by: jobs_internal.report_callback, jobs.sp_complete_callback, outside of transactions, because outcomes wait for the lock.
-- Locks:     the callback (U, then X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50135 there is no such callback.
--   50137 the callback has ended with another report, or without one.
CREATE OR ALTER PROCEDURE jobs_internal.store_report
    @target_execution_id BIGINT,
    @attempt             INT,
    @success             BIT,
    @message             NVARCHAR(MAX),
    @by                  NVARCHAR(128),
    @action              NVARCHAR(128) = NULL,
    @job_execution_id    UNIQUEIDENTIFIER = NULL,
    @job_id              UNIQUEIDENTIFIER = NULL,
    @job_name            NVARCHAR(128) = NULL,
    @now                 DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @error NVARCHAR(2048);
    DECLARE @former BIT;
    DECLARE @former_message NVARCHAR(MAX);
    DECLARE @closed_by NVARCHAR(10);
    DECLARE @late NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF LEN(@message) > 16384
        SET @message = LEFT(@message, 16384) + N'…';

    BEGIN TRANSACTION;

    -- late is in no index, so that the lock is on the clustered key.
    SELECT
        @former = c.success,
        @former_message = c.message,
        @closed_by = c.closed_by,
        @late = c.late
    FROM jobs_internal.callbacks AS c WITH (UPDLOCK, ROWLOCK)
    WHERE c.target_execution_id = @target_execution_id
        AND c.attempt = @attempt;
    -- Since the caller found it, the attempt was handed back, or its run was purged.
    IF @@ROWCOUNT = 0
        THROW 50135, N'The callback does not exist.', 1;

    IF @former IS NULL AND @closed_by IS NULL
    BEGIN
        UPDATE c
        SET c.success = @success,
            c.message = @message,
            c.received_at = @now,
            c.received_by = @by
        FROM jobs_internal.callbacks AS c
        WHERE c.target_execution_id = @target_execution_id
            AND c.attempt = @attempt;
        IF @action IS NOT NULL
        BEGIN
            SET @audit_after = CASE WHEN @success = 1 THEN N'{"success":true}' ELSE N'{"success":false}' END;
            EXECUTE jobs_internal.audit
                @action = @action,
                @object_kind = N'Callback',
                @object_id = @job_execution_id,
                @job_id = @job_id,
                @job_name = @job_name,
                @after = @audit_after,
                @now = @now;
        END;
    END;
    ELSE IF @former IS NULL
        OR @former <> @success
        OR DATALENGTH(COALESCE(@former_message, N'')) <> DATALENGTH(COALESCE(@message, N''))
        OR COALESCE(@former_message, N'') <> COALESCE(@message, N'') COLLATE Latin1_General_BIN2
    BEGIN
        SET @error = REPLACE(CONCAT(N'The callback has ended already', CASE
            WHEN @former = 1 THEN N': a success was reported.'
            WHEN @former = 0 THEN N': a failure was reported.'
            WHEN @closed_by = N'Deadline' THEN N': its deadline has passed.'
            WHEN @closed_by = N'Stop' THEN N': the execution was stopped.'
            ELSE N': the attempt ended without it.'
        END), N'%', N'%%');
        UPDATE c
        SET c.late = (
            SELECT @success AS success, @message AS message, @now AS received_at, @by AS received_by
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        )
        FROM jobs_internal.callbacks AS c
        WHERE c.target_execution_id = @target_execution_id
            AND c.attempt = @attempt;
    END;

    COMMIT TRANSACTION;
    IF @error IS NOT NULL
        THROW 50137, @error, 1;
    RETURN 0;
END;
