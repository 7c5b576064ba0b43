-- Members of target groups with all their columns. jobs.target_group_members has only those that Azure has.
--
-- Columns:
--   target_group_name        Name of the target group.
--   target_group_id          Id of the target group.
--   membership_type          Include, Exclude or Intersect.
--   target_type              SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap, Tag, Query or TargetGroup.
--   target_id                Id of the member; the argument of jobs.sp_delete_target_group_member.
--   refresh_credential_name  Credential that lists databases; NULL: the agent's default.
--   subscription_id          Azure only; NULL outside.
--   resource_group_name      Azure only; NULL outside.
--   server_name              Name of the server; NULL: a member of type Tag or TargetGroup.
--   database_name            Name of the database; SqlDatabase, SqlShardMap and Query.
--   elastic_pool_name        Name of the elastic pool; SqlElasticPool.
--   shard_map_name           Name of the shard map; SqlShardMap.
--   member_id                Order of the members.
--   tag_filter               Filter of tags; Tag.
--   query                    Query that returns databases; Query.
--   member_group_name        Name of the other target group; TargetGroup.
CREATE OR ALTER VIEW jobs.target_group_member_details
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
    m.elastic_pool_name,
    m.shard_map_name,
    m.member_id,
    m.tag_filter,
    m.query,
    n.name AS member_group_name
FROM jobs_internal.target_group_members AS m
INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = m.target_group_id
LEFT JOIN jobs_internal.target_groups AS n ON n.target_group_id = m.member_group_id;
