-- Lets a step run on the targets on which the steps before it succeeded.
ALTER TABLE jobs_internal.job_steps DROP CONSTRAINT CK_job_steps_on_targets;
ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_on_targets
    CHECK (on_targets IN (N'All', N'Failed', N'Succeeded'));

ALTER TABLE jobs_internal.step_lists DROP CONSTRAINT CK_step_lists_source;
ALTER TABLE jobs_internal.step_lists WITH CHECK ADD CONSTRAINT CK_step_lists_source CHECK (
    (source = N'Parts' AND task_id IS NOT NULL)
    OR (source IN (N'Origin', N'Whole', N'Failed', N'Succeeded') AND task_id IS NULL)
);
