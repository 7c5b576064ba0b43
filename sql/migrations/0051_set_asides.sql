-- Lets passes leave out a run, schedule or trigger of which the control database refuses to store something.
CREATE TABLE jobs_internal.set_asides (
    kind          NVARCHAR(10) NOT NULL,
    first_id      BIGINT NOT NULL,
    is_part       BIT NOT NULL,
    last_id       BIGINT NOT NULL,
    created_at    DATETIME2(7) NOT NULL,
    tries         INT NOT NULL,
    tried_at      DATETIME2(7) NOT NULL,
    retry_at      DATETIME2(7) NOT NULL,
    error_message NVARCHAR(2000) NULL,
    CONSTRAINT PK_set_asides PRIMARY KEY (kind, first_id, is_part),
    CONSTRAINT CK_set_asides_kind CHECK (kind IN (N'Run', N'Schedule', N'Trigger')),
    CONSTRAINT CK_set_asides_last_id CHECK (is_part = 1 OR last_id = first_id)
);
