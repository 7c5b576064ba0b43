-- Writes an entry of the audit log. Each public procedure that changes something calls it once, as the last statement of its
-- transaction: a change that is rolled back leaves no entry. An entry has only what differs between @before and @after. If nothing
-- differs and no version was made, there is no entry: a repeated call that changes nothing is not recorded.
--
-- A procedure that changes an object reads its state with jobs_internal.state_of_… after it has locked the object and again after the
-- change, and passes both; NULL stands for an object that does not exist. Other procedures pass JSON objects of their own, or none at
-- all. No secret may be in them: not the values of secrets nor their sealed forms, no commands of steps and no parameters of runs, but
-- their hashes. A value of more than 4000 characters is replaced by its length and hash.
--
-- Parameters:
--   @action           Name of the public procedure, without its schema.
--   @object_kind      Kind of the object: Job, JobStep, Schedule, Calendar, Backfill, TargetGroup, TargetGroupMember, Limit, Setting,
--                     Secret, SecretKey, JobExecution, Callback, or another such word.
--   @object_name      Its name; NULL: the member name of @after, or else of @before.
--   @object_id        Its id, if it has one.
--   @job_id           Job to which it belongs, if any.
--   @job_name         Name of that job.
--   @before           JSON object: the state before the change.
--   @after            JSON object: the state after the change.
--   @version_before   Current version of the job before the change, if the change made one.
--   @version_after    Current version of the job after it.
--   @revision_before  Revision of the object before the change, if it has revisions.
--   @revision_after   Revision of the object after it.
--   @now              Time of the change; NULL: now.
-- Called by: the public procedures that change something, within their transactions.
-- Locks:     an insert into audit_entries, for which nobody waits.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.audit
    @action          NVARCHAR(128),
    @object_kind     NVARCHAR(30),
    @object_name     NVARCHAR(300) = NULL,
    @object_id       NVARCHAR(100) = NULL,
    @job_id          UNIQUEIDENTIFIER = NULL,
    @job_name        NVARCHAR(128) = NULL,
    @before          NVARCHAR(MAX) = NULL,
    @after           NVARCHAR(MAX) = NULL,
    @version_before  INT = NULL,
    @version_after   INT = NULL,
    @revision_before BIGINT = NULL,
    @revision_after  BIGINT = NULL,
    @now             DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @changed INT = 1;

    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @object_name = COALESCE(@object_name, JSON_VALUE(@after, '$.name'), JSON_VALUE(@before, '$.name'));
    -- A short state of a new or deleted object is stored as it is.
    IF (@before IS NOT NULL AND @after IS NOT NULL) OR LEN(@before) > 4000 OR LEN(@after) > 4000
    BEGIN
        WITH states AS (
            SELECT o.[key] AS name, o.value, o.type, 0 AS is_after -- key has a BIN2 collation
            FROM OPENJSON(@before) AS o
            UNION ALL
            SELECT o.[key], o.value, o.type, 1
            FROM OPENJSON(@after) AS o
        ),
        members AS (
            SELECT
                s.name,
                s.is_after,
                -- The name has another collation than the value: CONCAT of both would have none, which MAX refuses
                -- (https://learn.microsoft.com/sql/t-sql/statements/collation-precedence-transact-sql).
                CONCAT(N'"', STRING_ESCAPE(s.name, 'json') COLLATE DATABASE_DEFAULT, N'":', CASE
                    WHEN s.value IS NULL THEN N'null'
                    WHEN LEN(s.value) > 4000 THEN CONCAT(
                        N'{"characters":', LEN(s.value), N',"sha256":"', CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', s.value), 2), N'"}'
                    )
                    WHEN s.type = 1 THEN CONCAT(N'"', STRING_ESCAPE(s.value, 'json'), N'"')
                    ELSE s.value
                END) AS text
            FROM states AS s
        ),
        changes AS (
            SELECT
                m.name,
                MAX(CASE WHEN m.is_after = 0 THEN m.text END) AS before_text,
                MAX(CASE WHEN m.is_after = 1 THEN m.text END) AS after_text
            FROM members AS m
            GROUP BY m.name
        )
        SELECT
            @changed = COUNT(*),
            @before = CASE
                WHEN @before IS NOT NULL THEN CONCAT(N'{', STRING_AGG(c.before_text, N',') WITHIN GROUP (ORDER BY c.name), N'}')
            END,
            @after = CASE
                WHEN @after IS NOT NULL THEN CONCAT(N'{', STRING_AGG(c.after_text, N',') WITHIN GROUP (ORDER BY c.name), N'}')
            END
        FROM changes AS c
        WHERE c.before_text IS NULL
            OR c.after_text IS NULL
            OR CAST(c.before_text AS VARBINARY(MAX)) <> CAST(c.after_text AS VARBINARY(MAX));
        IF @changed = 0 AND COALESCE(@version_before, 0) = COALESCE(@version_after, 0)
            RETURN 0;
    END;

    -- rows: one
    INSERT INTO jobs_internal.audit_entries (
        at, door, caller, original_login, host, program, address, correlation_id, action, object_kind, object_name, object_id, job_id,
        job_name, before_change, after_change, version_before, version_after, revision_before, revision_after
    )
    SELECT
        @now, c.door, c.name, c.original_login, c.host, c.program, c.address, c.correlation_id, @action, @object_kind, @object_name,
        @object_id, @job_id, @job_name, @before, @after, @version_before, @version_after, @revision_before, @revision_after
    FROM jobs_internal.current_caller AS c;
    RETURN 0;
END;
