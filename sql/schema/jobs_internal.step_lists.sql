-- Lists of targets that passes are writing, slice by slice (jobs_internal.write_list). The targets of such a step are not
-- to be seen, claimed or counted yet: the last slice deletes the row and makes the step WaitingForChildJobExecutions.
-- Usually empty.
--
-- Columns:
--   step_execution_id  The step, which is InProgress and stays so until its list is complete. No foreign key: the row ends
--                      before the step does.
--   job_id             Of the step.
--   source             Where the targets come from. Parts: list_parts, of a resolution; Origin: those in the wanted
--                      states of the step in the origin of a rerun; Whole: all of them; Failed, Succeeded: those on which
--                      the causes of the step failed or succeeded (DESIGN.md, "Dependencies"); Wave: the targets of a wave of a
--                      roll-out, in its order, which the step has in the roll-out's own run.
--   task_id            The resolution; only for Parts.
--   from_step          The step that is being read; NULL: none yet. Not for Parts.
--   after              The last key that was read: a part, a target of from_step, or a place in the wave.
--   examined           Number of targets of the origin that were read.
--   written            Number of targets that were written: the last ordinal.
--   left_failed        1: a failure of the origin is left out, which counts for the steps that come after this one.
--   left_canceled      The same for a cancellation.
CREATE TABLE jobs_internal.step_lists (
    step_execution_id BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL,
    source            NVARCHAR(10) NOT NULL,
    task_id           BIGINT NULL,
    from_step         BIGINT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_step_lists_after DEFAULT 0,
    examined          INT NOT NULL CONSTRAINT DF_step_lists_examined DEFAULT 0,
    written           INT NOT NULL CONSTRAINT DF_step_lists_written DEFAULT 0,
    left_failed       BIT NOT NULL CONSTRAINT DF_step_lists_left_failed DEFAULT 0,
    left_canceled     BIT NOT NULL CONSTRAINT DF_step_lists_left_canceled DEFAULT 0,
    CONSTRAINT PK_step_lists PRIMARY KEY (step_execution_id),
    CONSTRAINT CK_step_lists_source CHECK (
        (source = N'Parts' AND task_id IS NOT NULL)
        OR (source IN (N'Origin', N'Whole', N'Failed', N'Succeeded', N'Wave') AND task_id IS NULL)
    )
);
