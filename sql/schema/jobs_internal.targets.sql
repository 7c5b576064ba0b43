-- Databases that target groups were ever resolved to, and those that have tags without that. A row is kept, also when no group resolves
-- the database any more; only one that was never found is deleted, with its last tag. DESIGN.md, "Targets and tags".
--
-- Columns:
--   target_id          Public id of the database, as in target_executions.
--   server_name, database_name  The database, as it was last spelled.
--   server_key, database_key    The names in the form in which they are compared (targets.DatabaseKey).
--   elastic_pool_name  The pool in which it was last found; NULL: none.
--   first_seen_at      When a list of targets first had it; NULL: none has had it yet.
--   last_seen_at       When a list last had it, to within an hour; NULL likewise.
--   gone_at            Since when no target group resolves it any more; NULL: one does, or none ever has.
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

-- The order in which databases are listed.
CREATE INDEX IX_targets_server_name ON jobs_internal.targets (server_name, database_name)
    INCLUDE (gone_at);
CREATE INDEX IX_targets_database_key ON jobs_internal.targets (database_key, server_key);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.targets SET (LOCK_ESCALATION = DISABLE);
