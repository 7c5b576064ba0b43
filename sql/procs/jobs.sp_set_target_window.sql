-- Adds or replaces a window of databases: attempts start on them only while the window is open, and a run waits for the window of each of
-- its databases, within the time limit of the step. What runs when it closes goes on to its end. If several windows apply to a database,
-- all of them have to be open. Preflights, and probes of roll-outs, do not wait for windows.
--
-- A changed window, or changed tags, count from when the call has committed.
--
-- Parameters:
--   @window_name    Name of the window.
--   @calendar_name  The window is open only while this calendar has a window; NULL: at all times but those of @blackouts.
--   @blackouts      It is closed while this calendar has a window; NULL: never. At least one of the two calendars is required.
--   @tag_filter     Filter of tags, as in jobs.sp_add_target_group_member: the window applies to all databases that match it, also to those
--                   that come later; NULL: to the database below.
--   @server_name    Server of the database that has the window; NULL: @tag_filter or @target_id is given.
--   @database_name  Name of the database; NULL likewise.
--   @time_zone      Zone of calendars that name none, such as Europe/Berlin; NULL: UTC.
--   @time_zone_tag  A tag whose value is the zone of each database; @time_zone is that of databases without this tag. NULL: none.
--   @target_id      Id of the database, as in jobs.targets; NULL: of the names.
-- Called by: members of the role jobs_author.
-- Locks:     the calendars (U), the window's row (U, X), the row of window_state (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50129 the calendar does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
--   50452 the filter of tags is invalid.
--   50461 the window has no name, no calendar, or not one of a database and a filter of tags.
CREATE OR ALTER PROCEDURE jobs.sp_set_target_window
    @window_name   NVARCHAR(129),
    @calendar_name NVARCHAR(129) = NULL,
    @blackouts     NVARCHAR(129) = NULL,
    @tag_filter    NVARCHAR(MAX) = NULL,
    @server_name   NVARCHAR(257) = NULL,
    @database_name NVARCHAR(129) = NULL,
    @time_zone     NVARCHAR(129) = NULL,
    @time_zone_tag NVARCHAR(129) = NULL,
    @target_id     UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @program NVARCHAR(MAX);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @created_at DATETIME2(7);
    DECLARE @names NVARCHAR(MAX); -- of the two calendars, as JSON
    DECLARE @missing NVARCHAR(128);
    DECLARE @given_server NVARCHAR(256);
    DECLARE @given_database NVARCHAR(128);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@window_name) > 256
        THROW 50097, N'Invalid @window_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@calendar_name) > 256
        THROW 50097, N'Invalid @calendar_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@blackouts) > 256
        THROW 50097, N'Invalid @blackouts: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@tag_filter) > 8000
        THROW 50097, N'Invalid @tag_filter: want at most 4000 characters, not 4001 or more.', 1;
    IF DATALENGTH(@server_name) > 512
        THROW 50097, N'Invalid @server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@database_name) > 256
        THROW 50097, N'Invalid @database_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@time_zone) > 256
        THROW 50097, N'Invalid @time_zone: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@time_zone_tag) > 256
        THROW 50097, N'Invalid @time_zone_tag: want at most 128 characters, not 129 or more.', 1;

    IF @window_name IS NULL OR LTRIM(@window_name) = N''
        THROW 50461, N'Missing window name: @window_name is NULL or empty.', 1;
    EXECUTE jobs_internal.check_name @name = @window_name, @parameter = N'@window_name';
    SET @calendar_name = NULLIF(@calendar_name, N'');
    SET @blackouts = NULLIF(@blackouts, N'');
    SET @tag_filter = NULLIF(LTRIM(@tag_filter), N'');
    IF @calendar_name IS NULL AND @blackouts IS NULL
        THROW 50461, N'Invalid arguments: want @calendar_name, @blackouts or both.', 1;
    IF @tag_filter IS NOT NULL AND (@server_name IS NOT NULL OR @database_name IS NOT NULL OR @target_id IS NOT NULL)
        THROW 50461, N'Invalid arguments: want either @tag_filter, or the names of one database.', 1;
    IF @tag_filter IS NULL AND @server_name IS NULL AND @database_name IS NULL AND @target_id IS NULL
        THROW 50461, N'Invalid arguments: want @tag_filter, or @server_name and @database_name.', 1;
    IF @tag_filter IS NULL
    BEGIN
        SET @given_server = NULLIF(LTRIM(RTRIM(@server_name)), N'');
        SET @given_database = @database_name;
        EXECUTE jobs_internal.find_target
            @server_name = @server_name OUTPUT,
            @database_name = @database_name OUTPUT,
            @target_id = @target_id OUTPUT;
        -- A definition stays as it was written, so that files do not differ from it.
        IF @given_server IS NOT NULL
            SELECT
                @server_name = @given_server,
                @database_name = @given_database;
    END;
    ELSE
        EXECUTE jobs_internal.parse_tag_filter @filter = @tag_filter, @program = @program OUTPUT, @fault = @fault OUTPUT;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @tag_filter: ', @fault), N'%', N'%%');
        THROW 50452, @message, 1;
    END;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    SET @names = CONCAT(N'["', STRING_ESCAPE(@calendar_name, 'json'), N'","', STRING_ESCAPE(@blackouts, 'json'), N'"]');
    EXECUTE jobs_internal.lock_calendars @names = @names, @missing = @missing OUTPUT;
    IF @missing IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @missing, N''' does not exist. The view jobs.calendars lists all calendars.'
        ), N'%', N'%%');
        THROW 50129, @message, 1;
    END;
    -- before the windows, as jobs.sp_set_target_tags reads them
    UPDATE v
    SET v.revision = v.revision + 1,
        v.changed_at = @now
    FROM jobs_internal.window_state AS v
    WHERE v.id = 1;
    -- index: UQ_target_windows_name, in which another session may insert the same name
    SELECT @created_at = w.created_at
    FROM jobs_internal.target_windows AS w WITH (UPDLOCK, HOLDLOCK)
    WHERE w.name = @window_name;
    EXECUTE jobs_internal.state_of_target_window @window_name = @window_name, @state = @audit_before OUTPUT;
    IF @created_at IS NULL
        INSERT INTO jobs_internal.target_windows (
            name, target_id, server_name, database_name, tag_filter, calendar_name, blackouts_name, time_zone, zone_tag, created_at,
            updated_at
        )
        VALUES (
            @window_name, @target_id, @server_name, @database_name, @tag_filter, COALESCE(@calendar_name, N''),
            COALESCE(@blackouts, N''), COALESCE(@time_zone, N''), COALESCE(@time_zone_tag, N''), @now, @now
        );
    ELSE
        UPDATE w
        SET w.target_id = @target_id,
            w.server_name = @server_name,
            w.database_name = @database_name,
            w.tag_filter = @tag_filter,
            w.calendar_name = COALESCE(@calendar_name, N''),
            w.blackouts_name = COALESCE(@blackouts, N''),
            w.time_zone = COALESCE(@time_zone, N''),
            w.zone_tag = COALESCE(@time_zone_tag, N''),
            w.updated_at = @now
        FROM jobs_internal.target_windows AS w
        WHERE w.name = @window_name;

    EXECUTE jobs_internal.state_of_target_window @window_name = @window_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_target_window',
        @object_kind = N'TargetWindow',
        @object_name = @window_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
