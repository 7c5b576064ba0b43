-- Steps whose targets have all ended, and are too many to be counted in one pass: how far passes have counted them, slice by slice
-- (jobs_internal.end_steps). The last slice ends the step and deletes the row. Usually empty.
--
-- Columns:
--   step_execution_id  The step, which is active, with targets that do not change any more. No foreign key: the row ends before
--                      the step does.
--   after              The last target_execution_id that was counted.
--   targets            Number of targets that were counted.
--   succeeded, failed, timed_out, canceled, skipped  Numbers of those that ended so.
CREATE TABLE jobs_internal.step_counts (
    step_execution_id BIGINT NOT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_step_counts_after DEFAULT 0,
    targets           INT NOT NULL CONSTRAINT DF_step_counts_targets DEFAULT 0,
    succeeded         INT NOT NULL CONSTRAINT DF_step_counts_succeeded DEFAULT 0,
    failed            INT NOT NULL CONSTRAINT DF_step_counts_failed DEFAULT 0,
    timed_out         INT NOT NULL CONSTRAINT DF_step_counts_timed_out DEFAULT 0,
    canceled          INT NOT NULL CONSTRAINT DF_step_counts_canceled DEFAULT 0,
    skipped           INT NOT NULL CONSTRAINT DF_step_counts_skipped DEFAULT 0,
    CONSTRAINT PK_step_counts PRIMARY KEY (step_execution_id)
);
