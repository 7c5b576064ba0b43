-- What agents have found out about windows of databases: one row for all windows with the same calendars in the same zone, however many
-- databases have them. T-SQL cannot evaluate a calendar. Without an answer that holds, a window is closed.
--
-- Columns:
--   answer_id       Internal key, which held_by of target_executions names.
--   calendar_name, blackouts_name, time_zone  As in target_windows, but the zone is that of the databases.
--   check_at        When an agent is to evaluate it; NULL: nothing waits for it.
--   holds_until     Until when the answer holds, two minutes at most; NULL: there is none.
--   is_open         1: it is open until then; 0: it is closed.
--   changes_at      When that changes; NULL: not known.
--   fault           Why it could not be evaluated; then it is closed. NULL: it was.
--   revision        The revision of window_state for which targets that this row holds were looked at again. Below 0: minus the one for
--                   which that has begun.
--   released_to     Up to which target_execution_id that is done.
CREATE TABLE jobs_internal.window_answers (
    answer_id      BIGINT NOT NULL IDENTITY(1, 1),
    calendar_name  NVARCHAR(128) NOT NULL,
    blackouts_name NVARCHAR(128) NOT NULL,
    time_zone      NVARCHAR(128) NOT NULL,
    check_at       DATETIME2(7) NULL,
    holds_until    DATETIME2(7) NULL,
    is_open        BIT NOT NULL CONSTRAINT DF_window_answers_is_open DEFAULT 0,
    changes_at     DATETIME2(7) NULL,
    fault          NVARCHAR(400) NULL,
    revision       BIGINT NOT NULL,
    released_to    BIGINT NOT NULL CONSTRAINT DF_window_answers_released_to DEFAULT 0,
    CONSTRAINT PK_window_answers PRIMARY KEY (answer_id),
    CONSTRAINT UQ_window_answers_calendar_name UNIQUE (calendar_name, blackouts_name, time_zone)
);

CREATE INDEX IX_window_answers_check_at ON jobs_internal.window_answers (check_at)
    WHERE check_at IS NOT NULL;
