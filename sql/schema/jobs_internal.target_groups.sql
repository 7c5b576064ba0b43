-- Named sets of targets. They are not versioned: a change applies to the next resolution.
--
-- Columns:
--   target_group_id  Also the target_id of step rows in jobs.job_executions.
--   name             Unique.
--   created_at       When the group was added.
--   revision         Grows with every change of the group or its members.
CREATE TABLE jobs_internal.target_groups (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    name            NVARCHAR(128) NOT NULL,
    created_at      DATETIME2(7) NOT NULL CONSTRAINT DF_target_groups_created_at DEFAULT SYSUTCDATETIME(),
    revision        BIGINT NOT NULL CONSTRAINT DF_target_groups_revision DEFAULT 1,
    CONSTRAINT PK_target_groups PRIMARY KEY (target_group_id),
    CONSTRAINT UQ_target_groups_name UNIQUE (name)
);
