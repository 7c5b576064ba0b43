-- The objects whose names jobs_internal.check_name refuses, and the names of servers, databases and logins that
-- jobs_internal.check_external_names refuses: they are older than the rules. Last, a row of the kind tenants, with an empty name, if the
-- login may not read these.
DECLARE @hidden NVARCHAR(100) = CONCAT(
    N'%[', NCHAR(1), N'-', NCHAR(31), NCHAR(127), N'-', NCHAR(159), NCHAR(173), NCHAR(1564), NCHAR(6158), NCHAR(8203),
    NCHAR(8206), NCHAR(8207), NCHAR(8232), N'-', NCHAR(8238), NCHAR(8288), N'-', NCHAR(8303), NCHAR(65279),
    NCHAR(65529), N'-', NCHAR(65531), N']%'
);
DECLARE @tenants TABLE (tenant_id NVARCHAR(128) NOT NULL);
DECLARE @reads_tenants INT = HAS_PERMS_BY_NAME(N'jobs_internal.tenants', N'OBJECT', N'SELECT'); -- NULL: an old schema has no tenants
IF @reads_tenants = 1
    INSERT INTO @tenants (tenant_id)
    SELECT n.tenant_id
    FROM jobs_internal.tenants AS n;
WITH names AS (
    SELECT 1 AS place, N'job' AS kind, N'' AS owner, j.job_name AS name FROM jobs.jobs AS j
    UNION ALL
    SELECT 2, N'step', s.job_name, s.step_name FROM jobs.jobsteps AS s
    UNION ALL
    SELECT 3, N'schedule', s.job_name, s.schedule_name FROM jobs.schedules AS s
    UNION ALL
    SELECT 4, N'target group', N'', g.target_group_name FROM jobs.target_groups AS g
    UNION ALL
    SELECT 5, N'calendar', N'', c.calendar_name FROM jobs.calendars AS c
    UNION ALL
    SELECT 6, N'credential', N'', c.credential_name FROM jobs.credentials AS c
    UNION ALL
    SELECT 7, N'alert channel', N'', c.channel_name FROM jobs.alert_channels AS c
    UNION ALL
    SELECT 8, N'alert rule', N'', r.alert_name FROM jobs.alert_rules AS r
    UNION ALL
    SELECT 9, N'private endpoint', N'', p.private_endpoint_name FROM jobs.private_endpoints AS p
    UNION ALL
    SELECT 10, N'job collection', N'', c.job_collection_name FROM jobs.job_collections AS c
    UNION ALL
    SELECT 11, N'job of a collection', j.job_collection_name, j.job_name FROM jobs.scheduler_jobs AS j
    UNION ALL
    SELECT 12, N'job agent', N'', a.agent_name FROM jobs.agent AS a
    UNION ALL
    SELECT 13, N'tenant', N'', t.tenant_id FROM @tenants AS t
),
external_names AS (
    SELECT 14 AS place, N'server in the target group' AS kind, m.target_group_name AS owner, m.server_name AS name, 1 AS is_server
    FROM jobs.target_group_members AS m
    UNION ALL
    SELECT 15, N'database in the target group', m.target_group_name, m.database_name, 0 FROM jobs.target_group_members AS m
    UNION ALL
    SELECT 16, N'elastic pool in the target group', m.target_group_name, m.elastic_pool_name, 0 FROM jobs.target_group_members AS m
    UNION ALL
    SELECT 17, N'shard map in the target group', m.target_group_name, m.shard_map_name, 0 FROM jobs.target_group_member_details AS m
    UNION ALL
    SELECT 18, N'output server in the job', s.job_name, s.output_server_name, 1 FROM jobs.jobsteps AS s
    UNION ALL
    SELECT 19, N'output database in the job', s.job_name, s.output_database_name, 0 FROM jobs.jobsteps AS s
    UNION ALL
    SELECT 20, N'output schema in the job', s.job_name, s.output_schema_name, 0 FROM jobs.jobsteps AS s
    UNION ALL
    SELECT 21, N'output table in the job', s.job_name, s.output_table_name, 0 FROM jobs.jobsteps AS s
    UNION ALL
    SELECT 22, N'user name in the credential', c.credential_name, c.username, 0 FROM jobs.credentials AS c
    UNION ALL
    SELECT 23, N'limit of scope', l.scope, l.name, 0 FROM jobs.limits AS l WHERE l.scope IN (N'Server', N'ElasticPool')
    UNION ALL
    SELECT 24, N'server in the limit', l.name, l.server_name, 0 FROM jobs.limits AS l
),
hosts AS (
    SELECT
        n.place, n.kind, n.owner, n.name, n.is_server, c.host_part, c.comma, c.port, b.slash,
        LTRIM(STUFF(c.host_part, 1, b.slash, N'')) AS instance,
        CASE WHEN b.host LIKE N'[[]%]' THEN SUBSTRING(b.host, 2, LEN(b.host) - 2) ELSE b.host END AS host
    FROM external_names AS n
    CROSS APPLY (
        SELECT LTRIM(RTRIM(LOWER(n.name COLLATE Latin1_General_100_CI_AS))) AS folded
    ) AS f
    CROSS APPLY (
        SELECT
            CASE
                WHEN f.folded LIKE N'tcp:%' THEN STUFF(f.folded, 1, 4, N'')
                ELSE f.folded
            END COLLATE Latin1_General_100_BIN2 AS text
    ) AS t
    CROSS APPLY (
        SELECT
            LTRIM(RTRIM(LEFT(t.text, CHARINDEX(N',', t.text + N',') - 1))) AS host_part,
            LTRIM(RTRIM(STUFF(t.text, 1, CHARINDEX(N',', t.text), N''))) AS port,
            CHARINDEX(N',', t.text) AS comma
    ) AS c
    CROSS APPLY (
        SELECT
            CHARINDEX(N'\', c.host_part) AS slash,
            RTRIM(LEFT(c.host_part, CHARINDEX(N'\', c.host_part + N'\') - 1)) AS host
    ) AS b
    WHERE n.name <> N''
)
SELECT TOP (101) f.kind, f.owner, f.name
FROM (
    SELECT n.place, n.kind, n.owner, n.name
    FROM names AS n
    WHERE n.name <> N'' -- the schedule of jobs.sp_add_job; also blanks, which no object has
        AND (CHARINDEX(NCHAR(0), n.name COLLATE Latin1_General_100_BIN2) > 0
            OR PATINDEX(@hidden, n.name COLLATE Latin1_General_100_BIN2) > 0
            OR LEFT(n.name COLLATE Latin1_General_100_BIN2, 1) IN (N' ', NCHAR(160))
            OR RIGHT(CONCAT(n.name COLLATE Latin1_General_100_BIN2, N'|'), 2) IN (N' |', NCHAR(160) + N'|', N'.|')
            OR CONCAT(N'/', REPLACE(n.name COLLATE Latin1_General_100_BIN2, N'\', N'/'), N'/') LIKE N'%/./%'
            OR CONCAT(N'/', REPLACE(n.name COLLATE Latin1_General_100_BIN2, N'\', N'/'), N'/') LIKE N'%/../%')
    UNION ALL
    SELECT h.place, h.kind, h.owner, h.name
    FROM hosts AS h
    WHERE CHARINDEX(NCHAR(0), h.name COLLATE Latin1_General_100_BIN2) > 0
        OR PATINDEX(@hidden, h.name COLLATE Latin1_General_100_BIN2) > 0
        OR (h.is_server = 1 AND (
            h.name COLLATE Latin1_General_100_BIN2 LIKE N'%[;=''"{}*' + NCHAR(160) + N']%'
            OR h.host LIKE N'%[[ /@]%' OR CHARINDEX(N']', h.host) > 0 -- no set can have ], because [] is an empty set
            OR (h.host = N'' AND (h.slash = 0 OR h.instance = N''))
            OR (h.host LIKE N'%:%' AND h.host NOT LIKE N'%:%:%')
            OR (h.host LIKE N'%:%' AND LEFT(h.host, CHARINDEX(N'%', h.host + N'%') - 1) LIKE N'%[^0-9a-f:.]%')
            OR (h.slash > 0 AND (h.instance = N'' OR h.instance LIKE N'%[[ /@\]%' OR CHARINDEX(N']', h.instance) > 0))
            OR (h.comma > 0 AND h.port LIKE N'%[^0-9]%')
            OR (h.comma > 0 AND COALESCE(TRY_CAST(h.port AS INT), 0) NOT BETWEEN 1 AND 65535)
        ))
    UNION ALL
    SELECT 99, N'tenants', N'', N'' WHERE @reads_tenants = 0
) AS f
ORDER BY f.place, f.owner, f.name;
