-- want: CONCAT of s.name and s.value needs COLLATE, because their collations differ
CREATE OR ALTER PROCEDURE jobs_internal.bad
    @p NVARCHAR(MAX)
AS
BEGIN
    WITH states AS (
        SELECT o.[key] AS name, o.value
        FROM OPENJSON(@p) AS o
    ),
    members AS (
        SELECT s.name, CONCAT(N'"', STRING_ESCAPE(s.name, 'json'), N'":', CASE WHEN s.value IS NULL THEN N'null' ELSE s.value END) AS text
        FROM states AS s
    )
    SELECT MAX(m.text) AS text
    FROM members AS m
    GROUP BY m.name;
END;
GO
-- want: + of o.key and t.name needs COLLATE, because their collations differ
-- want: UNION of o.key and u.name needs COLLATE, because their collations differ
-- want: STRING_AGG of d.note and v.name needs COLLATE, because their collations differ
-- want: CASE of o.key and o.value needs COLLATE, because their collations differ
CREATE OR ALTER PROCEDURE jobs_internal.bad
    @p NVARCHAR(MAX)
AS
BEGIN
    SELECT (o.[key] + N'.') + t.name AS a
    FROM OPENJSON(@p) AS o
    CROSS JOIN jobs_internal.things AS t;
    SELECT LEFT(o.[key], 10) AS a
    FROM OPENJSON(@p) AS o
    UNION ALL
    SELECT u.name
    FROM jobs_internal.things AS u;
    SELECT STRING_AGG(d.note, v.name) AS a
    FROM jobs_internal.things AS v
    CROSS APPLY (SELECT TOP (1) k.[key] AS note FROM OPENJSON(v.spec) AS k) AS d;
    SELECT CASE WHEN o.type = 1 THEN o.[key] ELSE o.value END AS a
    FROM OPENJSON(@p) AS o;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.good
    @p NVARCHAR(MAX)
AS
BEGIN
    WITH states AS (
        SELECT o.[key] COLLATE Latin1_General_100_BIN2 AS name, o.value
        FROM OPENJSON(@p) AS o
    )
    SELECT
        s.name,
        MAX(s.name) AS last_name,
        CONCAT(STRING_ESCAPE(s.name, 'json') COLLATE DATABASE_DEFAULT, s.value) AS text,
        CONCAT(N'$.', s.name, @p) AS path,
        CONCAT(s.name, s.value) AS member,
        CONCAT(LEN(s.name), s.value) AS length
    FROM states AS s
    GROUP BY s.name, s.value;
    SELECT CAST(o.[key] AS INT) + t.id AS a, CONCAT(t.name, CAST(t.id AS NVARCHAR(20))) AS b
    FROM OPENJSON(@p) AS o
    CROSS JOIN jobs_internal.things AS t;
    SELECT o.[key] COLLATE DATABASE_DEFAULT AS a
    FROM OPENJSON(@p) AS o
    UNION ALL
    SELECT t.name
    FROM jobs_internal.things AS t;
END;
