-- The last list of targets that was read of each target group: group_targets has its databases.
--
-- Columns:
--   target_group_id  The target group. No foreign key: the row shows which rows of group_targets are left of a deleted group.
--   resolved_at      When the list was frozen.
--   by_tags          1: the group includes members of type Tag, so that it finds databases because they are known. It does not tell
--                    whether they are there.
--   empty_at         When the list of the group was first empty; NULL: the last one that was read has databases.
CREATE TABLE jobs_internal.group_lists (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    resolved_at     DATETIME2(7) NOT NULL,
    by_tags         BIT NOT NULL,
    empty_at        DATETIME2(7) NULL,
    CONSTRAINT PK_group_lists PRIMARY KEY (target_group_id)
);

CREATE INDEX IX_group_lists_empty_at ON jobs_internal.group_lists (empty_at)
    WHERE empty_at IS NOT NULL;
