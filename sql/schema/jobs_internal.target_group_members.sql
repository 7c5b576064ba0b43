-- The members of target groups. sp_add_target_group_member checks which names a target type needs.
--
-- Columns:
--   member_id                Order of addition.
--   target_group_id          The target group.
--   target_id                Public id of the member.
--   membership_type          Include, Exclude or Intersect.
--   target_type              SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap, Tag, Query or TargetGroup.
--   refresh_credential_name  Credential that lists databases; NULL: the agent's default.
--   subscription_id          Azure only; NULL outside.
--   resource_group_name      Azure only; NULL outside.
--   server_name              NULL: a member of type Tag or TargetGroup.
--   database_name            SqlDatabase, SqlShardMap and Query.
--   elastic_pool_name        SqlElasticPool.
--   shard_map_name           SqlShardMap.
--   tag_filter               Tag: the filter, as it was given (jobs_internal.parse_tag_filter).
--   query                    Query: the batch that returns databases.
--   member_group_id          TargetGroup: the other target group.
CREATE TABLE jobs_internal.target_group_members (
    member_id               BIGINT NOT NULL IDENTITY(1, 1),
    target_group_id         UNIQUEIDENTIFIER NOT NULL,
    target_id               UNIQUEIDENTIFIER NOT NULL,
    membership_type         NVARCHAR(128) NOT NULL,
    target_type             NVARCHAR(128) NOT NULL,
    refresh_credential_name NVARCHAR(128) NULL,
    subscription_id         UNIQUEIDENTIFIER NULL,
    resource_group_name     NVARCHAR(128) NULL,
    server_name             NVARCHAR(128) NULL,
    database_name           NVARCHAR(128) NULL,
    elastic_pool_name       NVARCHAR(128) NULL,
    shard_map_name          NVARCHAR(128) NULL,
    tag_filter              NVARCHAR(4000) NULL,
    query                   NVARCHAR(4000) NULL,
    member_group_id         UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_target_group_members PRIMARY KEY (member_id),
    CONSTRAINT UQ_target_group_members_target_id UNIQUE (target_id),
    CONSTRAINT FK_target_group_members_target_groups FOREIGN KEY (target_group_id)
        REFERENCES jobs_internal.target_groups (target_group_id) ON DELETE CASCADE,
    CONSTRAINT FK_target_group_members_member_groups FOREIGN KEY (member_group_id)
        REFERENCES jobs_internal.target_groups (target_group_id),
    CONSTRAINT CK_target_group_members_membership_type CHECK (membership_type IN (N'Include', N'Exclude', N'Intersect')),
    CONSTRAINT CK_target_group_members_target_type CHECK (
        (target_type IN (N'SqlServer', N'SqlElasticPool', N'SqlDatabase', N'SqlShardMap')
            AND server_name IS NOT NULL AND tag_filter IS NULL AND query IS NULL AND member_group_id IS NULL)
        OR (target_type = N'Tag' AND server_name IS NULL AND tag_filter IS NOT NULL AND query IS NULL AND member_group_id IS NULL)
        OR (target_type = N'Query' AND server_name IS NOT NULL AND database_name IS NOT NULL AND tag_filter IS NULL
            AND query IS NOT NULL AND member_group_id IS NULL)
        OR (target_type = N'TargetGroup' AND server_name IS NULL AND tag_filter IS NULL AND query IS NULL AND member_group_id IS NOT NULL)
    )
);

CREATE INDEX IX_target_group_members_target_group_id ON jobs_internal.target_group_members (target_group_id);
CREATE INDEX IX_target_group_members_member_group_id ON jobs_internal.target_group_members (member_group_id)
    WHERE member_group_id IS NOT NULL;
