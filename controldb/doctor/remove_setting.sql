-- Takes a stored setting back: its default holds then. For people; $(name) is the setting.
DELETE FROM jobs_internal.settings WHERE name = N'$(name)';
