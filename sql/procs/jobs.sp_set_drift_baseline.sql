-- Adds or replaces a baseline: declares the schema that a database had when a step of type Drift last read it to be right. Steps whose
-- member against has the name of the baseline compare their databases with it. The baseline stays as it is when the database changes.
--
-- Parameters:
--   @baseline_name  Name of the baseline, without a slash; not majority and not none.
--   @server_name    Server of the database; NULL: @target_id is given.
--   @database_name  Name of the database; NULL likewise.
--   @target_id      Id of the database, as in jobs.drift_history; NULL: of the names.
-- Called by: members of the role jobs_author.
-- Locks:     the rows of the baseline (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
--   50491 the baseline has no name, or one that a step cannot give.
--   50492 no step of type Drift has read the database.
CREATE OR ALTER PROCEDURE jobs.sp_set_drift_baseline
    @baseline_name NVARCHAR(129),
    @server_name   NVARCHAR(257) = NULL,
    @database_name NVARCHAR(129) = NULL,
    @target_id     UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @message NVARCHAR(2048);
    DECLARE @source NVARCHAR(400);
    DECLARE @locked INT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@baseline_name) > 256
        THROW 50097, N'Invalid @baseline_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@server_name) > 512
        THROW 50097, N'Invalid @server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@database_name) > 256
        THROW 50097, N'Invalid @database_name: want at most 128 characters, not 129 or more.', 1;
    IF @baseline_name IS NULL OR LTRIM(@baseline_name) = N''
        THROW 50491, N'Missing baseline name: @baseline_name is NULL or empty.', 1;
    IF CHARINDEX(N'/', @baseline_name) > 0 OR @baseline_name COLLATE Latin1_General_100_CI_AS IN (N'majority', N'none')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @baseline_name ''', @baseline_name, N''': want a name without a slash, and not majority or none.'
        ), N'%', N'%%');
        THROW 50491, @message, 1;
    END;
    EXECUTE jobs_internal.check_name @name = @baseline_name, @parameter = N'@baseline_name';
    EXECUTE jobs_internal.find_target
        @server_name = @server_name OUTPUT,
        @database_name = @database_name OUTPUT,
        @target_id = @target_id OUTPUT;
    SET @source = CONCAT(@server_name, N'/', @database_name);

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    -- index: PK_drift_baselines, in which another session may insert the same name
    SET @locked = (SELECT COUNT(*) FROM jobs_internal.drift_baselines AS b WITH (UPDLOCK, HOLDLOCK) WHERE b.name = @baseline_name);
    EXECUTE jobs_internal.state_of_drift_baseline @baseline_name = @baseline_name, @state = @audit_before OUTPUT;
    -- rows: those of one baseline, one for each options that its database was read with
    DELETE b
    FROM jobs_internal.drift_baselines AS b
    WHERE b.name = @baseline_name;
    INSERT INTO jobs_internal.drift_baselines (name, options, fingerprint, source, set_at, set_by)
    SELECT @baseline_name, d.options, d.fingerprint, @source, @now, @by
    FROM jobs_internal.drift_states AS d
    WHERE d.target_id = @target_id
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.drift_states AS n
            WHERE n.target_id = d.target_id
                AND n.options = d.options
                AND n.first_seen_at > d.first_seen_at
        );
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'No schema of ', @source, N' is known: run a job with a step of type Drift on it first. The view jobs.drift_history lists ',
            N'the databases whose schemas are known.'
        ), N'%', N'%%');
        THROW 50492, @message, 1;
    END;

    EXECUTE jobs_internal.state_of_drift_baseline @baseline_name = @baseline_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_drift_baseline',
        @object_kind = N'DriftBaseline',
        @object_name = @baseline_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
