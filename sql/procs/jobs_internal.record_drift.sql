-- Records the schema of a database that an attempt of a step of type Drift has read, and says whether it is as it should be. The history of
-- the database (drift_states) grows only if the schema is another one than when it was last read. DESIGN.md, "Drift".
--
-- The schema with which the targets of a step are compared is fixed by the first call that needs it (drift_references).
--
-- Parameters:
--   @term_id         The term that holds the task.
--   @task_id         The task.
--   @attempt         Number of its attempt.
--   @claim_id        See jobs_internal.record_outcomes; NULL: not compared.
--   @target_id       The database that was read: that of the task, or @against_id.
--   @server_name     Its server.
--   @database_name   Its name.
--   @options         What was compared.
--   @fingerprint     The fingerprint.
--   @objects         Number of compared objects.
--   @parts           JSON array with the parts of the schema (jobs_internal.describe_drift); NULL: they are sent when they are asked for.
--   @against         None, Majority, Database or Baseline.
--   @against_id      The database with which others are compared, if @against is Database.
--   @against_name    Its names, as server/database, or the name of the baseline.
--   @term_guid       The term's GUID; NULL: not compared.
-- Called by: agent/drift.go, for each database of a step of type Drift.
-- Locks:     the rows of drift_references of the step, of drift_schemas if it is new, and of drift_states of the database (U, X).
-- Returns:   one row: verdict, message. The verdict is
--              Alike, Differs or Recorded (there is nothing to compare with): the outcome of the attempt;
--              Missing: the baseline does not exist, which is an outcome, too;
--              NeedsParts: nothing was recorded, because the schema is new, and the call is to be repeated with @parts;
--              NeedsReference: nothing was recorded. The database @against_id has not been read since the step began: the caller reads
--              and records it, and repeats the call;
--              Refused: the term does not hold the task, or it has ended.
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.record_drift
    @term_id       BIGINT,
    @task_id       BIGINT,
    @attempt       INT,
    @claim_id      UNIQUEIDENTIFIER = NULL,
    @target_id     UNIQUEIDENTIFIER,
    @server_name   NVARCHAR(256),
    @database_name NVARCHAR(128),
    @options       NVARCHAR(300),
    @fingerprint   BINARY(32),
    @objects       INT,
    @parts         NVARCHAR(MAX) = NULL,
    @against       NVARCHAR(10),
    @against_id    UNIQUEIDENTIFIER = NULL,
    @against_name  NVARCHAR(400) = NULL,
    @term_guid     UNIQUEIDENTIFIER = NULL,
    @now           DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @most_states INT = 100;         -- of a database, for each options
    DECLARE @most_bytes INT = 4000000;      -- of parts that are kept
    DECLARE @verdict NVARCHAR(20);
    DECLARE @message NVARCHAR(4000);
    DECLARE @step_execution_id BIGINT;
    DECLARE @began_at DATETIME2(7);         -- when the step's row was created
    DECLARE @held_claim UNIQUEIDENTIFIER;
    DECLARE @is_known BIT = 0;              -- drift_schemas has the schema
    DECLARE @created_at DATETIME2(7);
    DECLARE @has_reference BIT = 0;
    DECLARE @reference BINARY(32);
    DECLARE @described NVARCHAR(500);
    DECLARE @votes INT;
    DECLARE @voters INT;
    DECLARE @last_fingerprint BINARY(32);
    DECLARE @last_seen DATETIME2(7);
    DECLARE @last_first DATETIME2(7);
    DECLARE @words NVARCHAR(2000);

    IF @target_id IS NULL OR @server_name IS NULL OR @database_name IS NULL OR @options IS NULL OR @fingerprint IS NULL OR @objects IS NULL
        OR @objects < 0
        OR @against IS NULL
        OR @against NOT IN (N'None', N'Majority', N'Database', N'Baseline')
        OR (@against = N'Database' AND @against_id IS NULL)
        OR (@against IN (N'Database', N'Baseline') AND @against_name IS NULL)
        OR ISJSON(@parts) = 0
        THROW 50029, N'Invalid arguments of record_drift: want a database, its schema, and with what it is compared.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    SELECT
        @step_execution_id = s.step_execution_id,
        @began_at = s.create_time,
        @held_claim = k.claim_id
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    WHERE k.task_id = @task_id
        AND k.kind = N'Run'
        AND k.term_id = @term_id
        AND k.attempt = @attempt
        AND k.ended_at IS NULL;
    IF @step_execution_id IS NULL OR @held_claim <> @claim_id
    BEGIN
        SELECT
            CAST(N'Refused' AS NVARCHAR(20)) AS verdict,
            CAST(N'the term does not hold the attempt any more' AS NVARCHAR(4000)) AS message;
        RETURN 0;
    END;

    BEGIN TRANSACTION;
    -- The reference. The first session that needs it fixes it, and others wait for the key.
    SELECT
        @has_reference = 1,
        @reference = r.fingerprint,
        @described = r.description
    FROM jobs_internal.drift_references AS r
    WHERE r.step_execution_id = @step_execution_id;
    IF @has_reference = 0 AND @against <> N'None'
    BEGIN
        SELECT
            @has_reference = 1,
            @reference = r.fingerprint,
            @described = r.description
        FROM jobs_internal.drift_references AS r WITH (UPDLOCK, HOLDLOCK)
        WHERE r.step_execution_id = @step_execution_id;
        IF @has_reference = 0 AND @against = N'Majority'
        BEGIN
            -- Plan: the targets of the step, and the last key of PK_drift_states for each.
            SET @voters = (
                SELECT COUNT(*)
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = @step_execution_id
                    AND EXISTS (SELECT 1 FROM jobs_internal.drift_states AS d WHERE d.target_id = t.target_id AND d.options = @options)
            );
            SELECT TOP (1)
                @reference = d.fingerprint,
                @votes = COUNT(*)
            FROM jobs_internal.target_executions AS t
            CROSS APPLY (
                SELECT TOP (1) l.fingerprint
                FROM jobs_internal.drift_states AS l
                WHERE l.target_id = t.target_id
                    AND l.options = @options
                ORDER BY l.first_seen_at DESC
            ) AS d
            WHERE t.step_execution_id = @step_execution_id
            GROUP BY d.fingerprint
            ORDER BY COUNT(*) DESC, d.fingerprint;
            SET @described = CASE
                WHEN @reference IS NULL THEN N'none'
                ELSE CONCAT(N'the one that ', @votes, N' of ', @voters, N' databases had when the step began')
            END;
            SET @has_reference = 1;
            INSERT INTO jobs_internal.drift_references (step_execution_id, fingerprint, description, created_at)
            VALUES (@step_execution_id, @reference, @described, @now);
        END;
        IF @has_reference = 0 AND @against = N'Baseline'
        BEGIN
            SELECT
                @reference = b.fingerprint,
                @described = CONCAT(N'the baseline ''', b.name, N'''')
            FROM jobs_internal.drift_baselines AS b
            WHERE b.name = @against_name
                AND b.options = @options;
            IF @reference IS NULL
                SET @message = CASE
                    WHEN EXISTS (SELECT 1 FROM jobs_internal.drift_baselines AS b WHERE b.name = @against_name)
                        THEN CONCAT(N'The baseline ''', @against_name, N''' has no schema with the options of this step: read its ',
                            N'database with them, and set it again.')
                    ELSE CONCAT(N'The baseline ''', @against_name, N''' does not exist.')
                END;
            ELSE
            BEGIN
                SET @has_reference = 1;
                INSERT INTO jobs_internal.drift_references (step_execution_id, fingerprint, description, created_at)
                VALUES (@step_execution_id, @reference, @described, @now);
            END;
        END;
        IF @has_reference = 0 AND @against = N'Database' AND @target_id <> @against_id
        BEGIN
            SELECT TOP (1)
                @reference = CASE WHEN d.last_seen_at >= @began_at THEN d.fingerprint END
            FROM jobs_internal.drift_states AS d
            WHERE d.target_id = @against_id
                AND d.options = @options
            ORDER BY d.first_seen_at DESC;
            IF @reference IS NULL
            BEGIN
                COMMIT TRANSACTION;
                SELECT
                    CAST(N'NeedsReference' AS NVARCHAR(20)) AS verdict,
                    CAST(NULL AS NVARCHAR(4000)) AS message;
                RETURN 0;
            END;
            SET @has_reference = 1;
            SET @described = CONCAT(N'that of ', @against_name);
            INSERT INTO jobs_internal.drift_references (step_execution_id, fingerprint, description, created_at)
            VALUES (@step_execution_id, @reference, @described, @now);
        END;
    END;

    -- The schema.
    IF EXISTS (SELECT 1 FROM jobs_internal.drift_schemas AS d WHERE d.fingerprint = @fingerprint AND d.options = @options)
        SET @is_known = 1;
    IF @is_known = 0 AND @parts IS NULL
    BEGIN
        COMMIT TRANSACTION;
        SELECT
            CAST(N'NeedsParts' AS NVARCHAR(20)) AS verdict,
            CAST(NULL AS NVARCHAR(4000)) AS message;
        RETURN 0;
    END;
    IF @is_known = 0
    BEGIN
        -- key: PK_drift_schemas, in which another session may insert the same schema
        SELECT @created_at = d.created_at
        FROM jobs_internal.drift_schemas AS d WITH (UPDLOCK, HOLDLOCK)
        WHERE d.fingerprint = @fingerprint
            AND d.options = @options;
        IF @created_at IS NULL
            INSERT INTO jobs_internal.drift_schemas (fingerprint, options, objects, parts, created_at)
            VALUES (
                @fingerprint, @options, @objects,
                CASE WHEN DATALENGTH(@parts) <= @most_bytes THEN COMPRESS(@parts) END,
                @now
            );
    END;

    -- The history.
    SELECT TOP (1)
        @last_fingerprint = d.fingerprint,
        @last_first = d.first_seen_at,
        @last_seen = d.last_seen_at
    FROM jobs_internal.drift_states AS d WITH (UPDLOCK, HOLDLOCK)
    WHERE d.target_id = @target_id
        AND d.options = @options
    ORDER BY d.first_seen_at DESC;
    IF @last_fingerprint = @fingerprint
        UPDATE d
        SET d.last_seen_at = @now,
            d.server_name = @server_name,
            d.database_name = @database_name
        FROM jobs_internal.drift_states AS d
        WHERE d.target_id = @target_id
            AND d.options = @options
            AND d.first_seen_at = @last_first
            AND d.last_seen_at < @now;
    ELSE
    BEGIN
        IF @last_fingerprint IS NOT NULL
            EXECUTE jobs_internal.describe_drift
                @options = @options,
                @from = @last_fingerprint,
                @to = @fingerprint,
                @lacks = N'dropped',
                @has = N'added',
                @differs = N'changed',
                @words = @words OUTPUT;
        -- The clock may have been set back.
        IF @now <= @last_first
            SET @now = DATEADD(NANOSECOND, 100, @last_first);
        INSERT INTO jobs_internal.drift_states
            (target_id, options, first_seen_at, last_seen_at, fingerprint, server_name, database_name, changes)
        VALUES (@target_id, @options, @now, @now, @fingerprint, @server_name, @database_name, @words);
        -- rows: those beyond the limit, of one database
        DELETE d
        FROM jobs_internal.drift_states AS d
        WHERE d.target_id = @target_id
            AND d.options = @options
            AND d.first_seen_at < (
                SELECT MIN(n.first_seen_at)
                FROM (
                    SELECT TOP (@most_states) l.first_seen_at
                    FROM jobs_internal.drift_states AS l
                    WHERE l.target_id = @target_id
                        AND l.options = @options
                    ORDER BY l.first_seen_at DESC
                ) AS n
            );
    END;

    IF @has_reference = 0 AND @against = N'Database' AND @target_id = @against_id
    BEGIN
        SET @has_reference = 1;
        SET @reference = @fingerprint;
        SET @described = CONCAT(N'that of ', @against_name);
        INSERT INTO jobs_internal.drift_references (step_execution_id, fingerprint, description, created_at)
        VALUES (@step_execution_id, @reference, @described, @now);
    END;

    -- The verdict.
    SET @words = NULL;
    IF @message IS NOT NULL
        SET @verdict = N'Missing';
    ELSE IF @against = N'None'
        SET @verdict = N'Recorded';
    ELSE IF @reference IS NULL
    BEGIN
        SET @verdict = N'Recorded';
        SET @message = N'No database of the step had been read before it began: there is nothing to compare the schema with.';
    END
    ELSE IF @reference = @fingerprint
    BEGIN
        SET @verdict = N'Alike';
        SET @message = CONCAT(N'The schema is ', @described, N'.');
    END
    ELSE
    BEGIN
        SET @verdict = N'Differs';
        EXECUTE jobs_internal.describe_drift
            @options = @options,
            @from = @reference,
            @to = @fingerprint,
            @lacks = N'lacks',
            @has = N'has in addition',
            @differs = N'has another',
            @words = @words OUTPUT;
        SET @message = CONCAT(
            N'The schema is not ', @described, N': ',
            N'the database ' + @words,
            CASE WHEN @words IS NULL THEN N'there are too many objects to say what differs' END,
            N'.'
        );
    END;
    COMMIT TRANSACTION;
    SELECT
        @verdict AS verdict,
        @message AS message;
    RETURN 0;
END;
