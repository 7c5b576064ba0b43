-- Lets steps depend on the outcomes of other steps.
ALTER TABLE jobs_internal.job_versions ADD has_dependencies BIT NOT NULL CONSTRAINT DF_job_versions_has_dependencies DEFAULT 0;

ALTER TABLE jobs_internal.job_steps ADD
    has_after BIT NOT NULL CONSTRAINT DF_job_steps_has_after DEFAULT 0,
    run_when NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_run_when DEFAULT N'Succeeded',
    on_targets NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_on_targets DEFAULT N'All';

ALTER TABLE jobs_internal.step_executions ADD
    waits_for_list BIT NOT NULL CONSTRAINT DF_step_executions_waits_for_list DEFAULT 0,
    unfollowed BIT NOT NULL CONSTRAINT DF_step_executions_unfollowed DEFAULT 0,
    skipped_by_condition BIT NOT NULL CONSTRAINT DF_step_executions_skipped_by_condition DEFAULT 0,
    result NVARCHAR(10) NULL;

-- A batch of its own: this one is compiled before the columns exist.
EXECUTE sys.sp_executesql N'ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_run_when
    CHECK (run_when IN (N''Succeeded'', N''Failed'', N''Finished''));
ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_on_targets
    CHECK (on_targets IN (N''All'', N''Failed''));
ALTER TABLE jobs_internal.step_executions WITH CHECK ADD CONSTRAINT CK_step_executions_skipped_by_condition
    CHECK (skipped_by_condition = 0 OR lifecycle = N''Skipped'');
ALTER TABLE jobs_internal.step_executions WITH CHECK ADD CONSTRAINT CK_step_executions_result
    CHECK (result IN (N''Failed'', N''Canceled''));
CREATE INDEX IX_step_executions_waits_for_list ON jobs_internal.step_executions (job_id, step_execution_id)
    WHERE waits_for_list = 1 AND is_active = 1;
CREATE INDEX IX_step_executions_unfollowed ON jobs_internal.step_executions (execution_id, step_execution_id)
    WHERE unfollowed = 1 AND is_active = 0;';

CREATE TABLE jobs_internal.job_step_dependencies (
    job_id        UNIQUEIDENTIFIER NOT NULL,
    version       INT NOT NULL,
    step_id       INT NOT NULL,
    after_step_id INT NOT NULL,
    CONSTRAINT PK_job_step_dependencies PRIMARY KEY (job_id, version, step_id, after_step_id),
    CONSTRAINT FK_job_step_dependencies_job_steps FOREIGN KEY (job_id, version, step_id)
        REFERENCES jobs_internal.job_steps (job_id, version, step_id) ON DELETE CASCADE,
    CONSTRAINT CK_job_step_dependencies_after_step_id CHECK (after_step_id >= 1)
);

CREATE TABLE jobs_internal.step_execution_causes (
    execution_id  BIGINT NOT NULL,
    step_id       INT NOT NULL,
    cause_step_id INT NOT NULL,
    CONSTRAINT PK_step_execution_causes PRIMARY KEY (execution_id, step_id, cause_step_id),
    CONSTRAINT FK_step_execution_causes_step_executions FOREIGN KEY (execution_id, step_id)
        REFERENCES jobs_internal.step_executions (execution_id, step_id) ON DELETE CASCADE
);
