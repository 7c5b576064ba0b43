-- Lists of targets that jobs_internal.register_targets is still to read. Usually empty.
--
-- Columns:
--   step_execution_id  The step whose list it is. If its target group is not resolved yet, the row waits. No foreign key: a purge may
--                      delete the step meanwhile.
--   only_new           1: a later list of the group was read, so only databases that are not known yet matter.
--   after              The last target that was read.
CREATE TABLE jobs_internal.target_lists (
    step_execution_id BIGINT NOT NULL,
    only_new          BIT NOT NULL,
    after             UNIQUEIDENTIFIER NOT NULL
        CONSTRAINT DF_target_lists_after DEFAULT '00000000-0000-0000-0000-000000000000',
    CONSTRAINT PK_target_lists PRIMARY KEY (step_execution_id)
);
