-- Keeps history for a week only. For people.
DELETE FROM jobs_internal.settings WHERE name = N'history_retention_days';
INSERT INTO jobs_internal.settings (name, value) VALUES (N'history_retention_days', N'7');
