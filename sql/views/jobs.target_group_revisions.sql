-- Target groups with their revisions.
--
-- Columns:
--   target_group_name  Name; unique.
--   target_group_id    Id.
--   revision           Grows with every change of the group or its members.
CREATE OR ALTER VIEW jobs.target_group_revisions
AS
SELECT
    g.name AS target_group_name,
    g.target_group_id,
    g.revision
FROM jobs_internal.target_groups AS g;
