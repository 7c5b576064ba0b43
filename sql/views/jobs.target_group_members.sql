-- Members of target groups. The names of shard maps and the filters of tags are in jobs.target_group_member_details.
--
-- Columns:
--   target_group_name        Name of the target group.
--   target_group_id          Id of the target group.
--   membership_type          Include or Exclude.
--   target_type              SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap or Tag.
--   target_id                Id of the member; the argument of jobs.sp_delete_target_group_member.
--   refresh_credential_name  Credential that lists databases; NULL: the agent's default.
--   subscription_id          Azure only; NULL outside.
--   resource_group_name      Azure only; NULL outside.
--   server_name              Name of the server; NULL: a member of type Tag.
--   database_name            Name of the database; SqlDatabase and SqlShardMap.
--   elastic_pool_name        Name of the elastic pool; SqlElasticPool.
CREATE OR ALTER VIEW jobs.target_group_members
AS
SELECT
    g.name AS target_group_name,
    g.target_group_id,
    m.membership_type,
    m.target_type,
    m.target_id,
    m.refresh_credential_name,
    m.subscription_id,
    m.resource_group_name,
    m.server_name,
    m.database_name,
    m.elastic_pool_name
FROM jobs_internal.target_group_members AS m
INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = m.target_group_id;
