-- Keeps history for a week only. For people.
EXECUTE jobs.sp_set_setting @name = N'history_retention_days', @value = 7;
