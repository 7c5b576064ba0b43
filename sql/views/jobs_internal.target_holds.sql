-- Targets that are held, and by what, in words (DESIGN.md, "Held targets"). Read it by target_execution_id.
--
-- Columns:
--   target_execution_id  The target.
--   waiting_for          Pause: its database is paused.
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
    AND t.next_attempt_at IS NOT NULL;
