-- Stores the results of validations by an agent: the next due instant of a schedule, or all errors of its text. A
-- result that was computed from another definition or from another due instant than the stored one is ignored. So is a
-- result for a schedule that another transaction holds; that schedule still waits for validation.
--
-- A result is for a schedule that waits for validation, or whose recheck_at has passed. The latter renews words and warnings, and
-- nothing else: an agent with another engine may have made it, and a changed engine has a recheck of its own. A renewal by an agent of
-- an earlier release, which has neither words nor dated warnings, keeps those that are stored; the schedule is listed again ten minutes
-- later.
--
-- A schedule with errors becomes Faulted, and its backfills end. Without a due instant it becomes Completed. All others
-- become Enabled or Disabled, according to enabled and paused.
--
-- The name is older than the word validation; agents of the previous release call the procedure by this name.
--
-- Parameters:
--   @term_id    The caller's term.
--   @verdicts   JSON array of objects: schedule_id, revision, seen_due_at (next_due_at as it was listed; NULL: none),
--               errors (object {"errors": [{path, value, message}]}, or NULL), warnings (array, or NULL), zone, engine,
--               next_due_at (NULL: none is left), next_fire_at (NULL: next_due_at), upcoming (array of at most ten
--               instants, or NULL), description (cut after 4,000 characters; NULL: none, as from agents of earlier releases),
--               recheck_at (when the result must be renewed; NULL: never).
--   @term_guid  The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/scheduler.go, once per batch of schedules that wait.
-- Locks:     the jobs (S) and the schedules (U, X), skipping locked rows, the backfills of those that are Faulted (X); inserts into
--            rest_action_log.
-- Returns:   one row per validation: schedule_id, job_name, schedule_name, result (Recorded, Stale, Locked), state, old_due_at,
--            next_due_at.
-- Throws:
--   50029 @verdicts is missing.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.record_verdicts
    @term_id   BIGINT,
    @verdicts  NVARCHAR(MAX),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @wanted_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @locked_jobs TABLE (job_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, current_version INT NOT NULL);
    DECLARE @locked_schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);
    DECLARE @given TABLE (
        schedule_id  BIGINT NOT NULL PRIMARY KEY,
        revision     INT NOT NULL,
        seen_due_at  DATETIME2(7) NULL,
        errors       NVARCHAR(MAX) NULL,
        warnings     NVARCHAR(MAX) NULL,
        zone         NVARCHAR(128) NULL,
        engine       NVARCHAR(128) NULL,
        next_due_at  DATETIME2(7) NULL,
        next_fire_at DATETIME2(7) NULL,
        upcoming     NVARCHAR(MAX) NULL,
        description  NVARCHAR(4000) NULL,
        recheck_at   DATETIME2(7) NULL
    );
    DECLARE @stored TABLE (
        schedule_id BIGINT NOT NULL PRIMARY KEY,
        state       NVARCHAR(20) NOT NULL,
        old_due_at  DATETIME2(7) NULL,
        next_due_at DATETIME2(7) NULL,
        is_rest     BIT NOT NULL -- a schedule of the SAP surface that was switched on
    );

    IF @verdicts IS NULL OR ISJSON(@verdicts) = 0
        THROW 50029, N'Invalid @verdicts of record_verdicts: want a JSON array.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    INSERT INTO @given (
        schedule_id, revision, seen_due_at, errors, warnings, zone, engine, next_due_at, next_fire_at, upcoming, description, recheck_at
    )
    SELECT
        v.schedule_id, v.revision, v.seen_due_at, v.errors, v.warnings, v.zone, v.engine, v.next_due_at, v.next_fire_at, v.upcoming,
        CAST(v.description AS NVARCHAR(4000)), v.recheck_at -- LEFT may count a pair of UTF-16 as one
    FROM OPENJSON(@verdicts) WITH (
        schedule_id  BIGINT,
        revision     INT,
        seen_due_at  DATETIME2(7),
        errors       NVARCHAR(MAX) AS JSON,
        warnings     NVARCHAR(MAX) AS JSON,
        zone         NVARCHAR(128),
        engine       NVARCHAR(128),
        next_due_at  DATETIME2(7),
        next_fire_at DATETIME2(7),
        upcoming     NVARCHAR(MAX) AS JSON,
        description  NVARCHAR(MAX),
        recheck_at   DATETIME2(7)
    ) AS v;

    BEGIN TRANSACTION;

    -- Jobs before schedules, and each in the order of its key; current_version and revision are in no index, so that the locks are
    -- on the clustered keys. Rows that another transaction holds wait for the next call (I14).
    INSERT INTO @wanted_jobs (job_id)
    SELECT DISTINCT s.job_id
    FROM @given AS g
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id;
    INSERT INTO @locked_jobs (job_id, current_version)
    SELECT j.job_id, j.current_version
    FROM @wanted_jobs AS w
    INNER LOOP JOIN jobs_internal.jobs AS j WITH (REPEATABLEREAD, READPAST, ROWLOCK) ON j.job_id = w.job_id;
    INSERT INTO @locked_schedules (schedule_id, revision)
    SELECT s.schedule_id, s.revision
    FROM @given AS g
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = g.schedule_id
    WHERE s.job_id IN (SELECT l.job_id FROM @locked_jobs AS l);

    UPDATE s
    SET s.awaits_verdict = 0,
        s.validated_at = @now,
        s.zone = g.zone,
        s.engine = g.engine,
        s.validation_errors = g.errors,
        s.warnings = g.warnings,
        s.description = g.description,
        s.recheck_at = c.recheck_at,
        s.upcoming = CASE WHEN n.state = N'Enabled' THEN g.upcoming END,
        s.state = n.state,
        s.reason = CASE
            WHEN n.state = N'Faulted' THEN CAST(CONCAT(
                COALESCE(
                    N'Invalid ' + NULLIF(JSON_VALUE(g.errors, '$.errors[0].path'), N'') + N' '
                        + COALESCE(
                            LEFT(COALESCE(JSON_VALUE(g.errors, '$.errors[0].value'), JSON_QUERY(g.errors, '$.errors[0].value')), 200),
                            N'null'
                        ),
                    N'Invalid text'
                ),
                N': ',
                JSON_VALUE(g.errors, '$.errors[0].message'),
                CASE WHEN JSON_VALUE(g.errors, '$.errors[1].message') IS NOT NULL THEN N' (and more: see validation_errors)' END
            ) AS NVARCHAR(4000))
            WHEN n.state = N'Completed' THEN N'No due instant is left.'
            WHEN n.state = N'Disabled' AND s.state = N'Disabled' THEN NULLIF(s.reason, N'Waits for an agent to validate it.')
        END,
        s.closed_at = CASE WHEN s.name <> N'' AND n.state IN (N'Faulted', N'Completed') THEN COALESCE(s.closed_at, @now) END,
        s.next_run_id = CASE
            WHEN s.next_run_id IS NULL OR n.state <> N'Enabled' OR s.next_due_at = g.next_due_at THEN s.next_run_id
            ELSE NEWID()
        END,
        s.next_run_made_at = CASE
            WHEN s.next_run_id IS NULL OR n.state <> N'Enabled' OR s.next_due_at = g.next_due_at THEN s.next_run_made_at
            ELSE @now
        END,
        s.next_due_at = CASE WHEN n.state = N'Enabled' THEN g.next_due_at END,
        s.next_fire_at = CASE WHEN n.state = N'Enabled' THEN COALESCE(g.next_fire_at, g.next_due_at) END
    OUTPUT inserted.schedule_id, inserted.state, deleted.next_due_at, inserted.next_due_at,
        CASE WHEN inserted.next_run_id IS NOT NULL AND inserted.enabled = 1 THEN 1 ELSE 0 END
    INTO @stored (schedule_id, state, old_due_at, next_due_at, is_rest)
    FROM @given AS g
    INNER JOIN @locked_schedules AS l ON l.schedule_id = g.schedule_id
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    CROSS APPLY (
        SELECT CASE
            WHEN g.errors IS NOT NULL THEN N'Faulted'
            WHEN g.next_due_at IS NULL THEN N'Completed'
            WHEN s.enabled = 1 AND s.paused = 0 THEN N'Enabled'
            ELSE N'Disabled'
        END AS state
    ) AS n
    CROSS APPLY (
        -- A time that has passed already would make agents renew the result again and again.
        SELECT CASE WHEN g.recheck_at <= @now THEN DATEADD(MINUTE, 1, @now) ELSE g.recheck_at END AS recheck_at
    ) AS c
    WHERE s.awaits_verdict = 1
        AND s.revision = g.revision
        AND (s.next_due_at = g.seen_due_at OR (s.next_due_at IS NULL AND g.seen_due_at IS NULL))
        AND j.deleted_at IS NULL;

    UPDATE s
    SET s.validated_at = @now,
        s.warnings = CASE WHEN g.errors IS NULL AND g.description IS NOT NULL THEN g.warnings ELSE s.warnings END,
        s.description = COALESCE(g.description, s.description),
        s.recheck_at = CASE
            WHEN g.errors IS NULL AND g.description IS NULL THEN DATEADD(MINUTE, 10, @now)
            WHEN g.recheck_at <= @now THEN DATEADD(MINUTE, 1, @now)
            ELSE g.recheck_at
        END
    OUTPUT inserted.schedule_id, inserted.state, deleted.next_due_at, inserted.next_due_at, 0
    INTO @stored (schedule_id, state, old_due_at, next_due_at, is_rest)
    FROM @given AS g
    INNER JOIN @locked_schedules AS l ON l.schedule_id = g.schedule_id
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE s.awaits_verdict = 0
        AND s.recheck_at <= @now
        AND s.revision = g.revision
        AND (s.next_due_at = g.seen_due_at OR (s.next_due_at IS NULL AND g.seen_due_at IS NULL))
        AND j.deleted_at IS NULL;

    UPDATE f
    SET f.state = N'Faulted',
        f.reason = N'The text of the schedule is invalid.',
        f.next_at = NULL,
        f.ended_at = @now
    FROM @stored AS t
    INNER LOOP JOIN jobs_internal.schedule_backfills AS f ON f.schedule_id = t.schedule_id
    WHERE t.state = N'Faulted'
        AND f.state = N'Open';

    IF EXISTS (SELECT 1 FROM @stored AS t WHERE t.is_rest = 1 AND t.state IN (N'Completed', N'Faulted'))
        INSERT INTO jobs_internal.rest_action_log (rest_job_id, rest_schedule_id, at, action, text)
        SELECT r.rest_job_id, x.rest_schedule_id, @now, N'DEACTIVATION_NO_FUTURE_RUN', CAST(s.reason AS NVARCHAR(1000)) -- cut
        FROM @stored AS t
        INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = t.schedule_id
        INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = t.schedule_id
        INNER JOIN jobs_internal.rest_jobs AS r ON r.job_id = s.job_id
        WHERE t.is_rest = 1
            AND t.state IN (N'Completed', N'Faulted');

    COMMIT TRANSACTION;

    SELECT
        g.schedule_id,
        j.name AS job_name,
        s.name AS schedule_name,
        CASE
            WHEN t.schedule_id IS NOT NULL THEN N'Recorded'
            WHEN s.schedule_id IS NOT NULL AND l.schedule_id IS NULL THEN N'Locked'
            ELSE N'Stale'
        END AS result,
        t.state,
        t.old_due_at,
        t.next_due_at
    FROM @given AS g
    LEFT JOIN @stored AS t ON t.schedule_id = g.schedule_id
    LEFT JOIN @locked_schedules AS l ON l.schedule_id = g.schedule_id
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = g.schedule_id
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    ORDER BY g.schedule_id;
    RETURN 0;
END;
