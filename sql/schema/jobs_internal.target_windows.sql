-- Windows of databases (jobs.sp_set_target_window): no attempt starts on them outside. DESIGN.md, "Held targets".
--
-- Columns:
--   window_id       Internal key.
--   name            Unique.
--   target_id       The database that has the window; NULL: those that match tag_filter. It need not be in targets.
--   server_name, database_name  Its names; NULL likewise.
--   tag_filter      Filter of tags (parse_tag_filter); NULL: of target_id alone.
--   calendar_name   The window is open only while this calendar has a window; empty: at all times but those of blackouts_name.
--   blackouts_name  It is closed while this calendar has a window; empty: there are no blackouts.
--   time_zone       Zone of calendars that name none; empty: UTC.
--   zone_tag        Tag whose value is the zone of a database, in place of time_zone; empty: none.
--   created_at      When the window was added.
--   updated_at      When it was changed.
CREATE TABLE jobs_internal.target_windows (
    window_id      BIGINT NOT NULL IDENTITY(1, 1),
    name           NVARCHAR(128) NOT NULL,
    target_id      UNIQUEIDENTIFIER NULL,
    server_name    NVARCHAR(256) NULL,
    database_name  NVARCHAR(128) NULL,
    tag_filter     NVARCHAR(4000) NULL,
    calendar_name  NVARCHAR(128) NOT NULL,
    blackouts_name NVARCHAR(128) NOT NULL,
    time_zone      NVARCHAR(128) NOT NULL,
    zone_tag       NVARCHAR(128) NOT NULL,
    created_at     DATETIME2(7) NOT NULL,
    updated_at     DATETIME2(7) NOT NULL,
    CONSTRAINT PK_target_windows PRIMARY KEY (window_id),
    CONSTRAINT UQ_target_windows_name UNIQUE (name),
    CONSTRAINT CK_target_windows_target_id CHECK (
        (target_id IS NULL AND server_name IS NULL AND database_name IS NULL AND tag_filter IS NOT NULL)
        OR (target_id IS NOT NULL AND server_name IS NOT NULL AND database_name IS NOT NULL AND tag_filter IS NULL)
    ),
    CONSTRAINT CK_target_windows_calendar_name CHECK (calendar_name <> N'' OR blackouts_name <> N'')
);
