-- Target groups.
--
-- Columns:
--   target_group_name  Name; unique.
--   target_group_id    Id.
CREATE OR ALTER VIEW jobs.target_groups
AS
SELECT
    g.name AS target_group_name,
    g.target_group_id
FROM jobs_internal.target_groups AS g;
