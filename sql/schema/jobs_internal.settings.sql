-- Settings of the whole system; jobs.sp_set_setting changes them. A setting without a row has its default
-- (jobs_internal.effective_settings, which describes them).
--
-- Columns:
--   name        Name of the setting.
--   value       Text of the value.
--   updated_at  When the setting was changed.
CREATE TABLE jobs_internal.settings (
    name       NVARCHAR(128) NOT NULL,
    value      NVARCHAR(4000) NOT NULL,
    updated_at DATETIME2(7) NOT NULL CONSTRAINT DF_settings_updated_at DEFAULT SYSUTCDATETIME(),
    CONSTRAINT PK_settings PRIMARY KEY (name)
);
