-- Windows of databases (jobs.sp_set_target_window): attempts start on them only while their windows are open.
--
-- Columns:
--   window_name     Name of the window.
--   target_id       Id of the database that has it; NULL: those that match tag_filter.
--   server_name     Its server; NULL likewise.
--   database_name   Its name; NULL likewise.
--   tag_filter      Filter of tags; NULL: the window is that of one database.
--   calendar_name   The window is open only while this calendar has a window; NULL: at all times but those of blackouts.
--   blackouts       It is closed while this calendar has a window; NULL: there are none.
--   time_zone       Zone of calendars that name none; NULL: UTC.
--   time_zone_tag   Tag with the zone of each database; NULL: none.
--   created_time    When it was added (UTC).
--   updated_time    When it was changed (UTC).
CREATE OR ALTER VIEW jobs.target_windows
AS
SELECT
    w.name AS window_name,
    w.target_id,
    w.server_name,
    w.database_name,
    w.tag_filter,
    NULLIF(w.calendar_name, N'') AS calendar_name,
    NULLIF(w.blackouts_name, N'') AS blackouts,
    NULLIF(w.time_zone, N'') AS time_zone,
    NULLIF(w.zone_tag, N'') AS time_zone_tag,
    w.created_at AS created_time,
    w.updated_at AS updated_time
FROM jobs_internal.target_windows AS w;
