-- Makes the row that says when a pass of any agent has last moved executions on.
CREATE TABLE jobs_internal.advance_state (
    id               TINYINT NOT NULL CONSTRAINT DF_advance_state_id DEFAULT 1,
    last_advanced_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_advance_state PRIMARY KEY (id),
    CONSTRAINT CK_advance_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.advance_state (last_advanced_at)
VALUES ('2000-01-01');
