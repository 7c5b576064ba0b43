-- The parameters that jobs declare (jobs.sp_set_job_parameters). A job without rows takes any parameters.
--
-- Columns:
--   job_name        Name of the job.
--   job_id          Id of the job.
--   position        Place of the parameter among those of the job, from 1.
--   parameter_name  Name, as in $(param.NAME).
--   type            text, integer, number, boolean, date or datetime.
--   required        1: it must be given when a run is started.
--   default_value   The value that it has if it is not given; NULL: none, so it is null.
--   choices         The only values that it may have, a JSON array; NULL: any of its type.
--   description     Free text; NULL: none.
CREATE OR ALTER VIEW jobs.job_parameters
AS
SELECT
    j.name AS job_name,
    j.job_id,
    CAST(o.[key] AS INT) + 1 AS position,
    d.parameter_name,
    d.type,
    COALESCE(d.required, CAST(0 AS BIT)) AS required,
    d.default_value,
    d.choices,
    d.description
FROM jobs_internal.jobs AS j
CROSS APPLY OPENJSON(j.parameters) AS o
CROSS APPLY OPENJSON(o.value) WITH (
    parameter_name NVARCHAR(128) '$.name',
    type           NVARCHAR(10),
    required       BIT,
    default_value  NVARCHAR(MAX) '$.default',
    choices        NVARCHAR(MAX) AS JSON,
    description    NVARCHAR(512)
) AS d
WHERE j.deleted_at IS NULL;
