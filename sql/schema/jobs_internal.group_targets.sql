-- Which databases the target groups were resolved to. Rows are kept when a group does not resolve a database any more, and deleted some
-- time after the group is. No foreign keys: they would lock groups and targets meanwhile.
--
-- Columns:
--   target_group_id  The target group.
--   target_id        The database.
--   found_at         When a list of the group first had it, or had it again.
--   gone_at          When a later list of the group did not have it; NULL: the last one had it.
CREATE TABLE jobs_internal.group_targets (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    target_id       UNIQUEIDENTIFIER NOT NULL,
    found_at        DATETIME2(7) NOT NULL,
    gone_at         DATETIME2(7) NULL,
    CONSTRAINT PK_group_targets PRIMARY KEY (target_group_id, target_id)
);

CREATE INDEX IX_group_targets_target_id ON jobs_internal.group_targets (target_id, target_group_id)
    INCLUDE (gone_at)
    WHERE gone_at IS NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.group_targets SET (LOCK_ESCALATION = DISABLE);
