-- Lists of targets that changed a target group: one row for each list that has other databases than the one before it. Rows are as old as
-- the history of runs.
--
-- Columns:
--   target_group_id  The target group. No foreign key: rows of deleted groups go with their age.
--   resolved_at      When the list was frozen.
--   had              Databases that the group had before; 0 for its first list.
--   found            Databases that came.
--   lost             Databases that the list does not have any more.
CREATE TABLE jobs_internal.group_changes (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    resolved_at     DATETIME2(7) NOT NULL,
    had             INT NOT NULL,
    found           INT NOT NULL,
    lost            INT NOT NULL,
    CONSTRAINT PK_group_changes PRIMARY KEY (target_group_id, resolved_at)
);

CREATE INDEX IX_group_changes_resolved_at ON jobs_internal.group_changes (resolved_at);
