-- Calendars. A schedule that names a calendar is not due during the calendar's windows (D-P5).
--
-- Columns:
--   name        Unique; schedules name it in "blackouts".
--   spec        JSON object with dates, days of months, weekly windows or a rule, and its own zone.
--   created_at  When the calendar was added.
--   updated_at  When the calendar was changed.
CREATE TABLE jobs_internal.calendars (
    name       NVARCHAR(128) NOT NULL,
    spec       NVARCHAR(MAX) NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_calendars PRIMARY KEY (name)
);
