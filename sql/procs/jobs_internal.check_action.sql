-- Checks the definition of an action: all faults that T-SQL can see, each with the path of its member, in one error. The
-- package jobs/action reads definitions and finds all faults; an agent refuses what passes here and is still at fault.
-- Secrets must not stand in a definition (I9): they are templates $(secret.NAME).
--
-- Parameters:
--   @command_type  The type of the command, in its canonical spelling. TSql is not checked.
--   @command       The definition.
-- Called by: jobs_internal.store_step, jobs_internal.set_rest_step, jobs_internal.check_alert_channel, jobs.sp_set_scheduler_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50058 the definition is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_action
    @command_type NVARCHAR(50),
    @command      NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @total INT;
    DECLARE @shown INT;
    DECLARE @list NVARCHAR(MAX);
    DECLARE @least_queue INT;
    DECLARE @family NVARCHAR(50) = CASE WHEN @command_type LIKE N'ServiceBus%' THEN N'ServiceBus' ELSE @command_type END;
    DECLARE @control NVARCHAR(20) = CONCAT(N'%[', NCHAR(1), N'-', NCHAR(8), NCHAR(10), N'-', NCHAR(31), NCHAR(127), N']%');
    DECLARE @bad_url NVARCHAR(20) = CONCAT(N'%[', NCHAR(1), N'-', NCHAR(32), NCHAR(127), N'\]%');
    DECLARE @bad_token NVARCHAR(50) = N'%[^A-Za-z0-9!#$%&''*+.^_`|~-]%';
    DECLARE @secret NVARCHAR(200) = N'a secret in clear text: want $(secret.NAME), with the value stored by "jobagent secret set NAME" '
        + N'or in the agent''s configuration, or a credential of the step';
    -- Values of the definition that the checks below read, if they are texts.
    DECLARE @auth_kind NVARCHAR(100);
    DECLARE @method NVARCHAR(MAX);
    -- The members of the definition, of its objects, and the elements of its lists. The body and other free values are not divided.
    DECLARE @members TABLE (
        member_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        section   NVARCHAR(50) NOT NULL, -- empty: the definition itself; name[] for elements of a list, header for one of headers
        parent    NVARCHAR(400) NOT NULL,
        name      NVARCHAR(400) COLLATE Latin1_General_BIN2 NOT NULL,
        path      NVARCHAR(1000) NOT NULL,
        value     NVARCHAR(MAX) NULL,
        type      TINYINT NOT NULL -- as in OPENJSON: 0 null, 1 string, 2 number, 3 true or false, 4 array, 5 object
    );
    -- The members that a definition of this type may have. types has a bit for each accepted type of JSON: 2 string, 4 number,
    -- 8 true or false, 16 array, 32 object; 62: any value.
    DECLARE @rules TABLE (
        section     NVARCHAR(50) NOT NULL,
        name        NVARCHAR(100) COLLATE Latin1_General_BIN2 NOT NULL,
        types       TINYINT NOT NULL,
        is_required BIT NOT NULL,
        is_secret   BIT NOT NULL,
        lowest      BIGINT NULL,
        highest     BIGINT NULL,
        choices     NVARCHAR(200) NULL,
        PRIMARY KEY (section, name)
    );
    DECLARE @faults TABLE (
        fault_id INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        path     NVARCHAR(1000) NOT NULL,
        message  NVARCHAR(400) NOT NULL
    );

    IF @command_type = N'TSql'
        RETURN 0;
    IF ISJSON(@command) = 0 OR LEFT(LTRIM(REPLACE(REPLACE(REPLACE(@command, NCHAR(9), N' '), NCHAR(10), N' '), NCHAR(13), N' ')), 1) <> N'{'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @command of a step of type ', @command_type, N', 1 fault. $: invalid value: want a JSON object.'
        ), N'%', N'%%');
        THROW 50058, @message, 1;
    END;

    INSERT INTO @members (section, parent, name, path, value, type)
    SELECT N'', N'$', LEFT(o.[key], 400), CONCAT(N'$', n.suffix), o.value, o.type
    FROM OPENJSON(@command) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] LIKE N'[0-9]%' OR o.[key] LIKE N'%[^A-Za-z0-9_]%' -- keys have the collation Latin1_General_BIN2
                THEN CONCAT(N'."', LEFT(o.[key], 400) COLLATE DATABASE_DEFAULT, N'"')
            ELSE CONCAT(N'.', LEFT(o.[key], 400) COLLATE DATABASE_DEFAULT)
        END AS suffix
    ) AS n;
    INSERT INTO @members (section, parent, name, path, value, type)
    SELECT m.name, m.path, LEFT(o.[key], 400), CONCAT(m.path, n.suffix), o.value, o.type
    FROM @members AS m
    CROSS APPLY OPENJSON(CASE WHEN m.type = 5 THEN m.value ELSE N'{}' END) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] LIKE N'[0-9]%' OR o.[key] LIKE N'%[^A-Za-z0-9_]%' -- keys have the collation Latin1_General_BIN2
                THEN CONCAT(N'."', LEFT(o.[key], 400) COLLATE DATABASE_DEFAULT, N'"')
            ELSE CONCAT(N'.', LEFT(o.[key], 400) COLLATE DATABASE_DEFAULT)
        END AS suffix
    ) AS n
    WHERE m.section = N''
        AND m.type = 5
        AND m.name IN (N'headers', N'success', N'auth', N'callback', N'broker_properties');
    INSERT INTO @members (section, parent, name, path, value, type)
    SELECT
        CONCAT(m.name COLLATE DATABASE_DEFAULT, N'[]'), m.path, o.[key], CONCAT(m.path, N'[', o.[key] COLLATE DATABASE_DEFAULT, N']'),
        o.value, o.type
    FROM @members AS m
    CROSS APPLY OPENJSON(CASE WHEN m.type = 4 THEN m.value ELSE N'[]' END) AS o
    WHERE m.type = 4
        AND (
            (m.section = N'' AND m.name IN (N'headers', N'endpoints', N'args', N'include', N'ignore', N'exclude'))
            OR (m.section = N'auth' AND m.name = N'keys')
        );
    INSERT INTO @members (section, parent, name, path, value, type)
    SELECT N'header', m.path, LEFT(o.[key], 400), CONCAT(m.path, N'.', LEFT(o.[key], 400) COLLATE DATABASE_DEFAULT), o.value, o.type
    FROM @members AS m
    CROSS APPLY OPENJSON(CASE WHEN m.type = 5 THEN m.value ELSE N'{}' END) AS o
    WHERE m.section = N'headers[]'
        AND m.type = 5;

    SET @auth_kind = (SELECT TOP (1) m.value FROM @members AS m WHERE m.section = N'auth' AND m.name = N'kind' AND m.type = 1);
    SET @method = (SELECT TOP (1) m.value FROM @members AS m WHERE m.section = N'' AND m.name = N'method' AND m.type = 1);
    SET @method = COALESCE(@method, N'POST');

    INSERT INTO @rules (section, name, types, is_required, is_secret, lowest, highest, choices)
    SELECT r.section, r.name, r.types, r.is_required, r.is_secret, r.lowest, r.highest, r.choices
    FROM (VALUES
        (N'Http', N'', N'method', 2, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'url', 2, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'endpoints', 16, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'headers', 48, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'body', 62, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'body_base64', 2, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'payload', 2, 0, 0, NULL, NULL, N'query,body'),
        (N'Http', N'', N'success', 34, 0, 0, NULL, NULL, N'webhook,azure,sap'),
        (N'Http', N'', N'follow_redirects', 4, 0, 0, 0, 5, NULL),
        (N'Http', N'', N'allow_http', 8, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'response_timeout_seconds', 4, 0, 0, 1, 3600, NULL),
        (N'Http', N'', N'capture_headers', 16, 0, 0, NULL, NULL, NULL),
        (N'Http', N'', N'auth', 32, 0, 0, NULL, NULL, NULL),
        (N'*', N'', N'callback', 40, 0, 0, NULL, NULL, NULL),
        (N'*', N'callback', N'timeout_seconds', 4, 0, 0, 1, 2147483, NULL),
        (N'*', N'callback', N'only_202', 8, 0, 0, NULL, NULL, NULL),
        (N'Http', N'success', N'preset', 2, 0, 0, NULL, NULL, N'webhook,azure,sap'),
        (N'Http', N'success', N'status', 16, 0, 0, NULL, NULL, NULL),
        (N'Http', N'success', N'body_matches', 2, 0, 0, NULL, NULL, NULL),
        (N'Http', N'success', N'body_fails_on', 2, 0, 0, NULL, NULL, NULL),
        (N'Http', N'header', N'name', 2, 1, 0, NULL, NULL, NULL),
        (N'Http', N'header', N'value', 2, 0, 0, NULL, NULL, NULL), -- may be empty, but not missing: see below
        (
            N'auth', N'auth', N'kind', 2, 1, 0, NULL, NULL,
            N'basic,api-key,bearer,oauth2-client-credentials,client-certificate,standard-webhooks'
        ),
        (N'auth basic', N'auth', N'username', 2, 1, 0, NULL, NULL, NULL),
        (N'auth basic', N'auth', N'password', 2, 1, 1, NULL, NULL, NULL),
        (N'auth api-key', N'auth', N'header', 2, 0, 0, NULL, NULL, NULL),
        (N'auth api-key', N'auth', N'value', 2, 1, 1, NULL, NULL, NULL),
        (N'auth bearer', N'auth', N'token', 2, 1, 1, NULL, NULL, NULL),
        (N'auth oauth2-client-credentials', N'auth', N'token_url', 2, 1, 0, NULL, NULL, NULL),
        (N'auth oauth2-client-credentials', N'auth', N'client_id', 2, 1, 0, NULL, NULL, NULL),
        (N'auth oauth2-client-credentials', N'auth', N'client_secret', 2, 1, 1, NULL, NULL, NULL),
        (N'auth oauth2-client-credentials', N'auth', N'scope', 2, 0, 0, NULL, NULL, NULL),
        (N'auth oauth2-client-credentials', N'auth', N'audience', 2, 0, 0, NULL, NULL, NULL),
        (N'auth client-certificate', N'auth', N'certificate', 2, 1, 1, NULL, NULL, NULL),
        (N'auth standard-webhooks', N'auth', N'keys', 16, 1, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'account', 2, 1, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'queue', 2, 1, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'message', 62, 1, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'sas_token', 2, 0, 1, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'time_to_live_seconds', 4, 0, 0, -1, 2147483647, NULL),
        (N'StorageQueue', N'', N'visibility_timeout_seconds', 4, 0, 0, 0, 604800, NULL),
        (N'StorageQueue', N'', N'encoding', 2, 0, 0, NULL, NULL, N'text,base64'),
        (N'StorageQueue', N'', N'envelope', 2, 0, 0, NULL, NULL, N'azure-scheduler'),
        (N'StorageQueue', N'', N'envelope_collection', 2, 0, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'envelope_region', 2, 0, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'key_property', 2, 0, 0, NULL, NULL, NULL),
        (N'StorageQueue', N'', N'allow_http', 8, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'namespace', 2, 1, 0, NULL, NULL, NULL),
        (N'ServiceBusQueue', N'', N'queue', 2, 1, 0, NULL, NULL, NULL),
        (N'ServiceBusTopic', N'', N'topic', 2, 1, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'message', 62, 1, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'content_type', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'transport', 2, 0, 0, NULL, NULL, N'https,amqp'),
        (N'ServiceBus', N'', N'key_name', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'key', 2, 0, 1, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'properties', 32, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'', N'broker_properties', 32, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'correlation_id', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'force_persistence', 8, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'label', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'message_id', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'partition_key', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'reply_to', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'reply_to_session_id', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'scheduled_enqueue_time', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'session_id', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'time_to_live_seconds', 4, 0, 0, 1, 2147483647, NULL),
        (N'ServiceBus', N'broker_properties', N'to', 2, 0, 0, NULL, NULL, NULL),
        (N'ServiceBus', N'broker_properties', N'via_partition_key', 2, 0, 0, NULL, NULL, NULL),
        (N'Process', N'', N'entry', 2, 1, 0, NULL, NULL, NULL),
        (N'Process', N'', N'args', 16, 0, 0, NULL, NULL, NULL),
        (N'Process', N'', N'input', 62, 0, 0, NULL, NULL, NULL),
        (N'Process', N'', N'success_codes', 16, 0, 0, NULL, NULL, NULL),
        (N'Process', N'', N'max_memory_bytes', 4, 0, 0, 1048576, 1125899906842624, NULL),
        (N'Process', N'', N'output_limit_bytes', 4, 0, 0, 1, 1099511627776, NULL),
        (N'Process', N'', N'on_output_limit', 2, 0, 0, NULL, NULL, N'truncate,halt'),
        (N'Drift', N'', N'against', 2, 1, 0, NULL, NULL, NULL),
        (N'Drift', N'', N'include', 16, 0, 0, NULL, NULL, NULL),
        (N'Drift', N'', N'ignore', 16, 0, 0, NULL, NULL, NULL),
        (N'Drift', N'', N'exclude', 16, 0, 0, NULL, NULL, NULL)
    ) AS r (family, section, name, types, is_required, is_secret, lowest, highest, choices)
    WHERE r.family IN (CASE WHEN @family <> N'Drift' THEN N'*' END, @family, @command_type)
        OR (@family = N'Http' AND r.family IN (N'auth', CONCAT(N'auth ', @auth_kind)));

    -- Unknown and repeated members. The members of auth are known only if its kind is.
    INSERT INTO @faults (path, message)
    SELECT m.path, N'unknown member'
    FROM @members AS m
    WHERE m.section IN (N'', N'callback', N'success', N'auth', N'header', N'broker_properties')
        AND (m.section <> N'auth' OR EXISTS (SELECT 1 FROM @rules AS k WHERE k.section = N'auth' AND k.name <> N'kind'))
        AND NOT EXISTS (SELECT 1 FROM @rules AS r WHERE r.section = m.section AND r.name = m.name);
    INSERT INTO @faults (path, message)
    SELECT m.path, N'the member occurs twice'
    FROM @members AS m
    WHERE m.section NOT LIKE N'%[[]]'
    GROUP BY m.parent, m.path, m.name
    HAVING COUNT(*) > 1;

    -- Types, choices and numbers.
    WITH typed AS (
        SELECT
            m.path, m.value, m.type, r.types, r.lowest, r.highest, r.choices, r.is_secret,
            CASE WHEN m.type > 0 AND r.types & POWER(2, m.type) = 0 THEN 1 ELSE 0 END AS is_other
        FROM @members AS m
        INNER JOIN @rules AS r ON r.section = m.section AND r.name = m.name
        UNION ALL
        SELECT
            m.path, m.value, m.type, 2, NULL, NULL, NULL,
            CASE WHEN m.section = N'keys[]' THEN 1 ELSE 0 END,
            CASE WHEN m.type <> 1 THEN 1 ELSE 0 END
        FROM @members AS m
        WHERE m.section IN (N'headers', N'endpoints[]', N'args[]', N'keys[]', N'include[]', N'ignore[]', N'exclude[]')
    )
    INSERT INTO @faults (path, message)
    SELECT
        t.path,
        CASE
            WHEN t.is_other = 1 THEN CONCAT(
                N'invalid value: want ',
                CASE t.types
                    WHEN 2 THEN N'a string'
                    WHEN 4 THEN N'a number'
                    WHEN 8 THEN N'true or false'
                    WHEN 16 THEN N'an array'
                    WHEN 32 THEN N'an object'
                    WHEN 34 THEN N'webhook, azure, sap or an object'
                    WHEN 40 THEN N'true, false or an object'
                    ELSE N'an object or an array'
                END,
                N', not ',
                CASE t.type
                    WHEN 0 THEN N'null'
                    WHEN 1 THEN N'a string'
                    WHEN 2 THEN N'a number'
                    WHEN 3 THEN N'true or false'
                    WHEN 4 THEN N'an array'
                    ELSE N'an object'
                END
            )
            WHEN t.type = 2 THEN CONCAT(
                N'invalid number ', LEFT(t.value, 40), N': want a whole number from ', t.lowest, N' to ', t.highest
            )
            WHEN t.is_secret = 1 THEN @secret
            ELSE CONCAT(N'invalid value "', LEFT(t.value, 40), N'": want ', REPLACE(t.choices, N',', N', '))
        END
    FROM typed AS t
    WHERE t.is_other = 1
        OR (t.type = 2
            AND t.lowest IS NOT NULL
            AND t.value NOT LIKE N'%[eE]%'
            AND (TRY_CAST(t.value AS BIGINT) IS NULL OR TRY_CAST(t.value AS BIGINT) NOT BETWEEN t.lowest AND t.highest))
        OR (t.type = 1 AND t.is_secret = 1 AND t.value <> N'' AND CHARINDEX(N'$(secret.', t.value COLLATE Latin1_General_100_CI_AS) = 0)
        -- LEFT: the text to find of more than 8,000 bytes is an error, also in a row that another condition excludes
        -- (https://learn.microsoft.com/sql/t-sql/functions/charindex-transact-sql). No choice is as long as this.
        OR (t.type = 1
            AND t.value <> N''
            AND CHARINDEX(N',' + LEFT(t.value, 400) + N',', N',' + t.choices + N',' COLLATE Latin1_General_100_CI_AS) = 0);

    -- Missing members: of the definition, of auth, and of each header.
    WITH parents AS (
        SELECT N'' AS section, CAST(N'$' AS NVARCHAR(1000)) AS path
        UNION ALL
        SELECT CASE WHEN m.section = N'' THEN N'auth' ELSE N'header' END, m.path
        FROM @members AS m
        WHERE m.type = 5
            AND ((m.section = N'' AND m.name = N'auth') OR m.section = N'headers[]')
    )
    INSERT INTO @faults (path, message)
    SELECT
        CONCAT(p.path, N'.', r.name COLLATE DATABASE_DEFAULT),
        CASE
            WHEN r.name = N'kind' THEN CONCAT(N'missing: want ', REPLACE(r.choices, N',', N', '))
            WHEN r.types = 62 THEN N'missing: want a text or a JSON value'
            WHEN r.types = 16 THEN N'missing: want a list of at least one secret'
            ELSE N'missing: want a text'
        END
    FROM parents AS p
    INNER JOIN @rules AS r ON r.section = p.section
    WHERE (r.is_required = 1 OR (r.section = N'header' AND r.name = N'value'))
        AND NOT EXISTS (
            SELECT 1
            FROM @members AS m
            WHERE m.parent = p.path
                AND m.section = r.section
                AND m.name = r.name
                AND m.type > 0
                AND (r.is_required = 0 OR m.type <> 1 OR m.value <> N'' OR r.types = 62)
                AND (m.type <> 4 OR EXISTS (SELECT 1 FROM OPENJSON(CASE WHEN m.type = 4 THEN m.value ELSE N'[]' END) AS e))
        );

    IF @family = N'Http'
    BEGIN
        INSERT INTO @faults (path, message)
        SELECT N'$.url', N'missing: want a URL, or the member endpoints'
        WHERE NOT EXISTS (
            SELECT 1
            FROM @members AS m
            WHERE m.section = N''
                AND m.name IN (N'url', N'endpoints')
                AND m.type > 0
                AND (m.type <> 1 OR m.value <> N'')
        );
        INSERT INTO @faults (path, message)
        SELECT m.path, N'the definition has a url, too: want one of the two'
        FROM @members AS m
        WHERE m.section = N''
            AND m.name = N'endpoints'
            AND m.type > 0
            AND EXISTS (SELECT 1 FROM @members AS u WHERE u.section = N'' AND u.name = N'url' AND u.type = 1 AND u.value <> N'');

        -- Addresses. A text with templates is checked as far as they do not matter.
        WITH addresses AS (
            SELECT
                m.path,
                m.value,
                CASE WHEN CHARINDEX(N'$(', m.value) > 0 THEN 1 ELSE 0 END AS has_template,
                CASE
                    WHEN m.value COLLATE Latin1_General_100_CI_AS LIKE N'https://%' THEN 9
                    WHEN m.value COLLATE Latin1_General_100_CI_AS LIKE N'http://%' THEN 8
                    ELSE 0
                END AS host_at
            FROM @members AS m
            WHERE m.type = 1
                AND m.value <> N''
                AND ((m.section = N'' AND m.name = N'url') OR m.section = N'endpoints[]')
        ),
        parts AS (
            SELECT
                a.path,
                a.value,
                a.has_template,
                a.host_at,
                SUBSTRING(a.value, a.host_at, PATINDEX(N'%[/?#]%', SUBSTRING(a.value, a.host_at, 4000) + N'/') - 1) AS authority,
                CHARINDEX(N'sig=', a.value COLLATE Latin1_General_100_CI_AS) AS sig_at
            FROM addresses AS a
        ),
        judged AS (
            SELECT
                p.path,
                CASE
                    WHEN p.has_template = 0 AND DATALENGTH(p.value) > 4096
                        THEN CONCAT(N'invalid text of ', DATALENGTH(p.value) / 2, N' bytes: want at most 2048')
                    WHEN p.host_at = 0 THEN N'invalid URL: want https://host/path, or http with allow_http'
                    WHEN PATINDEX(@bad_url, p.value COLLATE Latin1_General_BIN2) > 0
                        THEN N'invalid URL: want no blanks, backslashes and control characters'
                    WHEN CHARINDEX(N'#', p.value) > 0 THEN N'invalid URL: want no fragment (#)'
                    WHEN CHARINDEX(N'@', p.authority) > 0
                        THEN N'invalid URL: want no user and password before the host, but the member auth or a credential of the step'
                    WHEN p.host_at = 8 AND NOT EXISTS (
                        SELECT 1 FROM @members AS h WHERE h.section = N'' AND h.name = N'allow_http' AND h.value = N'true'
                    ) THEN N'invalid URL: want https, or the member "allow_http": true'
                    WHEN p.authority = N'' THEN N'invalid URL: want a host'
                    WHEN p.sig_at > 1
                        AND SUBSTRING(p.value, p.sig_at - 1, 1) IN (N'?', N'&')
                        AND SUBSTRING(p.value, p.sig_at + 4, 1) NOT IN (N'', N'&')
                        AND CHARINDEX(N'$(secret.', SUBSTRING(p.value, p.sig_at + 4, 4000) COLLATE Latin1_General_100_CI_AS) = 0
                        THEN CONCAT(N'the parameter sig is ', @secret)
                END AS message
            FROM parts AS p
        )
        INSERT INTO @faults (path, message)
        SELECT j.path, j.message
        FROM judged AS j
        WHERE j.message IS NOT NULL;

        INSERT INTO @faults (path, message)
        SELECT N'$.method', CONCAT(
            N'invalid method "', LEFT(@method, 40), N'": want GET, HEAD, POST, PUT, PATCH, DELETE or another method of HTTP'
        )
        WHERE @method = N''
            OR PATINDEX(@bad_token, @method COLLATE Latin1_General_BIN2) > 0
            OR LEN(@method) > 32
            OR @method COLLATE Latin1_General_100_CI_AS = N'CONNECT';

        INSERT INTO @faults (path, message)
        SELECT m.path, CASE
            WHEN m.name = N'body_base64' THEN N'the definition has a body, too: want one of the two'
            WHEN @method COLLATE Latin1_General_100_CI_AS IN (N'GET', N'HEAD') AND m.name = N'payload'
                THEN CONCAT(N'a request with the method ', @method, N' has no body: want "query"')
            WHEN m.name = N'payload' THEN N'the request has a body already: want "query", or no member body'
            WHEN @method COLLATE Latin1_General_100_CI_AS IN (N'GET', N'HEAD')
                THEN CONCAT(N'a request with the method ', @method, N' has no body: want another method, or "payload": "query"')
            ELSE CONCAT(N'invalid text of ', DATALENGTH(m.value) / 2, N' bytes: want at most 262144')
        END
        FROM @members AS m
        WHERE m.section = N''
            AND m.type > 0
            AND (
                (m.name = N'body_base64'
                    AND EXISTS (SELECT 1 FROM @members AS b WHERE b.section = N'' AND b.name = N'body' AND b.type > 0))
                OR (m.name = N'payload'
                    AND m.value COLLATE Latin1_General_100_CI_AS = N'body'
                    AND (@method COLLATE Latin1_General_100_CI_AS IN (N'GET', N'HEAD') OR EXISTS (
                        SELECT 1 FROM @members AS b WHERE b.section = N'' AND b.name = N'body' AND b.type > 0 AND b.value <> N''
                    )))
                OR (m.name = N'body' AND m.value <> N'' AND @method COLLATE Latin1_General_100_CI_AS IN (N'GET', N'HEAD'))
                OR (m.name = N'body' AND m.type = 1 AND CHARINDEX(N'$(', m.value) = 0 AND DATALENGTH(m.value) > 2 * 262144)
            );

        -- Headers, from both forms.
        -- plan: a definition has few members
        WITH headers AS (
            SELECT m.name COLLATE DATABASE_DEFAULT AS name, m.path AS name_path, m.value, m.path AS value_path
            FROM @members AS m
            WHERE m.section = N'headers'
                AND m.type = 1
            UNION ALL
            SELECT n.value, n.path, v.value, CONCAT(n.parent, N'.value')
            FROM @members AS n
            LEFT JOIN @members AS v ON v.parent = n.parent AND v.section = N'header' AND v.name = N'value' AND v.type = 1
            WHERE n.section = N'header'
                AND n.name = N'name'
                AND n.type = 1
                AND n.value <> N''
        ),
        judged AS (
            SELECT
                h.name_path AS path,
                CASE
                    WHEN h.name = N'' OR PATINDEX(@bad_token, h.name COLLATE Latin1_General_BIN2) > 0
                        THEN CONCAT(N'invalid header name "', LEFT(h.name, 40), N'": want letters, digits and hyphens')
                    WHEN h.name COLLATE Latin1_General_100_CI_AS IN (
                        N'host', N'content-length', N'transfer-encoding', N'connection', N'upgrade', N'te', N'trailer', N'traceparent',
                        N'tracestate', N'idempotency-key'
                    )
                        OR h.name COLLATE Latin1_General_100_CI_AS LIKE N'proxy-%'
                        OR h.name COLLATE Latin1_General_100_CI_AS LIKE N'webhook-%'
                        OR h.name COLLATE Latin1_General_100_CI_AS LIKE N'x-sap-%'
                        THEN CONCAT(N'invalid header name "', LEFT(h.name, 40), N'": the agent sets this header')
                END AS message
            FROM headers AS h
            UNION ALL
            SELECT
                h.value_path,
                CASE
                    WHEN PATINDEX(@control, h.value COLLATE Latin1_General_BIN2) > 0
                        OR CHARINDEX(NCHAR(0), h.value COLLATE Latin1_General_BIN2) > 0
                        THEN N'invalid value: want no line breaks and other control characters'
                    WHEN h.name COLLATE Latin1_General_100_CI_AS IN (N'authorization', N'cookie', N'x-functions-key', N'x-api-key')
                        AND CHARINDEX(N'$(secret.', h.value COLLATE Latin1_General_100_CI_AS) = 0
                        THEN @secret
                END
            FROM headers AS h
            UNION ALL
            SELECT
                N'$.headers',
                CASE
                    WHEN COUNT(*) > 50 THEN CONCAT(N'invalid list of ', COUNT(*), N' headers: want at most 50')
                    WHEN SUM(CASE WHEN CHARINDEX(N'$(', h.value) > 0 THEN 0 ELSE DATALENGTH(h.value) / 2 END + LEN(h.name)) > 8192
                        THEN N'invalid headers: want at most 8192 bytes together'
                END
            FROM headers AS h
        )
        INSERT INTO @faults (path, message)
        SELECT j.path, j.message
        FROM judged AS j
        WHERE j.message IS NOT NULL;

        INSERT INTO @faults (path, message)
        SELECT m.path, CASE
            WHEN m.name = N'status' THEN N'the rule has a preset, too: want one of the two'
            ELSE N'invalid value: with the preset sap, the answer 202 waits for a report; want true or an object'
        END
        FROM @members AS m
        WHERE (m.section = N'success'
                AND m.name = N'status'
                AND m.type > 0
                AND EXISTS (SELECT 1 FROM @members AS p WHERE p.section = N'success' AND p.name = N'preset' AND p.type > 0))
            OR (m.section = N''
                AND m.name = N'callback'
                AND m.type = 3
                AND m.value = N'false'
                AND EXISTS (
                    SELECT 1
                    FROM @members AS p
                    WHERE p.type = 1
                        AND p.value COLLATE Latin1_General_100_CI_AS = N'sap'
                        AND ((p.section = N'' AND p.name = N'success') OR (p.section = N'success' AND p.name = N'preset'))
                ));
    END;

    -- The other types. Texts with templates are checked by agents. A host may be an emulator, with rules of its own for names.
    SET @least_queue = CASE
        WHEN EXISTS (
            SELECT 1
            FROM @members AS m
            WHERE m.section = N''
                AND m.name = N'account'
                AND (CHARINDEX(N'.', m.value) > 0 OR CHARINDEX(N':', m.value) > 0)
        ) THEN 1
        ELSE 3
    END;
    INSERT INTO @faults (path, message)
    SELECT j.path, j.message
    FROM (
        SELECT
            m.path,
            CASE
                WHEN @family = N'StorageQueue' AND m.name = N'account'
                    AND CHARINDEX(N'.', m.value) = 0 AND CHARINDEX(N':', m.value) = 0
                    AND (LEN(m.value) NOT BETWEEN 3 AND 24 OR m.value LIKE N'%[^a-z0-9]%' COLLATE Latin1_General_BIN2)
                    THEN CONCAT(
                        N'invalid account "', LEFT(m.value, 40), N'": want 3 to 24 lower-case letters and digits, a host, or a URL'
                    )
                WHEN @family = N'StorageQueue' AND m.name = N'queue'
                    AND (LEN(m.value) NOT BETWEEN @least_queue AND 63 OR m.value LIKE N'%[^a-z0-9-]%' COLLATE Latin1_General_BIN2)
                    THEN CONCAT(
                        N'invalid queue name "', LEFT(m.value, 40), N'": want 3 to 63 lower-case letters, digits and single hyphens'
                    )
                WHEN @family = N'StorageQueue' AND m.name = N'message' AND m.type = 1 AND DATALENGTH(m.value) > 2 * 65536
                    THEN CONCAT(N'invalid text of ', DATALENGTH(m.value) / 2, N' encoded bytes: want at most 65536')
                WHEN @family = N'StorageQueue' AND m.name = N'time_to_live_seconds' AND m.type = 2 AND m.value = N'0'
                    THEN N'invalid number: want 1 or more, or -1 for a message that never expires'
                WHEN @family = N'ServiceBus' AND m.name = N'namespace' AND CHARINDEX(N'.', m.value) = 0
                    AND (LEN(m.value) NOT BETWEEN 6 AND 50
                        OR m.value LIKE N'%[^A-Za-z0-9-]%' COLLATE Latin1_General_BIN2
                        OR m.value NOT LIKE N'[A-Za-z]%' COLLATE Latin1_General_BIN2)
                    THEN CONCAT(
                        N'invalid namespace "', LEFT(m.value, 40),
                        N'": want 6 to 50 letters, digits and hyphens that begin with a letter, or a host'
                    )
                WHEN @family = N'ServiceBus' AND m.name = N'message' AND m.type = 1 AND DATALENGTH(m.value) > 2 * 1048576
                    THEN CONCAT(N'invalid text of ', DATALENGTH(m.value) / 2, N' bytes: want at most 1048576')
                WHEN @family = N'Process' AND m.name = N'entry'
                    AND (LEN(m.value) > 128
                        OR m.value LIKE N'%[^A-Za-z0-9._-]%' COLLATE Latin1_General_BIN2
                        OR m.value NOT LIKE N'[A-Za-z0-9]%' COLLATE Latin1_General_BIN2)
                    THEN CONCAT(
                        N'invalid entry "', LEFT(m.value, 40),
                        N'": want the name of an entry of the agent''s configuration, of letters, digits, dots, hyphens and underscores'
                    )
            END AS message
        FROM @members AS m
        WHERE m.section = N''
            AND m.type IN (1, 2)
            AND m.value <> N''
            AND (CHARINDEX(N'$(', m.value) = 0 OR m.name = N'entry')
    ) AS j
    WHERE j.message IS NOT NULL;
    IF @family = N'ServiceBus'
        INSERT INTO @faults (path, message)
        SELECT N'$.key', N'a shared access key has a name and a value: want both key_name and key, or a credential of the step'
        FROM @members AS m
        WHERE m.section = N''
            AND m.name IN (N'key', N'key_name')
            AND m.type = 1
            AND m.value <> N''
        HAVING COUNT(*) = 1;

    SELECT @total = COUNT(*)
    FROM @faults AS f;
    IF @total = 0
        RETURN 0;
    -- As many faults as the message has room for.
    WITH texts AS (
        SELECT
            f.fault_id,
            CONCAT(f.path, N': ', f.message, N'.') AS text,
            SUM(LEN(f.path) + LEN(f.message) + 4) OVER (ORDER BY f.fault_id ROWS UNBOUNDED PRECEDING) AS length
        FROM @faults AS f
    )
    SELECT
        @shown = COUNT(*),
        @list = STRING_AGG(CAST(x.text AS NVARCHAR(MAX)), N' ') WITHIN GROUP (ORDER BY x.fault_id)
    FROM texts AS x
    WHERE x.length <= 1800;
    SET @message = REPLACE(CONCAT(
        N'Invalid @command of a step of type ', @command_type, N', ', @total, CASE WHEN @total = 1 THEN N' fault. ' ELSE N' faults. ' END,
        @list, N' And ' + CAST(NULLIF(@total - @shown, 0) AS NVARCHAR(12)) + N' more.'
    ), N'%', N'%%');
    THROW 50058, @message, 1;
END;
