-- Tags of databases (jobs.sp_set_target_tags).
--
-- Columns:
--   target_id      Id of the database, as in jobs.targets.
--   server_name    Name of the server.
--   database_name  Name of the database.
--   tag_name       Name of the tag.
--   tag_value      Its value.
CREATE OR ALTER VIEW jobs.target_tags
AS
SELECT
    t.target_id,
    t.server_name,
    t.database_name,
    g.name AS tag_name,
    g.value AS tag_value
FROM jobs_internal.target_tags AS g
INNER JOIN jobs_internal.targets AS t ON t.target_id = g.target_id;
