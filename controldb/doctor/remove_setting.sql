-- Removes a stored setting, so that its default applies. For administrators; $(name) is the setting.
EXECUTE jobs.sp_set_setting @name = N'$(name)';
