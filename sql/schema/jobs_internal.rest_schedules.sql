-- Schedules of the SAP surface: what they have beside their rows in schedules.
--
-- Columns:
--   schedule_id       The schedule.
--   rest_schedule_id  Its public id. schedules.name is its text.
--   mode              Member of the text that says when it runs: cron, time, repeatInterval or repeatAt.
--   spec              Its text as it was given. schedules.spec has the bounds of the job, too, as the member job.
--   active            Its switch while the job is inactive; otherwise schedules.enabled is its switch.
--   description       Free text; NULL: none.
--   start_at, end_at  The instants of startTime and endTime in the text, for display and searches; NULL: none.
CREATE TABLE jobs_internal.rest_schedules (
    schedule_id      BIGINT NOT NULL,
    rest_schedule_id UNIQUEIDENTIFIER NOT NULL,
    mode             NVARCHAR(20) NOT NULL,
    spec             NVARCHAR(MAX) NOT NULL,
    active           BIT NOT NULL,
    description      NVARCHAR(MAX) NULL,
    start_at         DATETIME2(7) NULL,
    end_at           DATETIME2(7) NULL,
    CONSTRAINT PK_rest_schedules PRIMARY KEY (schedule_id),
    CONSTRAINT FK_rest_schedules_schedules FOREIGN KEY (schedule_id)
        REFERENCES jobs_internal.schedules (schedule_id) ON DELETE CASCADE,
    CONSTRAINT CK_rest_schedules_mode CHECK (mode IN (N'cron', N'time', N'repeatInterval', N'repeatAt'))
);
