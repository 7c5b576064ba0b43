-- Keeps the history if a purge runs while the clock is far ahead.
ALTER TABLE jobs_internal.retention_state ADD purged_at DATETIME2(7) NULL;
ALTER TABLE jobs_internal.retention_state ADD trusted_at DATETIME2(7) NULL;
