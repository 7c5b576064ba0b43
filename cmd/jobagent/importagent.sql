-- What jobagent import sql-agent reads of msdb: three result sets, each ordered. Permission to select from these tables is enough
-- (role SQLAgentReaderRole reads them only through views of its own; members of sysadmin and db_datareader of msdb have it).
--
-- Columns: https://learn.microsoft.com/sql/relational-databases/system-tables/sql-server-agent-tables-transact-sql

SELECT
    CONVERT(NVARCHAR(36), j.job_id) AS job_id,
    j.name,
    CONVERT(INT, j.enabled) AS enabled,
    COALESCE(j.description, N'') AS description,
    COALESCE(j.start_step_id, 1) AS start_step_id,
    COALESCE(c.name, N'') AS category,
    COALESCE(j.notify_level_email, 0) AS notify_level_email,
    COALESCE(j.notify_level_netsend, 0) AS notify_level_netsend,
    COALESCE(j.notify_level_page, 0) AS notify_level_page,
    COALESCE(j.delete_level, 0) AS delete_level,
    COALESCE(j.originating_server_id, 0) AS originating_server_id
FROM dbo.sysjobs AS j
LEFT JOIN dbo.syscategories AS c
    ON c.category_id = j.category_id
ORDER BY j.name, j.job_id;

SELECT
    CONVERT(NVARCHAR(36), s.job_id) AS job_id,
    s.step_id,
    s.step_name,
    s.subsystem,
    COALESCE(s.command, N'') AS command,
    CONVERT(INT, s.on_success_action) AS on_success_action,
    COALESCE(s.on_success_step_id, 0) AS on_success_step_id,
    CONVERT(INT, s.on_fail_action) AS on_fail_action,
    COALESCE(s.on_fail_step_id, 0) AS on_fail_step_id,
    COALESCE(s.database_name, N'') AS database_name,
    COALESCE(s.database_user_name, N'') AS database_user_name,
    COALESCE(s.retry_attempts, 0) AS retry_attempts,
    COALESCE(s.retry_interval, 0) AS retry_interval,
    COALESCE(s.output_file_name, N'') AS output_file_name,
    COALESCE(s.flags, 0) AS flags,
    COALESCE(s.proxy_id, 0) AS proxy_id
FROM dbo.sysjobsteps AS s
ORDER BY s.job_id, s.step_id;

SELECT
    CONVERT(NVARCHAR(36), js.job_id) AS job_id,
    s.name,
    CONVERT(INT, s.enabled) AS enabled,
    s.freq_type,
    s.freq_interval,
    s.freq_subday_type,
    s.freq_subday_interval,
    s.freq_relative_interval,
    s.freq_recurrence_factor,
    s.active_start_date,
    s.active_end_date,
    s.active_start_time,
    s.active_end_time
FROM dbo.sysjobschedules AS js
JOIN dbo.sysschedules AS s
    ON s.schedule_id = js.schedule_id
ORDER BY js.job_id, s.name, s.schedule_id;
