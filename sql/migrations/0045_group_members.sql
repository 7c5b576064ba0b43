-- Lets target groups have members that are the answers of queries and other groups, and keep what only some members stand for.
ALTER TABLE jobs_internal.target_group_members ADD query NVARCHAR(4000) NULL, member_group_id UNIQUEIDENTIFIER NULL;

ALTER TABLE jobs_internal.target_group_members DROP CONSTRAINT CK_target_group_members_membership_type;

ALTER TABLE jobs_internal.target_group_members WITH CHECK ADD CONSTRAINT CK_target_group_members_membership_type
    CHECK (membership_type IN (N'Include', N'Exclude', N'Intersect'));

ALTER TABLE jobs_internal.target_group_members DROP CONSTRAINT CK_target_group_members_target_type;

ALTER TABLE jobs_internal.target_group_members WITH CHECK ADD CONSTRAINT CK_target_group_members_target_type CHECK (
    (target_type IN (N'SqlServer', N'SqlElasticPool', N'SqlDatabase', N'SqlShardMap')
        AND server_name IS NOT NULL AND tag_filter IS NULL AND query IS NULL AND member_group_id IS NULL)
    OR (target_type = N'Tag' AND server_name IS NULL AND tag_filter IS NOT NULL AND query IS NULL AND member_group_id IS NULL)
    OR (target_type = N'Query' AND server_name IS NOT NULL AND database_name IS NOT NULL AND tag_filter IS NULL
        AND query IS NOT NULL AND member_group_id IS NULL)
    OR (target_type = N'TargetGroup' AND server_name IS NULL AND tag_filter IS NULL AND query IS NULL AND member_group_id IS NOT NULL)
);

ALTER TABLE jobs_internal.target_group_members WITH CHECK ADD CONSTRAINT FK_target_group_members_member_groups
    FOREIGN KEY (member_group_id) REFERENCES jobs_internal.target_groups (target_group_id);

CREATE INDEX IX_target_group_members_member_group_id ON jobs_internal.target_group_members (member_group_id)
    WHERE member_group_id IS NOT NULL;
