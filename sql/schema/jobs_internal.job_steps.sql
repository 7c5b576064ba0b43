-- The steps of each version of each job. Rows never change after the transaction that created them.
--
-- Columns:
--   job_id, version, step_id           The step; step ids of a version are 1, 2, 3, … without gaps.
--   step_name                          Unique within the version.
--   command_id                         The text of the command.
--   credential_name                    Credential that runs the step; NULL: the agent's default.
--   target_group_id                    Target group on which the step runs. No foreign key: a group to which only old
--                                      versions refer may be deleted. Zero for Upkeep, and for actions without
--                                      a group, whose only target is the endpoint.
--   target_group_name                  The group's name; (control database) for Upkeep, (endpoint) for actions without a group.
--   initial_retry_interval_seconds     Wait before the first retry.
--   maximum_retry_interval_seconds     Maximum wait between two attempts.
--   retry_interval_backoff_multiplier  Factor between two successive waits.
--   retry_attempts                     Retries after the first attempt.
--   step_timeout_seconds               Time limit for one target, waits included (decision 8).
--   output_type                        SqlDatabase; NULL: no output. The other output columns belong to it.
--   output_credential_name, output_subscription_id, output_resource_group_name, output_server_name,
--   output_database_name, output_schema_name, output_table_name
--                                      Where the first result set goes.
--   max_parallelism                    Maximum number of databases of one elastic pool (of one server, outside pools)
--                                      at once; NULL: no limit.
--   on_unknown_outcome                 Reaction to an attempt whose outcome is unknown: Retry, by the step's retry
--                                      policy, or Fail. Await, only for actions: an attempt that was sent and got no
--                                      answer waits for a report; other unknown outcomes are as with Fail.
--   at_most_once                       1: the script runs in one transaction with a row of the target's table
--                                      jobagent.executed_scripts, by which a later attempt sees that it has committed.
--                                      Actions: an attempt whose outcome is unknown is not repeated.
--   bind_parameters                    Not used; releases before version 40 wrote it.
--   has_after                          1: the steps that come before it are its rows in job_step_dependencies, if any; 0: the
--                                      step with the preceding id.
--   run_when                           When it starts, once those steps are final: Succeeded (all of them succeeded), Failed (at
--                                      least one failed), or Finished. DESIGN.md, "Dependencies".
--   on_targets                         All: the databases of the target group. Failed: the targets on which those steps failed.
--                                      Succeeded: those on which they succeeded.
--   revision                           The job's revision at which the step last changed; versions copy it.
--   retry_errors                       Failures after which an attempt follows: All, or Transient (the error may pass by itself).
--   tolerated_failures                 How many targets may fail, and the step succeeds: a number, or a percentage such as 1%.
--   agent_options                      Options that only agents read, and no procedure: a JSON object with those that have not
--                                      their default, by the names of their parameters (store_step). NULL: all have it.
CREATE TABLE jobs_internal.job_steps (
    job_id                            UNIQUEIDENTIFIER NOT NULL,
    version                           INT NOT NULL,
    step_id                           INT NOT NULL,
    step_name                         NVARCHAR(128) NOT NULL,
    command_id                        BIGINT NOT NULL,
    credential_name                   NVARCHAR(128) NULL,
    target_group_id                   UNIQUEIDENTIFIER NOT NULL,
    target_group_name                 NVARCHAR(128) NOT NULL,
    initial_retry_interval_seconds    INT NOT NULL,
    maximum_retry_interval_seconds    INT NOT NULL,
    retry_interval_backoff_multiplier REAL NOT NULL,
    retry_attempts                    INT NOT NULL,
    step_timeout_seconds              INT NOT NULL,
    output_type                       NVARCHAR(11) NULL,
    output_credential_name            NVARCHAR(128) NULL,
    output_subscription_id            UNIQUEIDENTIFIER NULL,
    output_resource_group_name        NVARCHAR(128) NULL,
    output_server_name                NVARCHAR(256) NULL,
    output_database_name              NVARCHAR(128) NULL,
    output_schema_name                NVARCHAR(128) NULL,
    output_table_name                 NVARCHAR(128) NULL,
    max_parallelism                   INT NULL,
    on_unknown_outcome                NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_on_unknown_outcome DEFAULT N'Retry',
    at_most_once                      BIT NOT NULL CONSTRAINT DF_job_steps_at_most_once DEFAULT 0,
    bind_parameters                   BIT NOT NULL CONSTRAINT DF_job_steps_bind_parameters DEFAULT 0,
    has_after                         BIT NOT NULL CONSTRAINT DF_job_steps_has_after DEFAULT 0,
    run_when                          NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_run_when DEFAULT N'Succeeded',
    on_targets                        NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_on_targets DEFAULT N'All',
    revision                          BIGINT NOT NULL CONSTRAINT DF_job_steps_revision DEFAULT 1,
    retry_errors                      NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_retry_errors DEFAULT N'All',
    tolerated_failures                NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_tolerated_failures DEFAULT N'0',
    agent_options                     NVARCHAR(4000) NULL,
    CONSTRAINT PK_job_steps PRIMARY KEY (job_id, version, step_id),
    CONSTRAINT UQ_job_steps_step_name UNIQUE (job_id, version, step_name),
    CONSTRAINT FK_job_steps_job_versions FOREIGN KEY (job_id, version)
        REFERENCES jobs_internal.job_versions (job_id, version) ON DELETE CASCADE,
    CONSTRAINT FK_job_steps_step_commands FOREIGN KEY (command_id) REFERENCES jobs_internal.step_commands (command_id),
    CONSTRAINT CK_job_steps_step_id CHECK (step_id >= 1),
    CONSTRAINT CK_job_steps_output_type CHECK (output_type = N'SqlDatabase'),
    CONSTRAINT CK_job_steps_on_unknown_outcome CHECK (on_unknown_outcome IN (N'Retry', N'Fail', N'Await')),
    CONSTRAINT CK_job_steps_run_when CHECK (run_when IN (N'Succeeded', N'Failed', N'Finished')),
    CONSTRAINT CK_job_steps_on_targets CHECK (on_targets IN (N'All', N'Failed', N'Succeeded')),
    CONSTRAINT CK_job_steps_retry_errors CHECK (retry_errors IN (N'All', N'Transient')),
    CONSTRAINT CK_job_steps_tolerated_failures CHECK (tolerated_failures NOT LIKE N'%[^0-9%]%'),
    CONSTRAINT CK_job_steps_agent_options CHECK (ISJSON(agent_options) = 1)
);

CREATE INDEX IX_job_steps_target_group_id ON jobs_internal.job_steps (target_group_id);
CREATE INDEX IX_job_steps_command_id ON jobs_internal.job_steps (command_id);
