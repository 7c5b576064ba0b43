-- The types of commands are those of the view jobs.command_types, against which the procedures check them. A new type needs no change of
-- a table. Upkeep remains what only system jobs have.
ALTER TABLE jobs_internal.step_commands DROP CONSTRAINT CK_step_commands_command_type;
ALTER TABLE jobs_internal.step_commands WITH CHECK ADD CONSTRAINT CK_step_commands_command_type
    CHECK (command_type <> N'Upkeep' OR command = N'PurgeHistory');
ALTER TABLE jobs_internal.alert_channels DROP CONSTRAINT CK_alert_channels_channel_type;
