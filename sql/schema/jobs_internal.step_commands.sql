-- The texts of steps, each stored once: a version that does not change a step's text refers to the same row. Rows never
-- change, so agents may cache them.
--
-- Columns:
--   command_id      Id of the text.
--   job_id          The job; the text is deleted with it.
--   command_type    TSql, or the type of an action (jobs.command_types); or
--                   Upkeep: work of agents on the control database, which only system jobs have.
--   command_source  Inline.
--   command         TSql: the script, with GO lines and script variables. Actions: the definition, a JSON object. Upkeep:
--                   PurgeHistory, which means to call jobs_internal.purge_history until nothing is left; no script runs.
CREATE TABLE jobs_internal.step_commands (
    command_id     BIGINT NOT NULL IDENTITY(1, 1),
    job_id         UNIQUEIDENTIFIER NOT NULL,
    command_type   NVARCHAR(50) NOT NULL,
    command_source NVARCHAR(50) NOT NULL,
    command        NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_step_commands PRIMARY KEY (command_id),
    CONSTRAINT FK_step_commands_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id),
    CONSTRAINT CK_step_commands_command_type CHECK (command_type <> N'Upkeep' OR command = N'PurgeHistory'),
    CONSTRAINT CK_step_commands_command_source CHECK (command_source = N'Inline')
);

CREATE INDEX IX_step_commands_job_id ON jobs_internal.step_commands (job_id);
