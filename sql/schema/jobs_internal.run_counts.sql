-- Runs that schedules have not accounted for, and whose attempts are too many to be counted in one pass: how far passes have counted
-- them, slice by slice (jobs_internal.count_attempts). end_scheduled_runs deletes the row when it accounts for the run, or when the run was
-- purged. Usually empty.
--
-- Columns:
--   execution_id       The run, which has ended. No foreign key, because a purge deletes the run only.
--   step_execution_id  The step that is being counted.
--   after              The last task_id of it that was counted, below 0; 0: none. Above 0: the last target_execution_id all of whose
--                      attempts were counted by procedures of schema version 39 or earlier.
--   is_complete        1: all attempts are counted.
--   failures           Number of attempts that ended as Failed, TimedOut or Unknown.
--   reached            Number of those that reached their target.
--   unreached          Number of those that did not.
CREATE TABLE jobs_internal.run_counts (
    execution_id      BIGINT NOT NULL,
    step_execution_id BIGINT NOT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_run_counts_after DEFAULT 0,
    is_complete       BIT NOT NULL CONSTRAINT DF_run_counts_is_complete DEFAULT 0,
    failures          INT NOT NULL CONSTRAINT DF_run_counts_failures DEFAULT 0,
    reached           INT NOT NULL CONSTRAINT DF_run_counts_reached DEFAULT 0,
    unreached         INT NOT NULL CONSTRAINT DF_run_counts_unreached DEFAULT 0,
    CONSTRAINT PK_run_counts PRIMARY KEY (execution_id)
);
