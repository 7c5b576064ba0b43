-- The position of the retention among the runs that it keeps for longer than others.
CREATE TABLE jobs_internal.retention_state (
    id           TINYINT NOT NULL CONSTRAINT DF_retention_state_id DEFAULT 1,
    end_time     DATETIME2(7) NULL,
    execution_id BIGINT NULL,
    CONSTRAINT PK_retention_state PRIMARY KEY (id),
    CONSTRAINT CK_retention_state_id CHECK (id = 1)
);
INSERT INTO jobs_internal.retention_state (end_time)
VALUES (NULL);
