-- Who makes the current call: one row. A REST front makes it as one of the four users without login of the roles of callers, whom only
-- members of jobs_front may impersonate; only then do the names in the session context count, because everybody can set it. Under every
-- other user the caller is the login, and the session context can say that the call came by the command line, which is as little proof as
-- the name of the program.
--
-- Columns:
--   door            T-SQL, CLI, REST or Web (the dashboard).
--   name            Name of the person or program; the login for T-SQL and CLI.
--   short_name      The name, cut to the length of columns for logins.
--   original_login  Login of the session.
--   host            Name of the client's computer, as the client gives it.
--   program         Name of the client's program, as the client gives it.
--   address         Network address of the client; NULL if it is not known.
--   correlation_id  Joins the entries of one request.
CREATE OR ALTER VIEW jobs_internal.current_caller
AS
SELECT
    c.door,
    c.name,
    CAST(LEFT(c.name, 128) AS NVARCHAR(128)) AS short_name,
    c.original_login,
    HOST_NAME() AS host,
    APP_NAME() AS program,
    c.address,
    TRY_CAST(SESSION_CONTEXT(N'jobagent.correlation_id') AS UNIQUEIDENTIFIER) AS correlation_id
FROM (
    SELECT
        CASE
            WHEN u.is_front = 1 THEN COALESCE(TRY_CAST(SESSION_CONTEXT(N'jobagent.door') AS NVARCHAR(10)), N'REST')
            WHEN TRY_CAST(SESSION_CONTEXT(N'jobagent.door') AS NVARCHAR(10)) = N'CLI' THEN N'CLI'
            ELSE N'T-SQL'
        END AS door,
        CASE
            WHEN u.is_front = 1 THEN COALESCE(NULLIF(CAST(SESSION_CONTEXT(N'jobagent.caller') AS NVARCHAR(256)), N''), ORIGINAL_LOGIN())
            ELSE ORIGINAL_LOGIN()
        END AS name,
        ORIGINAL_LOGIN() AS original_login,
        CASE
            WHEN u.is_front = 1 THEN NULLIF(CAST(SESSION_CONTEXT(N'jobagent.address') AS NVARCHAR(64)), N'')
            ELSE CAST(CONNECTIONPROPERTY('client_net_address') AS NVARCHAR(64))
        END AS address
    FROM (
        SELECT CASE
            WHEN USER_NAME() IN (N'jobagent_reader', N'jobagent_operator', N'jobagent_author', N'jobagent_admin') THEN 1
            ELSE 0
        END AS is_front
    ) AS u
) AS c;
