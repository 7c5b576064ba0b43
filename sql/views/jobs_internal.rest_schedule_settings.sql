-- What schedules of the SAP surface have in their rows of schedules: the switch, and the text with the bounds of the job.
--
-- Columns:
--   schedule_id  Internal key.
--   rest_job_id  The job's _id.
--   enabled      1: the schedule and its job are active.
--   spec         Text of the kind sap.
CREATE OR ALTER VIEW jobs_internal.rest_schedule_settings
AS
SELECT
    x.schedule_id,
    r.rest_job_id,
    CASE WHEN r.active = 1 THEN x.active ELSE CAST(0 AS BIT) END AS enabled,
    JSON_MODIFY(x.spec, '$.job', JSON_QUERY(b.bounds)) AS spec
FROM jobs_internal.rest_jobs AS r
INNER JOIN jobs_internal.schedules AS s ON s.job_id = r.job_id
INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
CROSS APPLY (
    SELECT CASE
        WHEN r.start_at IS NOT NULL OR r.end_at IS NOT NULL THEN (
            SELECT
                CONVERT(NVARCHAR(19), r.start_at, 126) + N'Z' AS startTime,
                CONVERT(NVARCHAR(19), r.end_at, 126) + N'Z' AS endTime
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        )
    END AS bounds
) AS b;
