-- Lists the log of a schedule of the SAP surface, newest first (E10, E15), or reads one entry (E16): the next run, if the schedule
-- has a due instant (S-31), and the runs of the last days (setting sap_run_log_days, S-30).
--
-- Cost: (entries of the page, and those that @offset leaves out), and one count of the runs of these days in an index; older history costs
-- nothing. With a cursor, the other pages cost nothing.
--
-- Parameters:
--   @tenant       The tenant; NULL: the provider.
--   @job          The job's _id.
--   @schedule     The schedule's id.
--   @run          Id of one run; NULL: the page.
--   @after        Id of a run: the page begins with the run before it in time; NULL: no cursor.
--   @before       Id of a run: the page ends with the run after it in time; NULL: no cursor.
--   @offset       Number of entries to leave out; not with a cursor.
--   @size         Maximum number of entries; NULL: 200, which is the most.
--   @with_events  1: read the states that the runs have passed, too.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   1: one row: total, more (1: older entries follow the page), newer (1: newer entries come before it).
--            2: the entries: run_id, run_status, run_state, http_status, scheduled_at, executed_at, completed_at, run_text,
--               is_task (1: of a task).
--            3: the states that they have passed: run_id, at, type, text, code.
-- Throws:
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50173 the job has no such schedule.
--   50174 the schedule has no such run.
CREATE OR ALTER PROCEDURE jobs_rest.list_runs
    @tenant      NVARCHAR(129),
    @job         BIGINT,
    @schedule    UNIQUEIDENTIFIER,
    @run         UNIQUEIDENTIFIER = NULL,
    @after       UNIQUEIDENTIFIER = NULL,
    @before      UNIQUEIDENTIFIER = NULL,
    @offset      INT = 0,
    @size        INT = NULL,
    @with_events BIT = 0,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @oldest DATETIME2(7);
    DECLARE @next_run_id UNIQUEIDENTIFIER, @next_due_at DATETIME2(7), @next_made_at DATETIME2(7);
    DECLARE @next INT; -- 1: the next run is an entry
    DECLARE @runs INT; -- without the next run
    DECLARE @mark UNIQUEIDENTIFIER;
    DECLARE @mark_at DATETIME2(7);
    DECLARE @next_is_mark BIT; -- 1: the cursor is the next run
    DECLARE @with_next BIT; -- 1: the page has the next run
    DECLARE @oldest_shown DATETIME2(7), @newest_shown DATETIME2(7); -- of the runs of the page
    DECLARE @page TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, due_at DATETIME2(7) NOT NULL);
    DECLARE @entries TABLE (
        place        INT NOT NULL PRIMARY KEY,
        run_id       UNIQUEIDENTIFIER NOT NULL,
        is_task      BIT NOT NULL,
        run_status   NVARCHAR(20) NOT NULL,
        run_state    NVARCHAR(20) NOT NULL,
        http_status  INT NULL,
        scheduled_at DATETIME2(7) NULL,
        executed_at  DATETIME2(7) NULL,
        acked_at     DATETIME2(7) NULL,
        ack_state    NVARCHAR(20) NULL,
        ack_text     NVARCHAR(MAX) NULL,
        completed_at DATETIME2(7) NULL,
        run_text     NVARCHAR(MAX) NULL,
        late_at      DATETIME2(7) NULL,
        late_text    NVARCHAR(MAX) NULL
    );

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    SET @size = COALESCE(@size, 200);
    IF @offset < 0 OR @size NOT BETWEEN 1 AND 200 OR @offset IS NULL
        THROW 50090, N'Invalid page: want @offset of at least 0, and @size of 1 to 200.', 1;
    EXECUTE jobs_internal.find_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
    EXECUTE jobs_internal.find_rest_schedule @job_id = @job_id, @schedule = @schedule, @schedule_id = @schedule_id OUTPUT;
    SET @oldest = DATEADD(DAY, -(SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'sap_run_log_days'), @now);
    SELECT
        @next_run_id = s.next_run_id,
        @next_due_at = s.next_due_at,
        @next_made_at = s.next_run_made_at
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id
        AND s.next_fire_at IS NOT NULL
        AND s.next_run_made_at IS NOT NULL;
    SET @next = CASE WHEN @next_run_id IS NULL THEN 0 ELSE 1 END;
    -- Plan: the end of the schedule's range of UQ_job_executions_due_at, here and below.
    SELECT @runs = COUNT(*)
    FROM jobs_internal.visible_runs AS e
    WHERE e.schedule_id = @schedule_id
        AND e.due_at >= @oldest;

    SET @mark = COALESCE(@run, @after, @before);
    SET @next_is_mark = CASE WHEN @mark = @next_run_id THEN 1 ELSE 0 END;
    IF @mark IS NOT NULL AND @next_is_mark = 0
    BEGIN
        SELECT @mark_at = e.due_at
        FROM jobs_internal.visible_runs AS e
        WHERE e.job_execution_id = @mark
            AND e.job_id = @job_id
            AND e.schedule_id = @schedule_id
            AND e.due_at >= @oldest;
        IF @mark_at IS NULL
            THROW 50174, N'The run does not exist.', 1;
    END;

    -- A page begins at its cursor, so it reads no other runs. Due instants of a schedule are unique. The next run is newer than all runs.
    IF @run IS NOT NULL
    BEGIN
        SET @with_next = @next_is_mark;
        INSERT INTO @page (execution_id, due_at)
        SELECT e.execution_id, e.due_at
        FROM jobs_internal.visible_runs AS e
        WHERE e.schedule_id = @schedule_id
            AND e.due_at = @mark_at;
    END;
    ELSE IF @before IS NOT NULL AND @after IS NULL
    BEGIN
        -- Nothing is newer than the next run.
        INSERT INTO @page (execution_id, due_at)
        SELECT TOP (@size) e.execution_id, e.due_at
        FROM jobs_internal.visible_runs AS e
        WHERE e.schedule_id = @schedule_id
            AND e.due_at > @mark_at
        ORDER BY e.due_at;
        SET @with_next = CASE WHEN @next = 1 AND @next_is_mark = 0 AND @@ROWCOUNT < @size THEN 1 ELSE 0 END;
    END;
    ELSE
    BEGIN
        SET @with_next = CASE WHEN @next = 1 AND @after IS NULL AND @offset = 0 THEN 1 ELSE 0 END;
        SET @offset = CASE WHEN @after IS NOT NULL OR @offset < @next THEN 0 ELSE @offset - @next END;
        IF @size > @with_next -- FETCH NEXT 0 ROWS is an error
            INSERT INTO @page (execution_id, due_at)
            SELECT e.execution_id, e.due_at
            FROM jobs_internal.visible_runs AS e
            WHERE e.schedule_id = @schedule_id
                AND e.due_at >= @oldest
                AND e.due_at < COALESCE(@mark_at, '9999-12-31')
            ORDER BY e.due_at DESC
            OFFSET @offset ROWS FETCH NEXT @size - @with_next ROWS ONLY;
    END;
    IF @with_next = 1
        INSERT INTO @entries (place, run_id, is_task, run_status, run_state, scheduled_at, run_text)
        VALUES (1, @next_run_id, 0, N'SCHEDULED', N'SCHEDULED', @next_made_at, N'The job has been scheduled for a future run');
    INSERT INTO @entries (
        place, run_id, is_task, run_status, run_state, http_status, scheduled_at, executed_at, acked_at, ack_state, ack_text,
        completed_at, run_text, late_at, late_text
    )
    SELECT
        ROW_NUMBER() OVER (ORDER BY p.due_at DESC) + 1, r.run_id, r.is_task, r.run_status, r.run_state, r.http_status, r.scheduled_at,
        r.executed_at, r.acked_at, r.ack_state, r.ack_text, r.completed_at, r.run_text, r.late_at, r.late_text
    FROM @page AS p
    INNER JOIN jobs_internal.rest_runs AS r ON r.execution_id = p.execution_id;

    -- Each statement sees the runs of its own time: the run may have been purged since it was found.
    IF @run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @entries AS n)
        THROW 50174, N'The run does not exist.', 1;
    SELECT
        @oldest_shown = MIN(p.due_at),
        @newest_shown = MAX(p.due_at)
    FROM @page AS p;
    -- An empty page lies beside its cursor, or behind the last entry.
    SET @oldest_shown = COALESCE(
        @oldest_shown,
        CASE WHEN @with_next = 1 OR @next_is_mark = 1 THEN '9999-12-31' WHEN @mark IS NOT NULL THEN @mark_at ELSE @oldest END
    );
    SELECT
        @next + @runs AS total,
        CAST(CASE
            WHEN @before IS NOT NULL AND @run IS NULL AND @after IS NULL THEN 1 -- the cursor is older
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.visible_runs AS e
                WHERE e.schedule_id = @schedule_id
                    AND e.due_at >= @oldest
                    AND e.due_at < @oldest_shown
            ) THEN 1
            ELSE 0
        END AS BIT) AS more,
        CAST(CASE
            WHEN @with_next = 1 THEN 0
            WHEN @newest_shown IS NULL THEN CASE WHEN @after IS NOT NULL OR (@mark IS NULL AND @offset > 0) THEN 1 ELSE 0 END
            WHEN @next = 1 THEN 1
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.visible_runs AS e
                WHERE e.schedule_id = @schedule_id
                    AND e.due_at > @newest_shown
            ) THEN 1
            ELSE 0
        END AS BIT) AS newer;
    SELECT
        n.run_id,
        n.run_status,
        n.run_state,
        n.http_status,
        n.scheduled_at,
        n.executed_at,
        n.completed_at,
        n.run_text,
        n.is_task
    FROM @entries AS n
    ORDER BY n.place;
    WITH passed AS (
        SELECT n.place, 1 AS step, n.run_id, n.scheduled_at AS at, N'SCHEDULED' AS type,
            N'The job has been scheduled for a future run' AS text, CAST(NULL AS INT) AS code
        FROM @entries AS n
        UNION ALL
        SELECT n.place, 2, n.run_id, n.executed_at, N'TRIGGERED',
            CASE WHEN n.is_task = 1 THEN N'The process is about to start' ELSE N'The request has been sent to the endpoint' END, NULL
        FROM @entries AS n
        WHERE n.executed_at IS NOT NULL
        UNION ALL
        SELECT n.place, 3, n.run_id, n.acked_at, n.ack_state, n.ack_text, CASE WHEN n.ack_state = N'ACK_RECVD' THEN n.http_status END
        FROM @entries AS n
        WHERE n.acked_at IS NOT NULL
        UNION ALL
        SELECT n.place, 4, n.run_id, n.completed_at, n.run_state, n.run_text, n.http_status
        FROM @entries AS n
        WHERE n.run_status = N'COMPLETED'
        UNION ALL
        SELECT n.place, 5, n.run_id, n.late_at, n.run_state, n.late_text, NULL
        FROM @entries AS n
        WHERE n.late_at IS NOT NULL
    )
    SELECT p.run_id, p.at, p.type, p.text, p.code
    FROM passed AS p
    WHERE @with_events = 1
    ORDER BY p.place, p.step;
    RETURN 0;
END;
