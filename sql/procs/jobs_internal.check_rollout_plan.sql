-- Checks the plan of a roll-out: all faults, each with the path of its member, in one error. The Go package jobs/rollout has the same rules
-- and the same form. The form that is stored has every member with its default, in the order of the rules below.
--
-- Parameters:
--   @plan      As in jobs.sp_set_job_rollout.
--   @stored    Receives the JSON object to store; NULL: no plan.
--   @job_name  Name of the job that gets the plan, which is none of its probe jobs; NULL: not known.
-- Called by: jobs.sp_set_job_rollout, before its transaction.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50404 the plan of a roll-out is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_rollout_plan
    @plan     NVARCHAR(MAX),
    @stored   NVARCHAR(MAX) OUTPUT,
    @job_name NVARCHAR(128) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @total INT;
    DECLARE @shown INT;
    DECLARE @list NVARCHAR(MAX);
    DECLARE @array NVARCHAR(MAX);
    DECLARE @member INT;
    DECLARE @filter NVARCHAR(MAX);
    DECLARE @filter_fault NVARCHAR(1000);
    DECLARE @last INT; -- number of the last wave, from 0
    DECLARE @needs NVARCHAR(MAX); -- preflight_options in the stored form
    DECLARE @checks NVARCHAR(200) = N'state,writable,version,compatibility,rights,log_space,data_space,blocking,transactions';
    DECLARE @hidden NVARCHAR(100) = (SELECT h.pattern FROM jobs_internal.hidden_characters AS h);
    DECLARE @visible NVARCHAR(100) = N'visible characters, without a blank at an end';
    DECLARE @share NVARCHAR(200) = N'a number of targets, such as 3, or a percentage from 0% to 100% without decimals, such as "1%"';
    -- The members of the plan, those of its waves, and those of preflight_options.
    DECLARE @rules TABLE (
        section  NVARCHAR(10) COLLATE Latin1_General_100_BIN2 NOT NULL, -- plan, wave or need
        position INT NOT NULL,
        name     NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NOT NULL,
        kind     NVARCHAR(10) COLLATE Latin1_General_100_BIN2 NOT NULL,
        lowest   BIGINT NULL,
        highest  BIGINT NULL, -- of numbers; characters of a text; elements of an array
        choices  NVARCHAR(100) COLLATE Latin1_General_100_BIN2 NULL,
        fallback NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NULL, -- JSON of the default; NULL: the member is required
        want     NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        PRIMARY KEY (section, position)
    );
    DECLARE @waves TABLE (
        wave  INT NOT NULL PRIMARY KEY, -- from 0
        type  INT NOT NULL,             -- as in OPENJSON: 0 null, 1 string, 2 number, 3 true or false, 4 array, 5 object
        value NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL
    );
    DECLARE @members TABLE (
        member_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        section   NVARCHAR(10) COLLATE Latin1_General_100_BIN2 NOT NULL,
        wave      INT NOT NULL, -- -1: the plan itself
        name      NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        path      NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        type      INT NOT NULL,
        value     NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        json      NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL -- the value in the stored form; NULL: it is null or invalid
    );
    DECLARE @elements TABLE (
        member_id INT NOT NULL,
        place     INT NOT NULL,
        type      INT NOT NULL,
        value     NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        PRIMARY KEY (member_id, place)
    );
    DECLARE @faults TABLE (
        fault_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        wave     INT NOT NULL,
        place    INT NOT NULL, -- member_id; 0: the wave as a whole
        path     NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        message  NVARCHAR(600) COLLATE Latin1_General_100_BIN2 NOT NULL,
        word     NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NULL,  -- a word that may be misspelt
        choices  NVARCHAR(500) COLLATE Latin1_General_100_BIN2 NULL, -- what it may stand for
        near     NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NULL   -- what it seems to stand for
    );

    SET @stored = NULL;
    IF @plan IS NULL OR LTRIM(@plan) = N''
        RETURN 0;
    IF DATALENGTH(@plan) > 2 * 262144
        THROW 50404, N'Invalid @plan: want at most 262144 characters.', 1;
    IF NOT EXISTS (SELECT 1 FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@plan) = 1 THEN @plan END, N']')) AS o WHERE o.type = 5)
        THROW 50404, N'Invalid @plan: want a JSON object, such as {"waves": [{"name": "canary", "targets": 3}]}.', 1;

    INSERT INTO @rules (section, position, name, kind, lowest, highest, choices, fallback, want)
    SELECT r.section, r.position, r.name, r.kind, r.lowest, r.highest, r.choices, r.fallback, COALESCE(r.want, CASE r.kind
        WHEN N'integer' THEN CONCAT(N'a whole number from ', r.lowest, N' to ', r.highest)
        WHEN N'boolean' THEN N'true or false'
        WHEN N'text' THEN CONCAT(N'a text of 1 to ', r.highest, N' ', @visible)
        WHEN N'share' THEN @share
        ELSE REPLACE(r.choices, N',', N', ')
    END)
    FROM (VALUES
        (N'plan', 1, N'waves', N'array', 1, 100, NULL, NULL, N'an array of 1 to 100 waves'),
        (N'plan', 2, N'seed', N'integer', 0, 2147483647, NULL, N'0', NULL),
        (N'plan', 3, N'deadline_seconds', N'integer', 60, 31536000, NULL, N'null', NULL),
        (N'plan', 4, N'on_gate_failure', N'choice', NULL, NULL, N'pause,abort', N'"pause"', N'pause or abort'),
        (N'plan', 5, N'running_targets', N'choice', NULL, NULL, N'finish,cancel', N'"finish"', N'finish or cancel'),
        (N'plan', 6, N'strict', N'boolean', NULL, NULL, NULL, N'false', NULL),
        (N'plan', 7, N'undo_job', N'text', NULL, 128, NULL, N'null', CONCAT(N'the name of a job of 1 to 128 ', @visible)),
        (N'plan', 8, N'preflight', N'choice', NULL, NULL, N'none,refuse,warn,leave_out', N'"none"', N'none, refuse, warn or leave_out'),
        (N'plan', 9, N'preflight_options', N'object', NULL, 400, NULL, N'null', N'an object, such as {"rights": ["ALTER"]}'),
        (N'need', 1, N'rights', N'array', 1, 50, NULL, N'null', N'an array of 1 to 50 permissions'),
        (N'need', 2, N'min_version', N'integer', 1, 1000, NULL, N'null', NULL),
        (N'need', 3, N'min_compatibility', N'integer', 1, 1000, NULL, N'null', NULL),
        (N'need', 4, N'min_log_mb', N'integer', 1, 1000000000, NULL, N'null', NULL),
        (N'need', 5, N'min_data_mb', N'integer', 1, 1000000000, NULL, N'null', NULL),
        (N'need', 6, N'max_transaction_seconds', N'integer', 1, 31536000, NULL, N'null', NULL),
        (N'need', 7, N'warn', N'array', 1, 9, NULL, N'null', N'an array of 1 to 9 checks'),
        (N'need', 8, N'refuse', N'array', 1, 9, NULL, N'null', N'an array of 1 to 9 checks'),
        (N'wave', 1, N'name', N'text', NULL, 128, NULL, NULL, NULL),
        (N'wave', 2, N'targets', N'targets', NULL, NULL, N'rest', N'null',
            N'a number of targets from 1 to 1000000, a percentage from "1%" to "100%" without decimals, or "rest"'),
        (N'wave', 3, N'names', N'array', 1, 1000, NULL, N'null', N'an array of 1 to 1000 texts of the form "server/database"'),
        (N'wave', 4, N'like', N'array', 1, 100, NULL, N'null', N'an array of 1 to 100 patterns of LIKE, of 1 to 500 characters'),
        (N'wave', 5, N'tags', N'text', NULL, 4000, NULL, N'null', NULL),
        (N'wave', 6, N'order', N'choice', NULL, NULL, N'resolution,name,random,tag', N'"resolution"', N'resolution, name, random or tag'),
        (N'wave', 7, N'order_tag', N'text', NULL, 128, NULL, N'null', NULL),
        (N'wave', 8, N'parallelism', N'integer', 1, 100000, NULL, N'null', NULL),
        (N'wave', 9, N'pace', N'integer', 1, 100000, NULL, N'null', NULL),
        (N'wave', 10, N'bake_seconds', N'integer', 0, 2592000, NULL, N'0', NULL),
        (N'wave', 11, N'approval', N'choice', NULL, NULL, N'none,any,other', N'"none"', N'none, any, other, true or false'),
        (N'wave', 12, N'max_failed', N'share', NULL, NULL, NULL, N'"0"', NULL),
        (N'wave', 13, N'max_unknown', N'integer', 0, 1000000, NULL, N'0', NULL),
        (N'wave', 14, N'max_unreached', N'share', NULL, NULL, NULL, N'"0"', NULL),
        (N'wave', 15, N'max_duration_percent', N'integer', 1, 10000, NULL, N'null', NULL),
        (N'wave', 16, N'probe_job', N'text', NULL, 128, NULL, N'null', CONCAT(N'the name of a job of 1 to 128 ', @visible)),
        (N'wave', 17, N'probe_every_seconds', N'integer', 10, 86400, NULL, N'null', NULL),
        (N'wave', 18, N'probe_max_rows', N'integer', 0, 2147483647, NULL, N'null', NULL),
        (N'wave', 19, N'probe_min_value', N'integer', -1000000000000, 1000000000000, NULL, N'null', NULL),
        (N'wave', 20, N'probe_max_value', N'integer', -1000000000000, 1000000000000, NULL, N'null', NULL),
        (N'wave', 21, N'probe_min_percent', N'integer', 1, 10000, NULL, N'null', NULL),
        (N'wave', 22, N'probe_max_percent', N'integer', 1, 10000, NULL, N'null', NULL),
        (N'wave', 23, N'window', N'text', NULL, 128, NULL, N'null', CONCAT(N'the name of a calendar of 1 to 128 ', @visible)),
        (N'wave', 24, N'allow_empty', N'boolean', NULL, NULL, NULL, N'false', NULL)
    ) AS r (section, position, name, kind, lowest, highest, choices, fallback, want);

    INSERT INTO @members (section, wave, name, path, type, value)
    SELECT N'plan', -1, LEFT(o.[key], 400), n.text, o.type, o.value
    FROM OPENJSON(@plan) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] LIKE N'[A-Za-z_]%' AND o.[key] NOT LIKE N'%[^A-Za-z0-9_]%' -- keys have the collation Latin1_General_BIN2
                THEN LEFT(o.[key], 60) COLLATE DATABASE_DEFAULT
            ELSE CONCAT(N'"', STRING_ESCAPE(LEFT(o.[key], 60), 'json') COLLATE DATABASE_DEFAULT, N'"')
        END AS text
    ) AS n;
    INSERT INTO @members (section, wave, name, path, type, value)
    SELECT N'need', -1, LEFT(o.[key], 400), CONCAT(N'preflight_options.', n.text), o.type, o.value
    FROM @members AS m
    CROSS APPLY OPENJSON(CASE WHEN m.name = N'preflight_options' AND m.type = 5 THEN m.value ELSE N'{}' END) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] LIKE N'[A-Za-z_]%' AND o.[key] NOT LIKE N'%[^A-Za-z0-9_]%' -- keys have the collation Latin1_General_BIN2
                THEN LEFT(o.[key], 60) COLLATE DATABASE_DEFAULT
            ELSE CONCAT(N'"', STRING_ESCAPE(LEFT(o.[key], 60), 'json') COLLATE DATABASE_DEFAULT, N'"')
        END AS text
    ) AS n;
    SET @array = (
        SELECT TOP (1) m.value
        FROM @members AS m
        WHERE m.name = N'waves'
            AND m.type = 4
        ORDER BY m.member_id
    );
    SET @last = (SELECT COUNT(*) FROM OPENJSON(COALESCE(@array, N'[]'))) - 1;
    INSERT INTO @waves (wave, type, value)
    SELECT CAST(o.[key] AS INT), o.type, o.value
    FROM OPENJSON(COALESCE(@array, N'[]')) AS o
    WHERE CAST(o.[key] AS INT) < 100;
    INSERT INTO @members (section, wave, name, path, type, value)
    SELECT N'wave', w.wave, LEFT(o.[key], 400), CONCAT(N'waves[', w.wave, N'].', n.text), o.type, o.value
    FROM @waves AS w
    CROSS APPLY OPENJSON(CASE WHEN w.type = 5 THEN w.value ELSE N'{}' END) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] LIKE N'[A-Za-z_]%' AND o.[key] NOT LIKE N'%[^A-Za-z0-9_]%' -- keys have the collation Latin1_General_BIN2
                THEN LEFT(o.[key], 60) COLLATE DATABASE_DEFAULT
            ELSE CONCAT(N'"', STRING_ESCAPE(LEFT(o.[key], 60), 'json') COLLATE DATABASE_DEFAULT, N'"')
        END AS text
    ) AS n
    ORDER BY w.wave;
    INSERT INTO @elements (member_id, place, type, value)
    SELECT m.member_id, CAST(o.[key] AS INT), o.type, o.value
    FROM @members AS m
    CROSS APPLY OPENJSON(CASE WHEN m.type = 4 THEN m.value ELSE N'[]' END) AS o
    WHERE m.type = 4
        AND (
            (m.section = N'wave' AND m.name IN (N'names', N'like'))
            OR (m.section = N'need' AND m.name IN (N'rights', N'warn', N'refuse'))
        );

    -- Values in the stored form.
    -- plan: a plan has few members, here and below
    WITH amounts AS (
        SELECT
            m.member_id,
            CASE WHEN m.value LIKE N'%[%]' THEN N'%' ELSE N'' END AS unit,
            CASE WHEN m.value LIKE N'%[%]' THEN RTRIM(LEFT(m.value, LEN(m.value) - 1)) ELSE m.value END AS digits
        FROM @members AS m
        INNER JOIN @rules AS r ON r.section = m.section AND r.name = m.name
        WHERE r.kind IN (N'targets', N'share')
            AND m.type IN (1, 2)
            AND DATALENGTH(m.value) <= 40
    ),
    numbers AS (
        SELECT a.member_id, a.unit, TRY_CAST(a.digits AS INT) AS number
        FROM amounts AS a
        WHERE a.digits NOT LIKE N'%[^0-9]%'
            AND LEN(a.digits) BETWEEN 1 AND 9
    )
    UPDATE m
    SET m.json = CASE r.kind
        WHEN N'integer' THEN CASE
            WHEN m.type = 2 AND TRY_CAST(m.value AS BIGINT) BETWEEN r.lowest AND r.highest
                THEN CAST(TRY_CAST(m.value AS BIGINT) AS NVARCHAR(20))
        END
        WHEN N'boolean' THEN CASE WHEN m.type = 3 THEN m.value END
        WHEN N'text' THEN CASE
            WHEN m.type = 1
                AND DATALENGTH(m.value) BETWEEN 2 AND 2 * r.highest
                AND CHARINDEX(NCHAR(0), m.value) = 0
                AND PATINDEX(@hidden, m.value) = 0
                AND LEFT(m.value, 1) NOT IN (N' ', NCHAR(160))
                AND RIGHT(CONCAT(m.value, N'|'), 2) NOT IN (N' |', NCHAR(160) + N'|')
                THEN CONCAT(N'"', REPLACE(STRING_ESCAPE(m.value, 'json'), N'\/', N'/'), N'"')
        END
        WHEN N'choice' THEN CASE
            WHEN m.name = N'approval' AND m.type = 3 THEN CASE m.value WHEN N'true' THEN N'"any"' ELSE N'"none"' END
            WHEN m.type = 1
                AND m.value <> N''
                AND CHARINDEX(N',', m.value) = 0
                -- LEFT: the text to find of more than 8,000 bytes is an error
                -- (https://learn.microsoft.com/sql/t-sql/functions/charindex-transact-sql). No choice is as long as this.
                AND CHARINDEX(N',' + LEFT(m.value, 400) + N',', N',' + r.choices + N',') > 0
                THEN CONCAT(N'"', m.value, N'"')
        END
        WHEN N'array' THEN CASE
            WHEN m.type = 4
                AND (SELECT COUNT(*) FROM OPENJSON(CASE WHEN m.type = 4 THEN m.value ELSE N'[]' END)) BETWEEN r.lowest AND r.highest
                THEN m.value
        END
        WHEN N'object' THEN CASE WHEN m.type = 5 THEN m.value END
        WHEN N'targets' THEN CASE
            WHEN m.type = 1 AND m.value = N'rest' AND DATALENGTH(m.value) = 8 THEN N'"rest"'
            WHEN n.number BETWEEN 1 AND CASE n.unit WHEN N'' THEN 1000000 ELSE 100 END THEN CONCAT(N'"', n.number, n.unit, N'"')
        END
        ELSE CASE
            WHEN n.number = 0 THEN N'"0"'
            WHEN n.number <= CASE n.unit WHEN N'' THEN 1000000 ELSE 100 END THEN CONCAT(N'"', n.number, n.unit, N'"')
        END
    END
    FROM @members AS m
    INNER JOIN @rules AS r ON r.section = m.section AND r.name = m.name
    LEFT JOIN numbers AS n ON n.member_id = m.member_id;

    UPDATE m
    SET m.json = CONCAT(N'[', (
        SELECT STRING_AGG(
            CONCAT(CAST(N'"' AS NVARCHAR(MAX)), REPLACE(STRING_ESCAPE(e.value, 'json'), N'\/', N'/'), N'"'), N','
        ) WITHIN GROUP (ORDER BY e.place)
        FROM @elements AS e
        WHERE e.member_id = m.member_id
    ), N']')
    FROM @members AS m
    WHERE m.json IS NOT NULL
        AND EXISTS (SELECT 1 FROM @elements AS e WHERE e.member_id = m.member_id);

    -- Waves that are no objects; members that are unknown, repeated, invalid or missing.
    INSERT INTO @faults (wave, place, path, message)
    SELECT w.wave, 0, CONCAT(N'waves[', w.wave, N']'), N'want an object, such as {"name": "canary", "targets": 3}'
    FROM @waves AS w
    WHERE w.type <> 5;
    INSERT INTO @faults (wave, place, path, message, word, choices)
    SELECT
        m.wave,
        m.member_id,
        m.path,
        CONCAT(N'unknown member', CASE
            WHEN EXISTS (SELECT 1 FROM @rules AS r WHERE r.section = N'wave' AND r.name = m.name) THEN N': it is a member of a wave'
            WHEN EXISTS (SELECT 1 FROM @rules AS r WHERE r.section = N'need' AND r.name = m.name)
                THEN N': it is a member of preflight_options'
            WHEN EXISTS (SELECT 1 FROM @rules AS r WHERE r.name = m.name) THEN CONCAT(
                N': it is a member of the plan, not of ', CASE m.section WHEN N'wave' THEN N'a wave' ELSE N'preflight_options' END
            )
        END),
        CASE WHEN DATALENGTH(m.name) <= 80 AND NOT EXISTS (SELECT 1 FROM @rules AS r WHERE r.name = m.name) THEN m.name END,
        (SELECT STRING_AGG(r.name, N',') FROM @rules AS r WHERE r.section = m.section)
    FROM @members AS m
    WHERE NOT EXISTS (SELECT 1 FROM @rules AS r WHERE r.section = m.section AND r.name = m.name);
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, MAX(m.member_id), MAX(m.path), N'the member occurs more than once'
    FROM @members AS m
    GROUP BY m.section, m.wave, m.name
    HAVING COUNT(*) > 1;
    -- plan: a plan has few members
    INSERT INTO @faults (wave, place, path, message, word, choices)
    SELECT
        m.wave,
        m.member_id,
        m.path,
        CONCAT(N'want ', r.want, N', not ', CASE
            WHEN m.type = 1 THEN CONCAT(
                N'"', REPLACE(STRING_ESCAPE(LEFT(m.value, 40), 'json'), N'\/', N'/'), N'"',
                CASE WHEN DATALENGTH(m.value) > 80 THEN N' …' END
            )
            WHEN m.type IN (2, 3) THEN LEFT(m.value, 40)
            WHEN m.type = 5 THEN N'an object'
            WHEN r.kind <> N'array' THEN N'an array'
            ELSE CONCAT((SELECT COUNT(*) FROM OPENJSON(CASE WHEN m.type = 4 THEN m.value ELSE N'[]' END)), N' elements')
        END),
        CASE WHEN m.type = 1 AND DATALENGTH(m.value) BETWEEN 2 AND 80 AND r.choices IS NOT NULL THEN m.value END,
        r.choices
    FROM @members AS m
    INNER JOIN @rules AS r ON r.section = m.section AND r.name = m.name
    WHERE m.type > 0
        AND m.json IS NULL;
    WITH parents AS (
        SELECT N'plan' AS section, -1 AS wave, N'' AS path
        UNION ALL
        SELECT N'wave', w.wave, CONCAT(N'waves[', w.wave, N'].')
        FROM @waves AS w
        WHERE w.type = 5
    )
    INSERT INTO @faults (wave, place, path, message)
    SELECT p.wave, 0, CONCAT(p.path, r.name COLLATE DATABASE_DEFAULT), CONCAT(N'missing: want ', r.want)
    FROM parents AS p
    INNER JOIN @rules AS r ON r.section = p.section COLLATE Latin1_General_100_BIN2
    WHERE r.fallback IS NULL
        AND NOT EXISTS (SELECT 1 FROM @members AS m WHERE m.wave = p.wave AND m.name = r.name AND m.type > 0);
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, CONCAT(m.path, N'[', e.place, N']'), CASE
        WHEN e.type = 1 AND e.value <> N'' AND EXISTS (
            SELECT 1
            FROM @elements AS b
            WHERE b.member_id = e.member_id
                AND b.place < e.place
                AND b.value = e.value
        ) THEN N'the text occurs more than once'
        WHEN m.name = N'rights' THEN N'want a permission on the database, of 1 to 60 letters and blanks, such as ALTER'
        WHEN m.section = N'need' THEN CONCAT(N'want one of ', REPLACE(@checks, N',', N', '))
        WHEN m.name = N'names' THEN N'want a text of the form "server/database", of at most 256 and 128 characters'
        ELSE N'want a pattern of 1 to 500 characters'
    END
    FROM @members AS m
    INNER JOIN @elements AS e ON e.member_id = m.member_id
    WHERE e.type <> 1
        OR (m.name = N'names'
            AND (
                e.value NOT LIKE N'_%/_%'
                OR CHARINDEX(N'/', e.value) > 257
                OR DATALENGTH(e.value) > 2 * (CHARINDEX(N'/', e.value) + 128)
            ))
        OR DATALENGTH(e.value) NOT BETWEEN 2 AND 1000
        OR (m.name = N'rights' AND (DATALENGTH(e.value) > 120 OR e.value LIKE N'%[^A-Za-z ]%'))
        OR (m.name IN (N'warn', N'refuse') AND CHARINDEX(N',' + LEFT(e.value, 400) + N',', N',' + @checks + N',') = 0)
        OR EXISTS (
            SELECT 1
            FROM @elements AS b
            WHERE b.member_id = e.member_id
                AND b.place < e.place
                AND b.value = e.value
        )
    ORDER BY m.member_id, e.place;

    -- plan: a preflight has few options
    SELECT @needs = CONCAT(N'{', STRING_AGG(
        CONCAT(CAST(N'"' AS NVARCHAR(MAX)), r.name, N'":', m.json), N','
    ) WITHIN GROUP (ORDER BY r.position), N'}')
    FROM @members AS m
    INNER JOIN @rules AS r ON r.section = m.section AND r.name = m.name
    WHERE m.section = N'need'
        AND m.json IS NOT NULL;
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, m.path, N'want at most 400 characters'
    FROM @members AS m
    WHERE m.section = N'plan'
        AND m.name = N'preflight_options'
        AND m.json IS NOT NULL
        AND LEN(@needs) > 400;
    -- Members that do not go together.
    -- plan: a plan has few waves
    WITH chosen AS (
        SELECT
            w.wave,
            COUNT(r.position) AS number,
            STRING_AGG(r.name, N' and ') WITHIN GROUP (ORDER BY r.position) AS names
        FROM @waves AS w
        LEFT JOIN @rules AS r ON r.section = N'wave'
            AND r.name IN (N'targets', N'names', N'like', N'tags')
            AND EXISTS (SELECT 1 FROM @members AS m WHERE m.wave = w.wave AND m.name = r.name AND m.type > 0)
        WHERE w.type = 5
        GROUP BY w.wave
    )
    INSERT INTO @faults (wave, place, path, message)
    SELECT
        c.wave, 0, CONCAT(N'waves[', c.wave, N']'), CONCAT(N'want one of targets, names, like and tags, not ', COALESCE(c.names, N'none'))
    FROM chosen AS c
    WHERE c.number <> 1;
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, m.path, CASE m.name
        WHEN N'targets' THEN N'the rest is the last wave, and other waves follow: want this wave last'
        WHEN N'name' THEN N'another wave has this name already: names must differ in more than case'
        WHEN N'order_tag' THEN N'want "order": "tag" beside it, or no order_tag'
        WHEN N'preflight_options' THEN N'want "preflight": "refuse", "warn" or "leave_out" beside it, or no preflight_options'
        WHEN N'probe_every_seconds' THEN N'want probe_job and bake_seconds beside it, or no probe_every_seconds'
        WHEN N'allow_empty' THEN N'want names, like or tags beside it, or no allow_empty'
        ELSE N'want another job than the one that is rolled out'
    END
    FROM @members AS m
    WHERE m.json IS NOT NULL
        AND (
            (m.name = N'targets' AND m.json = N'"rest"' AND m.wave < @last)
            OR (m.name = N'name' AND EXISTS (
                SELECT 1
                FROM @members AS b
                WHERE b.wave BETWEEN 0 AND m.wave - 1
                    AND b.name = N'name'
                    AND b.value COLLATE Latin1_General_100_CI_AS = m.value
            ))
            OR (m.name = N'order_tag' AND NOT EXISTS (
                SELECT 1 FROM @members AS b WHERE b.wave = m.wave AND b.name = N'order' AND (b.json = N'"tag"' OR b.json IS NULL)
            ))
            OR (m.name = N'preflight_options' AND NOT EXISTS (
                SELECT 1
                FROM @members AS b
                WHERE b.section = N'plan'
                    AND b.name = N'preflight'
                    AND b.type > 0
                    AND COALESCE(b.json, N'') <> N'"none"'
            ))
            OR (m.name = N'probe_every_seconds' AND (
                NOT EXISTS (SELECT 1 FROM @members AS b WHERE b.wave = m.wave AND b.name = N'probe_job' AND b.type > 0)
                OR NOT EXISTS (
                    SELECT 1
                    FROM @members AS b
                    WHERE b.wave = m.wave
                        AND b.name = N'bake_seconds'
                        AND b.type > 0
                        AND COALESCE(b.json, N'') <> N'0'
                )
            ))
            OR (m.name IN (N'probe_job', N'undo_job') AND m.value COLLATE DATABASE_DEFAULT = @job_name)
            OR (m.name = N'allow_empty' AND m.json = N'true' AND NOT EXISTS (
                SELECT 1
                FROM @members AS b
                WHERE b.wave = m.wave
                    AND b.name IN (N'names', N'like', N'tags')
                    AND b.type > 0
            ))
        );
    -- What limits a probe.
    -- plan: a plan has few members
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, m.path, CASE
        WHEN j.has_job = 0 THEN CONCAT(N'want probe_job beside it, or no ', m.name)
        WHEN m.name = N'probe_max_rows'
            THEN N'a probe that returns no row has no number: want 1 or more, or no limit of the number beside it'
        ELSE CONCAT(N'want at least ', REPLACE(m.name, N'_max_', N'_min_'))
    END
    FROM @members AS m
    CROSS APPLY (
        SELECT CASE
            WHEN EXISTS (SELECT 1 FROM @members AS b WHERE b.wave = m.wave AND b.name = N'probe_job' AND b.type > 0) THEN 1
            ELSE 0
        END AS has_job
    ) AS j
    WHERE m.json IS NOT NULL
        AND m.name IN (N'probe_max_rows', N'probe_min_value', N'probe_max_value', N'probe_min_percent', N'probe_max_percent')
        AND (
            j.has_job = 0
            OR (m.name = N'probe_max_rows' AND m.json = N'0' AND EXISTS (
                SELECT 1
                FROM @members AS b
                WHERE b.wave = m.wave
                    AND b.name IN (N'probe_min_value', N'probe_max_value', N'probe_min_percent', N'probe_max_percent')
                    AND b.type > 0
            ))
            OR (m.name IN (N'probe_max_value', N'probe_max_percent') AND EXISTS (
                SELECT 1
                FROM @members AS b
                WHERE b.wave = m.wave
                    AND b.name = REPLACE(m.name, N'_max_', N'_min_')
                    AND TRY_CAST(b.json AS BIGINT) > TRY_CAST(m.json AS BIGINT)
            ))
        );
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, CONCAT(N'waves[', m.wave, N'].order_tag'), N'missing: want the name of the tag'
    FROM @members AS m
    WHERE m.name = N'order'
        AND m.json = N'"tag"'
        AND NOT EXISTS (SELECT 1 FROM @members AS b WHERE b.wave = m.wave AND b.name = N'order_tag' AND b.type > 0);
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, m.path, CONCAT(
        N'the job ''', m.value, N''' does not exist, or is a system job: want a job that the view jobs.jobs lists'
    )
    FROM @members AS m
    WHERE m.name IN (N'probe_job', N'undo_job')
        AND m.json IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j
            WHERE j.name = m.value COLLATE DATABASE_DEFAULT
                AND j.deleted_at IS NULL
                AND j.is_system = 0
        );
    INSERT INTO @faults (wave, place, path, message)
    SELECT m.wave, m.member_id, m.path, CONCAT(
        N'the calendar ''', m.value, N''' does not exist: want a calendar that the view jobs.calendars lists'
    )
    FROM @members AS m
    WHERE m.name = N'window'
        AND m.json IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.calendars AS c WHERE c.name = m.value COLLATE DATABASE_DEFAULT);

    -- One filter after the other: there are few.
    SET @member = (SELECT MIN(m.member_id) FROM @members AS m WHERE m.section = N'wave' AND m.name = N'tags' AND m.json IS NOT NULL);
    WHILE @member IS NOT NULL
    BEGIN
        SET @filter = (SELECT m.value FROM @members AS m WHERE m.member_id = @member);
        EXECUTE jobs_internal.parse_tag_filter @filter = @filter, @fault = @filter_fault OUTPUT;
        IF @filter_fault IS NOT NULL
            INSERT INTO @faults (wave, place, path, message)
            SELECT m.wave, m.member_id, m.path, @filter_fault
            FROM @members AS m
            WHERE m.member_id = @member;
        SET @member = (
            SELECT MIN(m.member_id)
            FROM @members AS m
            WHERE m.section = N'wave'
                AND m.name = N'tags'
                AND m.json IS NOT NULL
                AND m.member_id > @member
        );
    END;

    SELECT @total = COUNT(*)
    FROM @faults AS f;
    IF @total > 0
    BEGIN
        -- A word stands for another one if these are equal but for case, hyphens and underscores (0); or if one begins with the other, or
        -- one letter is missing, superfluous, different or at another place (1). Where two are equally near, there is no proposal.
        WITH numbers AS (
            SELECT n.n
            FROM (VALUES
                (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16), (17), (18), (19), (20)
            ) AS n (n)
        ),
        pairs AS (
            SELECT
                f.fault_id,
                REPLACE(REPLACE(f.word, N'-', N''), N'_', N'') COLLATE Latin1_General_100_CI_AS AS word,
                REPLACE(c.value, N'_', N'') COLLATE Latin1_General_100_CI_AS AS plain,
                c.value
            FROM @faults AS f
            CROSS APPLY STRING_SPLIT(f.choices, N',') AS c
            WHERE f.word IS NOT NULL
                AND f.fault_id <= 20
        ),
        distances AS (
            SELECT
                p.fault_id,
                p.value,
                CASE
                    WHEN p.word = p.plain THEN 0
                    WHEN LEN(p.word) >= 3 AND LEFT(p.plain, LEN(p.word)) = p.word THEN 1
                    WHEN LEN(p.word) <= LEN(p.plain) + 2 AND LEFT(p.word, LEN(p.plain)) = p.plain THEN 1
                    WHEN LEN(p.word) >= 3 AND EXISTS (
                        SELECT 1
                        FROM numbers AS a
                        CROSS JOIN numbers AS b
                        WHERE REPLACE(STUFF(p.word + N'|', a.n, 1, N''), N'|', N'') = REPLACE(STUFF(p.plain + N'|', b.n, 1, N''), N'|', N'')
                    ) THEN 1
                END AS distance
            FROM pairs AS p
        ),
        nearest AS (
            SELECT
                d.fault_id, d.value, d.distance,
                MIN(d.distance) OVER (PARTITION BY d.fault_id) AS least,
                COUNT(*) OVER (PARTITION BY d.fault_id, d.distance) AS number
            FROM distances AS d
            WHERE d.distance IS NOT NULL
        )
        UPDATE f
        SET f.near = n.value
        FROM @faults AS f
        INNER JOIN nearest AS n ON n.fault_id = f.fault_id
        WHERE n.distance = n.least
            AND n.number = 1;

        -- As many faults as the message has room for.
        WITH texts AS (
            SELECT
                ROW_NUMBER() OVER (ORDER BY f.wave, f.place, f.fault_id) AS number,
                CONCAT(f.path, N': ', f.message, N'; did you mean "' + f.near + N'"?', CASE WHEN f.near IS NULL THEN N'.' END) AS text
            FROM @faults AS f
        ),
        measured AS (
            SELECT
                t.number,
                t.text,
                SUM(LEN(REPLACE(t.text, N'%', N'%%')) + 6) OVER (ORDER BY t.number ROWS UNBOUNDED PRECEDING) AS length
            FROM texts AS t
        )
        SELECT
            @shown = COUNT(*),
            @list = STRING_AGG(
                CONCAT(CAST(N'' AS NVARCHAR(MAX)), CASE WHEN @total > 1 THEN CONCAT(m.number, N'. ') END, m.text), N' '
            ) WITHIN GROUP (ORDER BY m.number)
        FROM measured AS m
        WHERE m.length <= 1950;
        SET @message = REPLACE(CONCAT(
            N'Invalid @plan, ', @total, CASE WHEN @total = 1 THEN N' fault. ' ELSE N' faults. ' END,
            @list, N' And ' + CAST(NULLIF(@total - @shown, 0) AS NVARCHAR(12)) + N' more.'
        ), N'%', N'%%');
        THROW 50404, @message, 1;
    END;

    -- plan: a plan has few members
    WITH waves AS (
        SELECT
            w.wave,
            CONCAT(N'{', STRING_AGG(
                CONCAT(CAST(N'"' AS NVARCHAR(MAX)), r.name, N'":', COALESCE(m.json, r.fallback)), N','
            ) WITHIN GROUP (ORDER BY r.position), N'}') AS json
        FROM @waves AS w
        INNER JOIN @rules AS r ON r.section = N'wave'
        LEFT JOIN @members AS m ON m.wave = w.wave AND m.name = r.name
        GROUP BY w.wave
    )
    SELECT @array = CONCAT(N'[', STRING_AGG(w.json, N',') WITHIN GROUP (ORDER BY w.wave), N']')
    FROM waves AS w;
    -- plan: a plan has few members
    SELECT @stored = CONCAT(N'{', STRING_AGG(
        CONCAT(
            CAST(N'"' AS NVARCHAR(MAX)), r.name, N'":', CASE
                WHEN r.name = N'waves' THEN @array
                WHEN r.name = N'preflight_options' AND m.json IS NOT NULL THEN @needs
                ELSE COALESCE(m.json, r.fallback)
            END
        ), N','
    ) WITHIN GROUP (ORDER BY r.position), N'}')
    FROM @rules AS r
    LEFT JOIN @members AS m ON m.section = N'plan' AND m.name = r.name
    WHERE r.section = N'plan';
    RETURN 0;
END;
