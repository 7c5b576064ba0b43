-- Jobs of the SAP surface with their tenants and the numbers of their schedules.
--
-- Columns:
--   rest_job_id, job_id, tenant_id, name, description, action, http_method, active, start_at, end_at, start_text, end_text,
--   user_name, ans_config, calm_config, job_type, created_at  See jobs_internal.rest_jobs.
--   subdomain        Subdomain of the tenant.
--   has_password     1: it has a password.
--   active_count     Number of its active schedules.
--   inactive_count   Number of its other schedules.
CREATE OR ALTER VIEW jobs_internal.rest_job_details
AS
SELECT
    r.rest_job_id,
    r.job_id,
    r.tenant_id,
    n.subdomain,
    r.name,
    r.description,
    r.action,
    r.http_method,
    r.active,
    r.start_at,
    r.end_at,
    r.start_text,
    r.end_text,
    r.user_name,
    CAST(CASE WHEN r.password_name IS NULL THEN 0 ELSE 1 END AS BIT) AS has_password,
    r.ans_config,
    r.calm_config,
    r.job_type,
    r.created_at,
    (
        SELECT COUNT(*)
        FROM jobs_internal.rest_schedule_details AS s
        WHERE s.job_id = r.job_id
            AND s.active = 1
    ) AS active_count,
    (
        SELECT COUNT(*)
        FROM jobs_internal.rest_schedule_details AS s
        WHERE s.job_id = r.job_id
            AND s.active = 0
    ) AS inactive_count
FROM jobs_internal.rest_jobs AS r
INNER JOIN jobs_internal.tenants AS n ON n.tenant_id = r.tenant_id;
