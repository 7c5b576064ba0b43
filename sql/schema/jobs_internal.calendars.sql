-- Calendars: windows of time in which schedules that name them are not due (D-P5).
--
-- Columns:
--   name        Unique; schedules name it in "blackouts".
--   spec        JSON object with dates, weekly windows or a rule, and a zone of its own.
--   created_at  When it was added.
--   updated_at  When it was changed.
CREATE TABLE jobs_internal.calendars (
    name       NVARCHAR(128) NOT NULL,
    spec       NVARCHAR(MAX) NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_calendars PRIMARY KEY (name)
);
