-- Alerts of SQL Server Agent that start a job.
SELECT
    CONVERT(NVARCHAR(36), a.job_id) AS job_id,
    a.name
FROM dbo.sysalerts AS a
WHERE a.job_id IS NOT NULL
ORDER BY a.name;
