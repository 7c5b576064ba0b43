-- Makes the parameters of runs and schedules.
CREATE TABLE jobs_internal.payloads (
    payload_id BIGINT NOT NULL IDENTITY(1, 1),
    hash       BINARY(32) NOT NULL,
    text       NVARCHAR(MAX) NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_payloads PRIMARY KEY (payload_id)
);
CREATE INDEX IX_payloads_hash ON jobs_internal.payloads (hash);

ALTER TABLE jobs_internal.job_executions ADD payload_id BIGINT NULL;
ALTER TABLE jobs_internal.schedules ADD payload_id BIGINT NULL;
ALTER TABLE jobs_internal.job_steps ADD bind_parameters BIT NOT NULL CONSTRAINT DF_job_steps_bind_parameters DEFAULT 0;

-- A batch of its own: this one is compiled before the columns exist.
EXECUTE sys.sp_executesql N'CREATE INDEX IX_job_executions_payload_id ON jobs_internal.job_executions (payload_id)
    WHERE payload_id IS NOT NULL;
CREATE INDEX IX_schedules_payload_id ON jobs_internal.schedules (payload_id)
    WHERE payload_id IS NOT NULL;';
