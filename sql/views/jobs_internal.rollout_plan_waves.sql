-- The waves of plans as rows: one reader of the form that jobs_internal.check_rollout_plan stores.
--
-- Columns:
--   job_id, version       The version of a job.
--   wave                  1, 2, …, in the order in which they run.
--   name                  and all others: members of the plan (DESIGN.md, "Plans of roll-outs"). patterns is its member like,
--                         target_order its member order, window_name its member window.
--   probe_check           What the probe must return, in words; NULL: anything.
CREATE OR ALTER VIEW jobs_internal.rollout_plan_waves
AS
SELECT
    v.job_id,
    v.version,
    CAST(o.[key] AS INT) + 1 AS wave,
    p.name,
    p.targets,
    p.names,
    p.patterns,
    p.tags,
    p.target_order,
    p.order_tag,
    p.parallelism,
    p.pace,
    p.bake_seconds,
    p.approval,
    p.max_failed,
    p.max_unknown,
    p.max_unreached,
    p.max_duration_percent,
    p.probe_job,
    p.probe_every_seconds,
    p.probe_max_rows,
    p.probe_min_value,
    p.probe_max_value,
    p.probe_min_percent,
    p.probe_max_percent,
    STUFF(CONCAT(
        N' and ' + CASE
            WHEN p.probe_max_rows = 0 THEN N'no row'
            WHEN p.probe_max_rows IS NOT NULL
                THEN CONCAT(N'at most ', p.probe_max_rows, CASE p.probe_max_rows WHEN 1 THEN N' row' ELSE N' rows' END)
        END,
        N' and ' + CASE
            WHEN p.probe_min_value IS NOT NULL AND p.probe_max_value IS NOT NULL
                THEN CONCAT(N'a number from ', p.probe_min_value, N' to ', p.probe_max_value)
            WHEN p.probe_min_value IS NOT NULL THEN CONCAT(N'a number of at least ', p.probe_min_value)
            WHEN p.probe_max_value IS NOT NULL THEN CONCAT(N'a number of at most ', p.probe_max_value)
        END,
        N' and ' + CASE
            WHEN p.probe_min_percent IS NOT NULL AND p.probe_max_percent IS NOT NULL
                THEN CONCAT(p.probe_min_percent, N' to ', p.probe_max_percent, N' % of the number before the wave')
            WHEN p.probe_min_percent IS NOT NULL THEN CONCAT(N'at least ', p.probe_min_percent, N' % of the number before the wave')
            WHEN p.probe_max_percent IS NOT NULL THEN CONCAT(N'at most ', p.probe_max_percent, N' % of the number before the wave')
        END
    ), 1, 5, N'') AS probe_check,
    p.window_name,
    p.allow_empty
FROM jobs_internal.job_versions AS v
CROSS APPLY OPENJSON(v.rollout_plan, '$.waves') AS o
CROSS APPLY OPENJSON(o.value) WITH (
    name                 NVARCHAR(128),
    targets              NVARCHAR(20),
    names                NVARCHAR(MAX) AS JSON,
    patterns             NVARCHAR(MAX) '$.like' AS JSON,
    tags                 NVARCHAR(MAX),
    target_order         NVARCHAR(10) '$.order',
    order_tag            NVARCHAR(128),
    parallelism          INT,
    pace                 INT,
    bake_seconds         INT,
    approval             NVARCHAR(10),
    max_failed           NVARCHAR(20),
    max_unknown          INT,
    max_unreached        NVARCHAR(20),
    max_duration_percent INT,
    probe_job            NVARCHAR(128),
    probe_every_seconds  INT,
    probe_max_rows       INT,
    probe_min_value      BIGINT,
    probe_max_value      BIGINT,
    probe_min_percent    INT,
    probe_max_percent    INT,
    window_name          NVARCHAR(128) '$.window',
    allow_empty          BIT
) AS p
WHERE v.rollout_plan IS NOT NULL;
