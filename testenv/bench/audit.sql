-- Adds entries to the audit log that are older than any retention, as a job's update leaves them.
--
-- Parameters:
--   @count  Number of entries, at most 1000.
SET NOCOUNT ON;
SET XACT_ABORT ON;
WITH digits AS (
    SELECT v.d
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (d)
)
INSERT INTO jobs_internal.audit_entries (at, door, caller, original_login, action, object_kind, object_name, before_change, after_change)
SELECT
    '2000-01-01', N'T-SQL', N'bench', N'bench', N'sp_update_job', N'Job', N'bench bounds',
    N'{"description":"a description of some length"}', N'{"description":"another description of some length"}'
FROM digits AS a
CROSS JOIN digits AS b
CROSS JOIN digits AS c
WHERE 100 * a.d + 10 * b.d + c.d < @count;
