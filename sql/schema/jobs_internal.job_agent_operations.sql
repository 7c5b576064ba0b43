-- Operations on the job agent. They are kept for a day after their end.
--
-- Columns:
--   operation_id   Made by the procedure that began the operation, or given by its caller.
--   kind           UpsertJobAccount or DropJobAccount.
--   agent_name     Name of the job agent.
--   status         InProgress, Succeeded or Failed.
--   error_code     Code of the failure in the API of job agents.
--   error_message  The failure in words.
--   from_state     State of the job agent before the operation, to which a failure leads back.
--   location, sku, capacity, identity_id, tags  UpsertJobAccount: the new values; the job agent gets them when the operation succeeds.
--   holder         The session's mark that carries out the operation; NULL: nobody.
--   held_until     When another session may continue it.
--   attempts       Number of times that it was taken up since the last one that was laid down in order.
--   started_at     When it began.
--   started_by     Login that began it.
--   ended_at       When it ended.
CREATE TABLE jobs_internal.job_agent_operations (
    operation_id  UNIQUEIDENTIFIER NOT NULL,
    kind          NVARCHAR(20) NOT NULL,
    agent_name    NVARCHAR(128) NOT NULL,
    status        NVARCHAR(20) NOT NULL CONSTRAINT DF_job_agent_operations_status DEFAULT N'InProgress',
    error_code    NVARCHAR(100) NULL,
    error_message NVARCHAR(2000) NULL,
    from_state    NVARCHAR(20) NOT NULL,
    location      NVARCHAR(128) NULL,
    sku           NVARCHAR(20) NULL,
    capacity      INT NULL,
    identity_id   NVARCHAR(1000) NULL,
    tags          NVARCHAR(MAX) NULL,
    holder        UNIQUEIDENTIFIER NULL,
    held_until    DATETIME2(7) NULL,
    attempts      INT NOT NULL CONSTRAINT DF_job_agent_operations_attempts DEFAULT 0,
    started_at    DATETIME2(7) NOT NULL,
    started_by    NVARCHAR(128) NOT NULL,
    ended_at      DATETIME2(7) NULL,
    CONSTRAINT PK_job_agent_operations PRIMARY KEY (operation_id),
    CONSTRAINT CK_job_agent_operations_kind CHECK (kind IN (N'UpsertJobAccount', N'DropJobAccount')),
    CONSTRAINT CK_job_agent_operations_status CHECK (
        (status = N'InProgress' AND ended_at IS NULL) OR (status IN (N'Succeeded', N'Failed') AND ended_at IS NOT NULL)
    )
);

CREATE UNIQUE INDEX UQ_job_agent_operations_status ON jobs_internal.job_agent_operations (status)
    WHERE status = N'InProgress';
