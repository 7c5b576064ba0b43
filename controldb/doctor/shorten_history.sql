-- Sets the retention of history to a week. For administrators.
EXECUTE jobs.sp_set_setting @name = N'history_retention_days', @value = 7;
