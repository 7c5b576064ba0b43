-- Ends a backfill: its remaining instants do not become runs, and its instants that wait for an earlier run are
-- recorded as skipped. This includes a Completed backfill with waiting instants. Runs that it has started continue;
-- jobs.sp_stop_job ends them. Repeating the call, or calling it for a backfill with nothing left, has no effect.
--
-- Parameters:
--   @backfill_id  Id of the backfill: see the view jobs.schedule_backfills.
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U), the schedule's row (U, X), the backfill (X), its rows in schedule_buffer (X); inserts into
--            schedule_skips; an insert into audit_entries.
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50132 the backfill does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_cancel_backfill
    @backfill_id BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @version INT;
    DECLARE @revision INT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @skipped TABLE (
        due_at DATETIME2(7) NOT NULL PRIMARY KEY
    );
    DECLARE @schedule_name NVARCHAR(128);
    DECLARE @canceled INT;
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @job_name NVARCHAR(128);

    BEGIN TRANSACTION;

    -- Jobs before schedules, as everywhere; a backfill never changes its schedule. The columns current_version and revision are in no
    -- index, so that the locks are on the clustered keys.
    SELECT
        @job_id = s.job_id,
        @schedule_id = s.schedule_id
    FROM jobs_internal.schedule_backfills AS f
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
    WHERE f.backfill_id = @backfill_id;
    SELECT
        @version = j.current_version,
        @job_name = j.name
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.job_id = @job_id
        AND j.deleted_at IS NULL;
    SELECT
        @revision = s.revision,
        @schedule_name = s.name
    FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
    WHERE s.schedule_id = @schedule_id;
    IF @version IS NULL OR @revision IS NULL
        OR NOT EXISTS (SELECT 1 FROM jobs_internal.schedule_backfills AS f WHERE f.backfill_id = @backfill_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The backfill ', @backfill_id, N' does not exist. The view jobs.schedule_backfills lists all backfills.'
        ), N'%', N'%%');
        THROW 50132, @message, 1;
    END;

    UPDATE f
    SET f.state = N'Canceled',
        f.reason = CONCAT(N'Canceled by ', @by, N'.'),
        f.next_at = NULL,
        f.ended_at = @now
    FROM jobs_internal.schedule_backfills AS f
    WHERE f.backfill_id = @backfill_id
        AND (f.state = N'Open' OR EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_buffer AS b
            WHERE b.schedule_id = @schedule_id
                AND b.backfill_id = @backfill_id
        ));
    SET @canceled = @@ROWCOUNT;

    -- rows: at most a hundred instants of one backfill wait
    DELETE b
    OUTPUT deleted.due_at
    INTO @skipped (due_at)
    FROM jobs_internal.schedule_buffer AS b
    WHERE b.schedule_id = @schedule_id
        AND b.backfill_id = @backfill_id;
    IF EXISTS (SELECT 1 FROM @skipped)
    BEGIN
        UPDATE s
        SET s.buffered = s.buffered - (SELECT COUNT(*) FROM @skipped),
            s.skips = s.skips + (
                SELECT COUNT(*)
                FROM @skipped AS k
                WHERE NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.schedule_skips AS o
                    WHERE o.schedule_id = @schedule_id
                        AND o.due_at = k.due_at
                )
            )
        FROM jobs_internal.schedules AS s
        WHERE s.schedule_id = @schedule_id;
        UPDATE f
        SET f.skipped = f.skipped + (SELECT COUNT(*) FROM @skipped)
        FROM jobs_internal.schedule_backfills AS f
        WHERE f.backfill_id = @backfill_id;
        INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, skipped, cause, reason, recorded_at)
        SELECT
            @schedule_id, @job_id, k.due_at, 1, N'Other',
            CONCAT(N'The instant waited for an earlier run to end when its backfill was canceled by ', @by, N'.'),
            @now
        FROM @skipped AS k
        WHERE NOT EXISTS (
            SELECT 1
            FROM jobs_internal.schedule_skips AS o
            WHERE o.schedule_id = @schedule_id
                AND o.due_at = k.due_at
        );
    END;

    IF @canceled = 1
        EXECUTE jobs_internal.audit
            @action = N'sp_cancel_backfill',
            @object_kind = N'Backfill',
            @object_name = @schedule_name,
            @object_id = @backfill_id,
            @job_id = @job_id,
            @job_name = @job_name,
            @before = N'{"state":"Open"}',
            @after = N'{"state":"Canceled"}',
            @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
