-- Creates a job collection, or replaces its settings. A job collection holds the jobs of the Scheduler surface, whose names are that of
-- the collection, a slash, and the job's own name.
--
-- Parameters:
--   @job_collection_name       Name; 1 to 100 letters, digits, periods, - and _.
--   @location                  Location, which jobs send as their region; cannot be changed. NULL: that of the collection, or empty.
--   @sku                       Plan: Standard, Free, P10Premium or P20Premium (Premium means P10Premium), in any case. NULL: Standard.
--   @state                     Enabled or Disabled, in any case; see jobs.sp_enable_job_collection. NULL: Enabled.
--   @max_job_count             Number of jobs that it may have; NULL: 5 (Free), 50, or 1000 (P20Premium), which is also the maximum.
--   @max_job_occurrence        Stored and shown; without effect.
--   @max_recurrence_frequency  Minute, Hour, Day, Week, Month or Year, in any case. NULL: Minute, or Hour (Free).
--   @max_recurrence_interval   Number of these units that lie at least between two runs of a job; NULL: 1.
--   @tags                      JSON object of texts; NULL: none.
--   @if_match                  The revision that the collection must have; 0: it must not exist; -1: it must exist. NULL: any.
--   @created                   Receives 1 if it was created.
--   @revision                  Receives its revision.
-- Called by: members of the role jobs_admin.
-- Locks:     the name in job_collections (U, X); when the state changes, its rows of jobs (U), schedules (U, X) and schedule_buffer (X).
-- Returns:   0.
-- Throws:
--   50082 the name of a job collection, or of a job in one, is missing or invalid.
--   50083 a setting of the job collection is invalid.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50166 a quota of the job collection is exceeded.
--   50171 jobs of the collection do not fit the new plan.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_job_collection
    @job_collection_name      NVARCHAR(201),
    @location                 NVARCHAR(129) = NULL,
    @sku                      NVARCHAR(51) = NULL,
    @state                    NVARCHAR(51) = NULL,
    @max_job_count            INT = NULL,
    @max_job_occurrence       INT = NULL,
    @max_recurrence_frequency NVARCHAR(51) = NULL,
    @max_recurrence_interval  INT = NULL,
    @tags                     NVARCHAR(MAX) = NULL,
    @if_match                 BIGINT = NULL,
    @created                  BIT = NULL OUTPUT,
    @revision                 BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @old_revision BIGINT;
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @plan NVARCHAR(20);
    DECLARE @most INT;
    DECLARE @gap BIGINT;
    DECLARE @least BIGINT;
    DECLARE @paused BIT;
    DECLARE @blocks NVARCHAR(400);
    DECLARE @old_location NVARCHAR(128), @old_sku NVARCHAR(20), @old_state NVARCHAR(10), @old_count INT, @old_occurrence INT,
        @old_frequency NVARCHAR(10), @old_interval INT, @old_tags NVARCHAR(MAX);

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@location) > 256
        THROW 50097, N'Invalid @location: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@sku) > 100
        THROW 50097, N'Invalid @sku: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@state) > 100
        THROW 50097, N'Invalid @state: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@max_recurrence_frequency) > 100
        THROW 50097, N'Invalid @max_recurrence_frequency: want at most 50 characters, not 51 or more.', 1;

    EXECUTE jobs_internal.check_collection_name @name = @job_collection_name, @parameter = N'@job_collection_name';
    SET @plan = CASE COALESCE(@sku, N'Standard') COLLATE Latin1_General_100_CI_AS
        WHEN N'standard' THEN N'Standard'
        WHEN N'free' THEN N'Free'
        WHEN N'premium' THEN N'P10Premium'
        WHEN N'p10premium' THEN N'P10Premium'
        WHEN N'p20premium' THEN N'P20Premium'
    END;
    IF @plan IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid sku ''', @sku, N''' of a job collection: want Standard, Free, P10Premium or P20Premium.'
        ), N'%', N'%%');
        THROW 50083, @message, 1;
    END;
    SET @state = CASE COALESCE(@state, N'Enabled') COLLATE Latin1_General_100_CI_AS
        WHEN N'enabled' THEN N'Enabled'
        WHEN N'disabled' THEN N'Disabled'
        ELSE N'?'
    END;
    IF @state = N'?'
        THROW 50083, N'Invalid state of a job collection: want Enabled or Disabled.', 1;
    IF @tags IS NOT NULL AND (ISJSON(@tags) = 0 OR LEFT(LTRIM(@tags), 1) <> N'{')
        THROW 50083, N'Invalid tags of a job collection: want a JSON object.', 1;
    IF @max_job_count < 0 OR @max_job_occurrence < 0
        THROW 50083, N'Invalid quota of a job collection: want numbers of at least 0.', 1;

    -- The quotas of the plans, which a collection may lower.
    SET @most = CASE @plan WHEN N'Free' THEN 5 WHEN N'P20Premium' THEN 1000 ELSE 50 END;
    SET @least = CASE @plan WHEN N'Free' THEN 3600 ELSE 60 END;
    SET @max_job_count = COALESCE(@max_job_count, @most);
    SET @max_recurrence_frequency = COALESCE(@max_recurrence_frequency, CASE @plan WHEN N'Free' THEN N'hour' ELSE N'minute' END);
    SELECT @max_recurrence_frequency = u.name
    FROM (VALUES (N'minute'), (N'hour'), (N'day'), (N'week'), (N'month'), (N'year')) AS u (name)
    WHERE u.name = @max_recurrence_frequency COLLATE Latin1_General_100_CI_AS;
    SET @max_recurrence_interval = COALESCE(@max_recurrence_interval, 1);
    EXECUTE jobs_internal.gap_seconds
        @frequency = @max_recurrence_frequency,
        @interval = @max_recurrence_interval,
        @seconds = @gap OUTPUT;
    IF @gap IS NULL
        THROW 50083, N'Invalid quota maxRecurrence of a job collection: want Minute, Hour, Day, Week, Month or Year, and 1 to 1000.', 1;
    IF @max_job_count > @most
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The quota maxJobCount ', @max_job_count, N' exceeds that of the plan ', @plan, N': the limit is ', @most, N'.'
        ), N'%', N'%%');
        THROW 50166, @message, 1;
    END;
    IF @gap < @least
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The quota maxRecurrence ', @max_recurrence_frequency, N'/', @max_recurrence_interval, N' exceeds that of the plan ', @plan,
            N': the limit is hour/1.'
        ), N'%', N'%%');
        THROW 50166, @message, 1;
    END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    SET @created = 0;
    -- index: UQ_job_collections_name, in which other sessions may add the same name
    SELECT
        @collection_id = c.collection_id,
        @old_location = c.location,
        @old_sku = c.sku,
        @old_state = c.state,
        @old_count = c.max_job_count,
        @old_occurrence = c.max_job_occurrence,
        @old_frequency = c.max_recurrence_frequency,
        @old_interval = c.max_recurrence_interval,
        @old_tags = c.tags,
        @revision = c.revision
    FROM jobs_internal.job_collections AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @job_collection_name;
    IF @collection_id IS NULL
        SET @revision = NULL;
    SET @object = CONCAT(N'The job collection ''', @job_collection_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;

    IF @collection_id IS NULL
    BEGIN
        EXECUTE jobs_internal.check_name @name = @job_collection_name, @parameter = N'@job_collection_name';
        SELECT
            @created = 1,
            @revision = 1,
            @collection_id = NEWID();
        INSERT INTO jobs_internal.job_collections (
            collection_id, name, location, sku, state, max_job_count, max_job_occurrence, max_recurrence_frequency,
            max_recurrence_interval, tags, revision, created_at, updated_at
        )
        VALUES (
            @collection_id, @job_collection_name, COALESCE(@location, N''), @plan, @state, @max_job_count, @max_job_occurrence,
            @max_recurrence_frequency, @max_recurrence_interval, @tags, @revision, @now, @now
        );
        EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_set_job_collection',
            @object_kind = N'JobCollection',
            @object_name = @job_collection_name,
            @object_id = @collection_id,
            @after = @after,
            @revision_after = @revision,
            @now = @now;
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    IF REPLACE(@location, N' ', N'') COLLATE Latin1_General_100_CI_AS <> REPLACE(@old_location, N' ', N'')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid location ''', @location, N''' of the job collection ''', @job_collection_name, N''': its location ''', @old_location,
            N''' cannot be changed.'
        ), N'%', N'%%');
        THROW 50083, @message, 1;
    END;
    IF @plan = N'Free' AND @old_sku <> N'Free'
    BEGIN
        SELECT @blocks = CASE
            WHEN EXISTS (SELECT 1 FROM jobs_internal.job_collections AS c WHERE c.sku = N'Free') THEN N'there is another Free collection'
            WHEN (SELECT COUNT(*) FROM jobs_internal.scheduler_jobs AS s WHERE s.collection_id = @collection_id) > @most
                THEN CONCAT(N'it has more than ', @most, N' jobs')
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.scheduler_jobs AS s
                WHERE s.collection_id = @collection_id
                    AND s.gap_seconds < @least
            ) THEN N'a job recurs more often than once an hour'
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.scheduler_jobs AS s
                WHERE s.collection_id = @collection_id
                    AND s.authenticates = 1
            ) THEN N'a job has an authentication'
        END;
        IF @blocks IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job collection ''', @job_collection_name, N''' cannot have the plan Free: ', @blocks, N'.'
            ), N'%', N'%%');
            THROW 50171, @message, 1;
        END;
    END;

    IF @plan <> @old_sku
        OR @state <> @old_state
        OR @max_job_count <> @old_count
        OR COALESCE(@max_job_occurrence, -1) <> COALESCE(@old_occurrence, -1)
        OR @max_recurrence_frequency <> @old_frequency
        OR @max_recurrence_interval <> @old_interval
        OR CAST(COALESCE(@tags, N'') AS VARBINARY(MAX)) <> CAST(COALESCE(@old_tags, N'') AS VARBINARY(MAX))
    BEGIN
        EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @before OUTPUT;
        SET @old_revision = @revision;
        SET @revision = @revision + 1;
        UPDATE c
        SET c.sku = @plan,
            c.state = @state,
            c.max_job_count = @max_job_count,
            c.max_job_occurrence = @max_job_occurrence,
            c.max_recurrence_frequency = @max_recurrence_frequency,
            c.max_recurrence_interval = @max_recurrence_interval,
            c.tags = @tags,
            c.revision = @revision,
            c.updated_at = @now
        FROM jobs_internal.job_collections AS c
        WHERE c.collection_id = @collection_id;
        EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_set_job_collection',
            @object_kind = N'JobCollection',
            @object_name = @job_collection_name,
            @object_id = @collection_id,
            @before = @before,
            @after = @after,
            @revision_before = @old_revision,
            @revision_after = @revision,
            @now = @now;
    END;
    IF @state <> @old_state
    BEGIN
        SET @paused = CASE WHEN @state = N'Disabled' THEN 1 ELSE 0 END;
        EXECUTE jobs_internal.pause_collection_jobs @collection_id = @collection_id, @paused = @paused, @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
