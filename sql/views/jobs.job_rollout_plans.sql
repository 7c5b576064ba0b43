-- The plans by which the runs of jobs are rolled out (jobs.sp_set_job_rollout): one row for each version of a job that has one.
--
-- Columns:
--   job_name      Name of the job.
--   job_id        Id of the job.
--   job_version   Number of the version.
--   is_current    1: it is the job's current version, which the next run uses.
--   rollout_plan  The plan, a JSON object with all members.
--   description   The plan in English words.
CREATE OR ALTER VIEW jobs.job_rollout_plans
AS
SELECT
    j.name AS job_name,
    j.job_id,
    v.version AS job_version,
    CAST(CASE WHEN v.version = j.current_version THEN 1 ELSE 0 END AS BIT) AS is_current,
    v.rollout_plan,
    CONCAT(
        N'Runs on ', a.waves, N'. It ', CASE p.on_gate_failure WHEN N'abort' THEN N'aborts' ELSE N'pauses' END, N' if ',
        CASE
            WHEN a.least_failed <> a.most_failed THEN CONCAT(N'more targets fail than the wave permits (', a.failed, N')')
            WHEN a.most_failed = N'0' THEN N'a target fails'
            WHEN a.most_failed LIKE N'%[%]' THEN CONCAT(N'more than ', REPLACE(a.most_failed, N'%', N' %'), N' of a wave fail')
            ELSE CONCAT(
                N'more than ', a.most_failed,
                CASE a.most_failed WHEN N'1' THEN N' target of a wave fails' ELSE N' targets of a wave fail' END
            )
        END,
        N', if ',
        CASE
            WHEN a.least_unknown <> a.most_unknown THEN CONCAT(N'more outcomes are unknown than the wave permits (', a.unknown, N')')
            WHEN a.most_unknown = 0 THEN N'the outcome of a target is unknown'
            ELSE CONCAT(
                N'more than ', a.most_unknown,
                CASE a.most_unknown WHEN 1 THEN N' outcome of a wave is unknown' ELSE N' outcomes of a wave are unknown' END
            )
        END,
        N', if the median duration is above that of earlier runs (' + a.durations + N')',
        N', or if ',
        CASE
            WHEN a.least_unreached <> a.most_unreached
                THEN CONCAT(N'more targets are skipped or canceled than the wave permits (', a.unreached, N')')
            WHEN a.most_unreached = N'0' THEN N'a target is skipped or canceled'
            WHEN a.most_unreached LIKE N'%[%]'
                THEN CONCAT(N'more than ', REPLACE(a.most_unreached, N'%', N' %'), N' of a wave are skipped or canceled')
            ELSE CONCAT(
                N'more than ', a.most_unreached,
                CASE a.most_unreached WHEN N'1' THEN N' target of a wave is' ELSE N' targets of a wave are' END,
                N' skipped or canceled'
            )
        END,
        N'; targets that run then ', CASE p.running_targets WHEN N'cancel' THEN N'are canceled.' ELSE N'go on to their end.' END,
        CASE
            WHEN p.strict = 1 THEN N' Targets in flight and failed ones are never more than the failures that a wave permits and one.'
        END,
        N' Before each wave, a preflight checks its targets' + CASE WHEN p.preflight <> N'none' THEN N'' END,
        N' (' + k.needs + N')',
        CASE p.preflight
            WHEN N'refuse'
                THEN CONCAT(N'; it ', CASE p.on_gate_failure WHEN N'abort' THEN N'aborts' ELSE N'pauses' END, N' if one fails it.')
            WHEN N'warn' THEN N'; the wave starts even if some fail it.'
            WHEN N'leave_out' THEN N'; those that fail it are left out.'
        END,
        N' ' + a.probes,
        N' It needs an approval before ' + a.approvals + N'.',
        N' It ' + CASE p.on_gate_failure WHEN N'abort' THEN N'aborts' ELSE N'pauses' END
            + N' if it takes longer than ' + d.words + N'.',
        N' Before the first wave, it ' + CASE p.on_gate_failure WHEN N'abort' THEN N'aborts' ELSE N'pauses' END
            + N' if ' + a.chosen + N' has no targets.',
        N' The job ''' + p.undo_job + N''' undoes it.',
        CASE WHEN a.has_rest = 0 THEN N' Targets that no wave selects are left out.' END,
        CASE
            WHEN a.percent_sum > 100
                THEN CONCAT(N' The percentages sum to ', a.percent_sum, N' %: the last waves may find no targets left.')
        END
    ) AS description
FROM jobs_internal.job_versions AS v
INNER JOIN jobs_internal.jobs AS j ON j.job_id = v.job_id
CROSS APPLY OPENJSON(v.rollout_plan) WITH (
    deadline_seconds INT,
    on_gate_failure  NVARCHAR(10),
    running_targets  NVARCHAR(10),
    strict           BIT,
    undo_job         NVARCHAR(128),
    preflight        NVARCHAR(10),
    preflight_options NVARCHAR(MAX) AS JSON
) AS p
OUTER APPLY (
    SELECT TOP (1)
        CONCAT(p.deadline_seconds / u.seconds, N' ', u.name, CASE WHEN p.deadline_seconds <> u.seconds THEN N's' END) AS words
    FROM (VALUES (86400, N'day'), (3600, N'hour'), (60, N'minute'), (1, N'second')) AS u (seconds, name)
    WHERE p.deadline_seconds % u.seconds = 0
    ORDER BY u.seconds DESC
) AS d
OUTER APPLY (
    SELECT STRING_AGG(
        CONCAT(o.[key] COLLATE DATABASE_DEFAULT, N' ', COALESCE(e.list, o.value COLLATE DATABASE_DEFAULT)), N'; '
    ) WITHIN GROUP (ORDER BY o.[key]) AS needs
    FROM OPENJSON(p.preflight_options) AS o
    OUTER APPLY (
        SELECT STRING_AGG(i.value, N', ') WITHIN GROUP (ORDER BY CAST(i.[key] AS INT)) AS list
        FROM OPENJSON(CASE o.type WHEN 4 THEN o.value ELSE N'[]' END) AS i
    ) AS e
) AS k
CROSS APPLY (
    SELECT
        STRING_AGG(CONCAT(
            CAST(N'' AS NVARCHAR(MAX)),
            CASE
                WHEN w.targets = N'rest' THEN N'the rest'
                WHEN w.targets IS NOT NULL
                    THEN CONCAT(
                        REPLACE(w.targets, N'%', N' %'),
                        CASE WHEN w.targets = N'1' THEN N' target' WHEN w.targets NOT LIKE N'%[%]' THEN N' targets' END
                    )
                WHEN w.tags IS NOT NULL THEN CONCAT(N'the targets with ', w.tags)
                WHEN w.names IS NOT NULL THEN CONCAT(n.number, CASE n.number WHEN 1 THEN N' named database' ELSE N' named databases' END)
                ELSE CONCAT(N'the databases like ', n.patterns, CASE WHEN n.number > 3 THEN CONCAT(N' or ', n.number - 3, N' more') END)
            END,
            N' (''', w.name, N''')',
            CASE w.target_order WHEN N'name' THEN N' by name' WHEN N'random' THEN N' in random order' END,
            N' in the order of the tag ''' + w.order_tag + N'''',
            N' at ' + CAST(w.parallelism AS NVARCHAR(12)) + N' at a time',
            CASE WHEN w.parallelism IS NOT NULL AND w.pace IS NOT NULL THEN N' and' END,
            N' at most ' + CAST(w.pace AS NVARCHAR(12)) + N' a minute',
            N' only in the windows of the calendar ''' + w.window_name + N'''',
            N' with a bake of ' + b.words
        ), N', then ') WITHIN GROUP (ORDER BY w.wave) AS waves,
        MIN(w.max_failed) AS least_failed,
        MAX(w.max_failed) AS most_failed,
        STRING_AGG(
            CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N''' ', REPLACE(w.max_failed, N'%', N' %')), N', '
        ) WITHIN GROUP (ORDER BY w.wave) AS failed,
        MIN(w.max_unknown) AS least_unknown,
        MAX(w.max_unknown) AS most_unknown,
        STRING_AGG(
            CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N''' ', w.max_unknown), N', '
        ) WITHIN GROUP (ORDER BY w.wave) AS unknown,
        MIN(w.max_unreached) AS least_unreached,
        MAX(w.max_unreached) AS most_unreached,
        STRING_AGG(
            CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N''' ', REPLACE(w.max_unreached, N'%', N' %')), N', '
        ) WITHIN GROUP (ORDER BY w.wave) AS unreached,
        STRING_AGG(
            CAST(N'''' + w.name + N''' more than ' + CAST(w.max_duration_percent AS NVARCHAR(12)) + N' % of it' AS NVARCHAR(MAX)), N', '
        ) WITHIN GROUP (ORDER BY w.wave) AS durations,
        STRING_AGG(CASE
            WHEN w.probe_job IS NOT NULL THEN CONCAT(
                CAST(N'After ''' AS NVARCHAR(MAX)), w.name, N''' the job ''', w.probe_job, N''' must succeed on its targets',
                N' and return ' + w.probe_check,
                N', every ' + q.words + N' of the bake and at its end', N'.'
            )
        END, N' ') WITHIN GROUP (ORDER BY w.wave) AS probes,
        STRING_AGG(CASE w.approval
            WHEN N'any' THEN CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N'''')
            WHEN N'other' THEN CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N''' (by somebody who did not start it)')
        END, N' and before ') WITHIN GROUP (ORDER BY w.wave) AS approvals,
        STRING_AGG(
            CASE
                WHEN w.targets IS NULL AND COALESCE(w.allow_empty, 0) = 0 THEN CONCAT(CAST(N'''' AS NVARCHAR(MAX)), w.name, N'''')
            END, N' or '
        ) WITHIN GROUP (ORDER BY w.wave) AS chosen,
        MAX(CASE WHEN w.targets = N'rest' THEN 1 ELSE 0 END) AS has_rest,
        SUM(CASE WHEN w.targets LIKE N'%[%]' THEN CAST(REPLACE(w.targets, N'%', N'') AS INT) END) AS percent_sum
    FROM jobs_internal.rollout_plan_waves AS w
    CROSS APPLY (
        SELECT
            COUNT(*) AS number,
            STRING_AGG(
                CASE WHEN CAST(e.[key] AS INT) < 3 THEN CONCAT(CAST(N'''' AS NVARCHAR(MAX)), e.value, N'''') END, N' or '
            ) WITHIN GROUP (ORDER BY CAST(e.[key] AS INT)) AS patterns
        FROM OPENJSON(COALESCE(w.patterns, w.names)) AS e
    ) AS n
    OUTER APPLY (
        SELECT TOP (1) CONCAT(w.bake_seconds / u.seconds, N' ', u.name, CASE WHEN w.bake_seconds <> u.seconds THEN N's' END) AS words
        FROM (VALUES (86400, N'day'), (3600, N'hour'), (60, N'minute'), (1, N'second')) AS u (seconds, name)
        WHERE w.bake_seconds > 0
            AND w.bake_seconds % u.seconds = 0
        ORDER BY u.seconds DESC
    ) AS b
    OUTER APPLY (
        SELECT TOP (1)
            CONCAT(w.probe_every_seconds / u.seconds, N' ', u.name, CASE WHEN w.probe_every_seconds <> u.seconds THEN N's' END) AS words
        FROM (VALUES (86400, N'day'), (3600, N'hour'), (60, N'minute'), (1, N'second')) AS u (seconds, name)
        WHERE w.probe_every_seconds % u.seconds = 0
        ORDER BY u.seconds DESC
    ) AS q
    WHERE w.job_id = v.job_id
        AND w.version = v.version
) AS a
WHERE j.deleted_at IS NULL
    AND v.rollout_plan IS NOT NULL;
