-- Tags of databases: names with values, at most 50 of a database. They are kept when the database is gone.
--
-- Columns:
--   target_id  The database.
--   name       Letters, digits, _, - and . of ASCII.
--   value      Any text, also an empty one.
CREATE TABLE jobs_internal.target_tags (
    target_id UNIQUEIDENTIFIER NOT NULL,
    name      NVARCHAR(128) NOT NULL,
    value     NVARCHAR(256) NOT NULL,
    CONSTRAINT PK_target_tags PRIMARY KEY (target_id, name),
    CONSTRAINT FK_target_tags_targets FOREIGN KEY (target_id) REFERENCES jobs_internal.targets (target_id)
);

-- One call may set the tags of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.target_tags SET (LOCK_ESCALATION = DISABLE);
