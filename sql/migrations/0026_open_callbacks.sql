-- Finds the open callbacks of a run among any number of closed ones.
-- size: reads all callbacks; online in Enterprise, Developer and Azure.
CREATE INDEX IX_callbacks_open ON jobs_internal.callbacks (execution_id)
    INCLUDE (closed_at)
    WHERE closed_at IS NULL;
