-- Lets a changed rule reach runs whose limit was computed before.
ALTER TABLE jobs_internal.alert_run_limits ADD computed_for DATETIME2(7) NULL;
