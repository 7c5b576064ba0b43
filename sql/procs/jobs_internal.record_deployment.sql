-- Records a deployment: the hashes of code objects, and the applied migrations. Terms of agents that the deployed
-- procedures no longer support end; the next pass, or the start of the next term, hands their tasks over. The first deployment also stores
-- the place of the database, by which a restore is noticed.
--
-- Procedures of releases before version 40 wrote an option of steps into a column of its own, also while the migration ran; it
-- moves to the options that only agents read.
--
-- Parameters:
--   @objects     JSON array of all code objects: name, kind, sha256. Rows of other objects are deleted.
--   @migrations  JSON array of applied migrations: version, name, sha256.
--   @program     Version of the program whose code objects are deployed. It is the extended property jobagent_program of the schema
--                jobs_internal, because a deployment reads it before it has migrated the tables. NULL: unchanged.
-- Called by: controldb/deploy/deploy.go, within its transaction.
-- Locks:     control_identity (X), terms (X), code_objects, schema_versions (X), job_steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.record_deployment
    @objects    NVARCHAR(MAX) = NULL,
    @migrations NVARCHAR(MAX) = NULL,
    @program    NVARCHAR(100) = NULL,
    @now        DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @given TABLE (
        name   NVARCHAR(256) NOT NULL PRIMARY KEY,
        kind   NVARCHAR(20) NOT NULL,
        sha256 CHAR(64) NOT NULL
    );
    DECLARE @outdated TABLE (term_id BIGINT NOT NULL PRIMARY KEY);

    BEGIN TRANSACTION;

    IF @objects IS NOT NULL
    BEGIN
        INSERT INTO @given (name, kind, sha256)
        SELECT o.name, o.kind, o.sha256
        FROM OPENJSON(@objects) WITH (
            name   NVARCHAR(256),
            kind   NVARCHAR(20),
            sha256 CHAR(64)
        ) AS o;
        DELETE c
        FROM jobs_internal.code_objects AS c
        WHERE NOT EXISTS (SELECT 1 FROM @given AS g WHERE g.name = c.name);
        UPDATE c
        SET c.kind = g.kind,
            c.sha256 = g.sha256,
            c.deployed_at = @now
        FROM @given AS g
        INNER LOOP JOIN jobs_internal.code_objects AS c ON c.name = g.name
        WHERE c.sha256 <> g.sha256
            OR c.kind <> g.kind;
        INSERT INTO jobs_internal.code_objects (name, kind, sha256, deployed_at)
        SELECT g.name, g.kind, g.sha256, @now
        FROM @given AS g
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.code_objects AS c WHERE c.name = g.name);
        -- A backup that is older than the first term has a place, too.
        EXECUTE jobs_internal.check_place;
    END;

    INSERT INTO jobs_internal.schema_versions (version, name, sha256, applied_at)
    SELECT m.version, m.name, m.sha256, @now
    FROM OPENJSON(COALESCE(@migrations, N'[]')) WITH (
        version INT,
        name    NVARCHAR(128),
        sha256  CHAR(64)
    ) AS m
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.schema_versions AS v WHERE v.version = m.version);

    IF @program IS NOT NULL
    BEGIN
        IF EXISTS (
            SELECT 1
            FROM sys.extended_properties AS p
            WHERE p.class = 3
                AND p.major_id = SCHEMA_ID(N'jobs_internal')
                AND p.name = N'jobagent_program'
        )
            EXECUTE sys.sp_updateextendedproperty
                @name = N'jobagent_program', @value = @program, @level0type = N'SCHEMA', @level0name = N'jobs_internal';
        ELSE
            EXECUTE sys.sp_addextendedproperty
                @name = N'jobagent_program', @value = @program, @level0type = N'SCHEMA', @level0name = N'jobs_internal';
    END;

    -- The list is read first, and the terms are then locked by their clustered key, as jobs_internal.renew_term locks them.
    -- plan: the view has one row
    INSERT INTO @outdated (term_id)
    SELECT t.term_id
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.agent_protocols AS p ON t.protocol NOT BETWEEN p.oldest AND p.newest
    WHERE t.ended_at IS NULL;
    UPDATE t
    SET t.ended_at = @now,
        t.end_reason = N'Outdated'
    FROM @outdated AS o
    INNER LOOP JOIN jobs_internal.terms AS t ON t.term_id = o.term_id
    WHERE t.ended_at IS NULL;

    UPDATE s
    SET s.agent_options = N'{"bind_parameters":true}',
        s.bind_parameters = 0
    FROM jobs_internal.job_steps AS s
    WHERE s.bind_parameters = 1;

    COMMIT TRANSACTION;
    RETURN 0;
END;
