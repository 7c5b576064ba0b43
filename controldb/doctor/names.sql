-- The objects whose names jobs_internal.check_name refuses: they are older than the rule.
DECLARE @hidden NVARCHAR(100) = CONCAT(
    N'%[', NCHAR(1), N'-', NCHAR(31), NCHAR(127), N'-', NCHAR(159), NCHAR(173), NCHAR(1564), NCHAR(6158), NCHAR(8203),
    NCHAR(8206), NCHAR(8207), NCHAR(8232), N'-', NCHAR(8238), NCHAR(8288), N'-', NCHAR(8303), NCHAR(65279),
    NCHAR(65529), N'-', NCHAR(65531), N']%'
);
SELECT TOP (101) n.kind, n.owner, n.name
FROM (
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
) AS n
WHERE n.name <> N'' -- the schedule of jobs.sp_add_job; also blanks, which no object has
    AND (CHARINDEX(NCHAR(0), n.name COLLATE Latin1_General_100_BIN2) > 0
        OR PATINDEX(@hidden, n.name COLLATE Latin1_General_100_BIN2) > 0
        OR LEFT(n.name, 1) IN (N' ', NCHAR(160))
        OR RIGHT(CONCAT(n.name, N'|'), 2) IN (N' |', NCHAR(160) + N'|', N'.|')
        OR CONCAT(N'/', REPLACE(n.name, N'\', N'/'), N'/') LIKE N'%/./%'
        OR CONCAT(N'/', REPLACE(n.name, N'\', N'/'), N'/') LIKE N'%/../%')
ORDER BY n.place, n.owner, n.name;
