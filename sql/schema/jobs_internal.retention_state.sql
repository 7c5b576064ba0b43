-- One row: how far purge_history has read the runs that are older than the retention. Runs of job collections stay for longer among them,
-- and are not read again by each call.
--
-- Columns:
--   id            1.
--   end_time, execution_id  The last run that was read; NULL: the next call begins with the oldest run.
CREATE TABLE jobs_internal.retention_state (
    id           TINYINT NOT NULL CONSTRAINT DF_retention_state_id DEFAULT 1,
    end_time     DATETIME2(7) NULL,
    execution_id BIGINT NULL,
    CONSTRAINT PK_retention_state PRIMARY KEY (id),
    CONSTRAINT CK_retention_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.retention_state (end_time)
VALUES (NULL);
