-- Targets that are held, and by what, in words (DESIGN.md, "Held targets"). Read it by target_execution_id.
--
-- Columns:
--   target_execution_id  The target.
--   waiting_for          Pause: its database is paused; Window: a window of it is not open.
--   waiting_until        When that ends by itself (UTC); NULL: not known, or it does not.
--   description          In words, after "because".
CREATE OR ALTER VIEW jobs_internal.target_holds
AS
SELECT
    t.target_execution_id,
    CAST(N'Pause' AS NVARCHAR(10)) AS waiting_for,
    p.ends_at AS waiting_until,
    CAST(CONCAT(
        N'the database is paused', N' by ' + p.paused_by, N' since ', CONVERT(NVARCHAR(19), p.paused_at, 126), N'Z',
        N' until ' + CONVERT(NVARCHAR(19), p.ends_at, 126) + N'Z', N': ' + p.reason
    ) AS NVARCHAR(2000)) AS description
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.target_pauses AS p ON p.pause_id = -t.held_by
WHERE t.held_by < 0
    AND t.next_attempt_at IS NOT NULL
UNION ALL
SELECT
    t.target_execution_id,
    N'Window' AS waiting_for,
    CASE WHEN x.is_known = 1 AND a.is_open = 0 THEN a.changes_at END AS waiting_until,
    CONCAT(
        N'its window (',
        N'calendar ''' + NULLIF(a.calendar_name, N'') + N'''',
        CASE WHEN a.calendar_name = N'' THEN N'except ''' ELSE N', except ''' END + NULLIF(a.blackouts_name, N'') + N'''',
        N', ' + NULLIF(a.time_zone, N''),
        CASE
            WHEN a.fault IS NOT NULL THEN N') cannot be evaluated: ' + a.fault
            WHEN x.is_known = 0 THEN N') has not been evaluated by an agent yet'
            WHEN a.is_open = 1 THEN N') is open, and the next pass of an agent looks again'
            WHEN a.changes_at IS NULL THEN N') does not open within a year'
            ELSE CONCAT(N') opens at ', CONVERT(NVARCHAR(19), a.changes_at, 126), N'Z')
        END
    ) AS description
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.window_answers AS a ON a.answer_id = t.held_by
CROSS APPLY (SELECT CASE WHEN a.holds_until IS NULL THEN 0 ELSE 1 END AS is_known) AS x
WHERE t.held_by > 0
    AND t.next_attempt_at IS NOT NULL;
