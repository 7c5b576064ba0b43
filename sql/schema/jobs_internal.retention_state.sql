-- One row: how far purge_history has read the runs that are older than the retention, and which times of the clock it believes. Runs of
-- job collections stay for longer among them, and are not read again by each call.
--
-- Columns:
--   id            1.
--   end_time, execution_id  The last run that was read; NULL: the next call begins with the oldest run.
--   purged_at     The clock at the first call of the latest night: calls less than twelve hours after it belong to it. NULL: no call yet.
--   trusted_at    The clock at the first call of the night before. A purge believes no clock that is more than a week ahead of it.
CREATE TABLE jobs_internal.retention_state (
    id           TINYINT NOT NULL CONSTRAINT DF_retention_state_id DEFAULT 1,
    end_time     DATETIME2(7) NULL,
    execution_id BIGINT NULL,
    purged_at    DATETIME2(7) NULL,
    trusted_at   DATETIME2(7) NULL,
    CONSTRAINT PK_retention_state PRIMARY KEY (id),
    CONSTRAINT CK_retention_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.retention_state (end_time)
VALUES (NULL);
