-- Adds enabled schedules of several kinds, each due once a day at its own second. An agent has yet to validate them.
--
-- Parameters:
--   @first  Number of the first schedule, from 0. Schedule n belongs to job n modulo the number of jobs.
--   @count  Number of schedules, at most 1000.
--   @base   Second of the day (UTC) at which schedule 0 is due; each further one is due a second later,
--   @spread and after so many they begin at @base again.
--   @jobs   Prefix of the names of the jobs, over which the schedules are distributed.
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
DECLARE @date NVARCHAR(10) = CONVERT(NVARCHAR(10), DATEADD(DAY, -1, @now), 126);

WITH digits AS (
    SELECT v.d
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (d)
),
numbers AS (
    SELECT @first + 100 * a.d + 10 * b.d + c.d AS n
    FROM digits AS a
    CROSS JOIN digits AS b
    CROSS JOIN digits AS c
    WHERE 100 * a.d + 10 * b.d + c.d < @count
),
turns AS (
    SELECT
        j.job_id,
        ROW_NUMBER() OVER (ORDER BY j.name) - 1 AS turn,
        COUNT(*) OVER () AS jobs
    FROM jobs_internal.jobs AS j
    WHERE LEFT(j.name, LEN(@jobs)) = @jobs
        AND j.deleted_at IS NULL
),
clocks AS (
    SELECT
        n.n,
        (@base + n.n % @spread) % 86400 / 3600 AS h,
        (@base + n.n % @spread) % 3600 / 60 AS m,
        (@base + n.n % @spread) % 60 AS s
    FROM numbers AS n
)
INSERT INTO jobs_internal.schedules (
    job_id, name, kind, spec, overlap, enabled, state, awaits_verdict, created_at, activated_at, updated_at
)
SELECT
    t.job_id,
    CONCAT(N'bench ', c.n),
    k.kind,
    k.spec,
    N'Skip', 1, N'Enabled', 1, @now, @now, @now
FROM clocks AS c
INNER JOIN turns AS t ON t.turn = c.n % t.jobs
INNER JOIN (VALUES (0), (1), (2), (3), (4), (5)) AS v (kind_no) ON v.kind_no = c.n % 6
CROSS APPLY (
    SELECT
        CASE v.kind_no
            WHEN 0 THEN N'cron6' WHEN 1 THEN N'quartz' WHEN 2 THEN N'sap' WHEN 3 THEN N'rrule' WHEN 4 THEN N'azure-scheduler' ELSE N'elastic'
        END AS kind,
        CASE v.kind_no
            WHEN 0 THEN CONCAT(c.s, N' ', c.m, N' ', c.h, N' * * *')
            WHEN 1 THEN CONCAT(c.s, N' ', c.m, N' ', c.h, N' * * ?')
            WHEN 2 THEN CONCAT(N'{"cron": "* * * * ', c.h, N' ', c.m, N' ', c.s, N'"}')
            WHEN 3 THEN CONCAT(
                N'{"rrule": "FREQ=DAILY;BYHOUR=', c.h, N';BYMINUTE=', c.m, N';BYSECOND=', c.s, N'", "startTime": "', @date, N'T00:00:00Z"}'
            )
            ELSE CONCAT(
                CASE WHEN v.kind_no = 4 THEN N'{"frequency": "Day", "startTime": "' ELSE N'{"schedule_interval_type": "Days", "schedule_start_time": "' END,
                @date, N'T', RIGHT(CONCAT(N'0', c.h), 2), N':', RIGHT(CONCAT(N'0', c.m), 2), N':', RIGHT(CONCAT(N'0', c.s), 2), N'Z"}'
            )
        END AS spec
) AS k;
