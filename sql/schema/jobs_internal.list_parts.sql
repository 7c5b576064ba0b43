-- Parts of lists of targets, as an agent has sent them (jobs_internal.complete_resolution), until a pass has written them
-- to target_executions. Parts of a resolution that ended without a list, because its agent died, are deleted by passes.
--
-- Columns:
--   task_id  The resolution. No foreign key, for the same reason as in step_lists.
--   part     Number of the part, from 1.
--   targets  JSON, as in complete_resolution.
CREATE TABLE jobs_internal.list_parts (
    task_id BIGINT NOT NULL,
    part    INT NOT NULL,
    targets NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_list_parts PRIMARY KEY (task_id, part)
);
