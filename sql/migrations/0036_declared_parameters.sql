-- Lets jobs declare their parameters. Jobs that exist declare none, so their runs take any parameters, as before.
ALTER TABLE jobs_internal.jobs ADD parameters NVARCHAR(MAX) NULL;
ALTER TABLE jobs_internal.schedules ADD run_payload_id BIGINT NULL;
ALTER TABLE jobs_internal.schedules ADD parameters_fault NVARCHAR(2048) NULL;
CREATE INDEX IX_schedules_run_payload_id ON jobs_internal.schedules (run_payload_id)
    WHERE run_payload_id IS NOT NULL;
