-- Lets databases be known over runs, and have tags. What earlier runs have resolved is read by and by.
CREATE TABLE jobs_internal.targets (
    target_id         UNIQUEIDENTIFIER NOT NULL,
    server_name       NVARCHAR(256) NOT NULL,
    database_name     NVARCHAR(128) NOT NULL,
    server_key        NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
    database_key      NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    elastic_pool_name NVARCHAR(128) NULL,
    first_seen_at     DATETIME2(7) NULL,
    last_seen_at      DATETIME2(7) NULL,
    gone_at           DATETIME2(7) NULL,
    CONSTRAINT PK_targets PRIMARY KEY (target_id),
    CONSTRAINT CK_targets_seen CHECK (
        (first_seen_at IS NULL AND last_seen_at IS NULL AND gone_at IS NULL)
        OR (first_seen_at IS NOT NULL AND last_seen_at IS NOT NULL)
    )
);

CREATE INDEX IX_targets_database_key ON jobs_internal.targets (database_key, server_key);

ALTER TABLE jobs_internal.targets SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.target_tags (
    target_id UNIQUEIDENTIFIER NOT NULL,
    name      NVARCHAR(128) NOT NULL,
    value     NVARCHAR(256) NOT NULL,
    CONSTRAINT PK_target_tags PRIMARY KEY (target_id, name),
    CONSTRAINT FK_target_tags_targets FOREIGN KEY (target_id) REFERENCES jobs_internal.targets (target_id)
);

ALTER TABLE jobs_internal.target_tags SET (LOCK_ESCALATION = DISABLE);

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

ALTER TABLE jobs_internal.group_targets SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.group_lists (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    resolved_at     DATETIME2(7) NOT NULL,
    by_tags         BIT NOT NULL,
    empty_at        DATETIME2(7) NULL,
    CONSTRAINT PK_group_lists PRIMARY KEY (target_group_id)
);

CREATE INDEX IX_group_lists_empty_at ON jobs_internal.group_lists (empty_at)
    WHERE empty_at IS NOT NULL;

CREATE TABLE jobs_internal.group_changes (
    target_group_id UNIQUEIDENTIFIER NOT NULL,
    resolved_at     DATETIME2(7) NOT NULL,
    had             INT NOT NULL,
    found           INT NOT NULL,
    lost            INT NOT NULL,
    CONSTRAINT PK_group_changes PRIMARY KEY (target_group_id, resolved_at)
);

CREATE INDEX IX_group_changes_resolved_at ON jobs_internal.group_changes (resolved_at);

CREATE TABLE jobs_internal.target_lists (
    step_execution_id BIGINT NOT NULL,
    only_new          BIT NOT NULL,
    after             UNIQUEIDENTIFIER NOT NULL
        CONSTRAINT DF_target_lists_after DEFAULT '00000000-0000-0000-0000-000000000000',
    had               INT NOT NULL CONSTRAINT DF_target_lists_had DEFAULT 0,
    found             INT NOT NULL CONSTRAINT DF_target_lists_found DEFAULT 0,
    lost              INT NOT NULL CONSTRAINT DF_target_lists_lost DEFAULT 0,
    CONSTRAINT PK_target_lists PRIMARY KEY (step_execution_id)
);

CREATE TABLE jobs_internal.target_state (
    id        TINYINT NOT NULL CONSTRAINT DF_target_state_id DEFAULT 1,
    last_step BIGINT NOT NULL,
    CONSTRAINT PK_target_state PRIMARY KEY (id),
    CONSTRAINT CK_target_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.target_state (last_step)
VALUES (0);

ALTER TABLE jobs_internal.target_group_members ADD tag_filter NVARCHAR(4000) NULL;
ALTER TABLE jobs_internal.target_group_members ALTER COLUMN server_name NVARCHAR(128) NULL;
ALTER TABLE jobs_internal.target_group_members DROP CONSTRAINT CK_target_group_members_target_type;
ALTER TABLE jobs_internal.target_group_members WITH CHECK ADD CONSTRAINT CK_target_group_members_target_type CHECK (
    (target_type IN (N'SqlServer', N'SqlElasticPool', N'SqlDatabase', N'SqlShardMap')
        AND server_name IS NOT NULL AND tag_filter IS NULL)
    OR (target_type = N'Tag' AND server_name IS NULL AND tag_filter IS NOT NULL)
);

ALTER TABLE jobs_internal.alert_rules ADD percent_changed DECIMAL(9, 2) NULL, group_pattern NVARCHAR(128) NULL;
