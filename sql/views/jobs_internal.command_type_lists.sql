-- The types of commands in sentences, such as "TSql, Http or Process": one row.
--
-- Columns:
--   steps     The types that steps may have.
--   channels  The types that alert channels may have.
--   tasks     The types that agents carry out.
CREATE OR ALTER VIEW jobs_internal.command_type_lists
AS
SELECT
    STUFF(l.steps, LEN(l.steps) - CHARINDEX(N' ,', REVERSE(l.steps)), 2, N' or ') AS steps,
    STUFF(l.channels, LEN(l.channels) - CHARINDEX(N' ,', REVERSE(l.channels)), 2, N' or ') AS channels,
    STUFF(l.tasks, LEN(l.tasks) - CHARINDEX(N' ,', REVERSE(l.tasks)), 2, N' or ') AS tasks
FROM (
    SELECT
        (
            SELECT STRING_AGG(t.command_type, N', ') WITHIN GROUP (ORDER BY t.place)
            FROM jobs.command_types AS t
            WHERE t.is_step = 1
        ) AS steps,
        (
            SELECT STRING_AGG(t.command_type, N', ') WITHIN GROUP (ORDER BY t.place)
            FROM jobs.command_types AS t
            WHERE t.is_channel = 1
        ) AS channels,
        (
            SELECT STRING_AGG(t.command_type, N', ') WITHIN GROUP (ORDER BY t.place)
            FROM jobs.command_types AS t
            WHERE t.is_task = 1
        ) AS tasks
) AS l;
