-- Lists of targets that jobs_internal.register_targets is still to read. Usually empty.
--
-- Columns:
--   step_execution_id  The step whose list it is. If its target group is not resolved yet, the row waits. No foreign key: a purge may
--                      delete the step meanwhile.
--   only_new           1: a later list of the group was read, so only databases that are not known yet matter.
--   after              The last target that was read.
--   had                Of the slices that were read: databases that the group had before.
--   found              Of these slices: databases that came to the group.
--   lost               Of these slices: databases that the list does not have any more.
CREATE TABLE jobs_internal.target_lists (
    step_execution_id BIGINT NOT NULL,
    only_new          BIT NOT NULL,
    after             UNIQUEIDENTIFIER NOT NULL
        CONSTRAINT DF_target_lists_after DEFAULT '00000000-0000-0000-0000-000000000000',
    had               INT NOT NULL CONSTRAINT DF_target_lists_had DEFAULT 0,
    found             INT NOT NULL CONSTRAINT DF_target_lists_found DEFAULT 0,
    lost              INT NOT NULL CONSTRAINT DF_target_lists_lost DEFAULT 0,
    CONSTRAINT PK_target_lists PRIMARY KEY (step_execution_id)
);
