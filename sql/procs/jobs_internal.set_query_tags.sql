-- Gives databases the tags that a member of type Query has returned for them, in columns whose names begin with tag_: what the query says
-- replaces what was there, and NULL removes a tag. Tags of other names stay as they are.
--
-- Databases that have these tags already are only read. The others go through jobs.sp_set_target_tags, which writes the audit log.
--
-- Cost: the tags that are given, and as many keys of target_tags; locks only for databases whose tags change.
--
-- Parameters:
--   @term_id    The caller's term.
--   @task_id    The resolution. Nothing is written unless the term holds it.
--   @list       JSON array of 1 to 1,000 objects: target_id, server_name, database_name, tags (see jobs.sp_set_target_tags).
--   @term_guid  The term's GUID; NULL: not compared.
-- Called by: agent/task_host.go, before it completes the resolution.
-- Locks:     those of jobs.sp_set_target_tags.
-- Returns:   0.
-- Throws:
--   50201 the term has ended, or is another one of the same number.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.set_query_tags
    @term_id   BIGINT,
    @task_id   BIGINT,
    @list      NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @differing NVARCHAR(MAX);

    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;
    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS k
        WHERE k.task_id = @task_id
            AND k.term_id = @term_id
            AND k.kind = N'Resolve'
            AND k.ended_at IS NULL
    )
        RETURN 0;

    SET @differing = (
        SELECT w.target_id, w.server_name, w.database_name, JSON_QUERY(w.tags) AS tags
        FROM OPENJSON(@list) WITH (
            target_id     UNIQUEIDENTIFIER,
            server_name   NVARCHAR(257),
            database_name NVARCHAR(129),
            tags          NVARCHAR(MAX) AS JSON
        ) AS w
        WHERE EXISTS (
            SELECT 1
            FROM OPENJSON(w.tags) AS o
            LEFT JOIN jobs_internal.target_tags AS g ON g.target_id = w.target_id
                AND g.name = o.[key] COLLATE DATABASE_DEFAULT
            WHERE (o.value IS NULL AND g.value IS NOT NULL)
                OR (o.value IS NOT NULL AND g.value IS NULL)
                -- exactly: another case, or a blank at the end, is another value
                OR CAST(o.value AS VARBINARY(512)) <> CAST(g.value AS VARBINARY(512))
        )
        FOR JSON PATH
    );
    IF @differing IS NOT NULL
        EXECUTE jobs.sp_set_target_tags @list = @differing;
    RETURN 0;
END;
