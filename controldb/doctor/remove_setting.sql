-- Takes a stored setting back: its default holds then. For people; $(name) is the setting.
EXECUTE jobs.sp_set_setting @name = N'$(name)';
