-- Checks the definition of a channel of alerts. The package agent/alerts reads definitions and finds all faults; a process refuses to
-- deliver what passes here and is still at fault. Secrets must not stand in a definition (I9): they are templates $(secret.NAME).
--
-- Parameters:
--   @channel_type  Receives the canonical spelling of the type.
--   @definition    The definition.
-- Called by: jobs_internal.store_alert_channel.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50044 the type or the definition is invalid.
--   50058 the definition of an action is invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_alert_channel
    @channel_type NVARCHAR(50) OUTPUT,
    @definition   NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @canonical_type NVARCHAR(50);
    DECLARE @is_action BIT;
    DECLARE @command NVARCHAR(MAX);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @rules TABLE (
        name        NVARCHAR(100) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        type        TINYINT NOT NULL, -- as in OPENJSON
        is_required BIT NOT NULL
    );

    SELECT
        @canonical_type = t.command_type,
        @is_action = t.is_step
    FROM jobs.command_types AS t
    WHERE t.is_channel = 1
        AND t.command_type = LTRIM(RTRIM(@channel_type)) COLLATE Latin1_General_100_CI_AS;
    SET @channel_type = @canonical_type;
    IF @channel_type IS NULL
    BEGIN
        -- plan: the view has one row
        SELECT @message = REPLACE(CONCAT(N'Invalid @channel_type: want ', l.channels, N'.'), N'%', N'%%')
        FROM jobs_internal.command_type_lists AS l;
        THROW 50044, @message, 1;
    END;
    IF @definition IS NULL OR ISJSON(@definition) = 0 OR LEFT(LTRIM(@definition), 1) <> N'{'
        THROW 50044, N'Invalid @definition: want a JSON object.', 1;

    IF @is_action = 1
    BEGIN
        -- The definition of an action of this type. Without a message, or a body, the notification is sent as JSON.
        SET @command = @definition;
        IF @channel_type <> N'Http'
            AND NOT EXISTS (SELECT 1 FROM OPENJSON(@definition) AS o WHERE o.[key] = N'message' COLLATE Latin1_General_BIN2)
            SET @command = JSON_MODIFY(@command, '$.message', N'$(payload)');
        EXECUTE jobs_internal.check_action @command_type = @channel_type, @command = @command;
        IF EXISTS (SELECT 1 FROM OPENJSON(@definition) AS o WHERE o.[key] = N'callback' COLLATE Latin1_General_BIN2)
            THROW 50044, N'Invalid @definition: $.callback: a channel has no callback.', 1;
        RETURN 0;
    END;

    INSERT INTO @rules (name, type, is_required)
    SELECT k.name, k.type, k.is_required
    FROM (VALUES
        (N'Mail', N'host', 1, 1),
        (N'Mail', N'port', 2, 0),
        (N'Mail', N'security', 1, 0),
        (N'Mail', N'username', 1, 0),
        (N'Mail', N'password', 1, 0),
        (N'Mail', N'from', 1, 1),
        (N'Mail', N'to', 4, 1),
        (N'Slack', N'url', 1, 1),
        (N'Teams', N'url', 1, 1),
        (N'Slack', N'allow_http', 3, 0),
        (N'Teams', N'allow_http', 3, 0)
    ) AS k (channel_type, name, type, is_required)
    WHERE k.channel_type = @channel_type;
    SELECT TOP (1) @fault = f.text
    FROM (
        SELECT 1 AS place, CONCAT(N'$.', LEFT(o.[key], 100) COLLATE DATABASE_DEFAULT, N': unknown member') AS text
        FROM OPENJSON(@definition) AS o
        WHERE NOT EXISTS (SELECT 1 FROM @rules AS r WHERE r.name = o.[key])
        UNION ALL
        SELECT 2, CONCAT(N'$.', r.name, N': the member is missing')
        FROM @rules AS r
        WHERE r.is_required = 1
            AND NOT EXISTS (SELECT 1 FROM OPENJSON(@definition) AS o WHERE o.[key] = r.name AND o.value <> N'')
        UNION ALL
        SELECT 3, CONCAT(N'$.', r.name, N': want ', CASE r.type
            WHEN 1 THEN N'a text' WHEN 2 THEN N'a number' WHEN 3 THEN N'true or false' ELSE N'an array of texts'
        END)
        FROM @rules AS r
        INNER JOIN OPENJSON(@definition) AS o ON o.[key] = r.name
        WHERE o.type <> r.type
        UNION ALL
        SELECT 4, N'$.to: want an array of 1 to 100 addresses'
        WHERE @channel_type = N'Mail'
            AND (SELECT COUNT(*) FROM OPENJSON(@definition, '$.to') AS o WHERE o.type = 1 AND o.value <> N'') NOT BETWEEN 1 AND 100
        UNION ALL
        SELECT 5, N'$.security: want starttls, tls or none'
        WHERE @channel_type = N'Mail'
            AND COALESCE(JSON_VALUE(@definition, '$.security'), N'starttls') NOT IN (N'starttls', N'tls', N'none')
        UNION ALL
        SELECT 6, N'$.port: want 1 to 65535'
        WHERE @channel_type = N'Mail'
            AND COALESCE(TRY_CAST(COALESCE(JSON_VALUE(@definition, '$.port'), N'587') AS INT), 0) NOT BETWEEN 1 AND 65535
        UNION ALL
        SELECT 7, N'$.password: a secret in clear text: want $(secret.NAME), with the value stored by "jobagent secret set NAME"'
        WHERE @channel_type = N'Mail'
            AND JSON_VALUE(@definition, '$.password') NOT LIKE N'$(secret.%)'
        UNION ALL
        SELECT 8, N'$.password: username and password belong together'
        WHERE @channel_type = N'Mail'
            AND ((JSON_VALUE(@definition, '$.password') IS NULL AND JSON_VALUE(@definition, '$.username') IS NOT NULL)
                OR (JSON_VALUE(@definition, '$.password') IS NOT NULL AND JSON_VALUE(@definition, '$.username') IS NULL))
        UNION ALL
        SELECT 9, N'$.url: the address of a webhook is a secret: want $(secret.NAME), with the address stored by "jobagent secret set NAME"'
        WHERE @channel_type IN (N'Slack', N'Teams')
            AND JSON_VALUE(@definition, '$.url') NOT LIKE N'%$(secret.%)%'
    ) AS f
    ORDER BY f.place, f.text;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @definition of a channel of type ', @channel_type, N': ', @fault, N'.'), N'%', N'%%');
        THROW 50044, @message, 1;
    END;
    RETURN 0;
END;
