-- The types of commands: what a step may do, and where alerts may be sent. jobs/action has the same list.
--
-- Columns:
--   command_type  Name of the type.
--   place         Place in lists for people.
--   is_step       1: a step may have it. All of these but TSql are actions; their commands are JSON objects.
--   is_channel    1: an alert channel may have it. If a step may as well, the definition is that of the action.
--   is_task       1: agents carry it out as a task of a run.
CREATE OR ALTER VIEW jobs.command_types
AS
SELECT
    t.command_type,
    t.place,
    CAST(t.is_step AS BIT) AS is_step,
    CAST(t.is_channel AS BIT) AS is_channel,
    CAST(t.is_task AS BIT) AS is_task
FROM (VALUES
    (N'TSql', 1, 1, 0, 1),
    (N'Http', 2, 1, 1, 1),
    (N'StorageQueue', 3, 1, 1, 1),
    (N'ServiceBusQueue', 4, 1, 1, 1),
    (N'ServiceBusTopic', 5, 1, 1, 1),
    (N'Process', 6, 1, 0, 1),
    (N'Drift', 7, 1, 0, 1), -- a comparison of schemas by agents, whose command is a JSON object as well
    (N'Mail', 101, 0, 1, 0),
    (N'Slack', 102, 0, 1, 0),
    (N'Teams', 103, 0, 1, 0),
    (N'Upkeep', 201, 0, 0, 1), -- work of agents on the control database, which only system jobs have
    (N'Trial', 202, 0, 0, 1), -- a script, in a run with this mode (DESIGN.md, "Trial and preflight")
    (N'Preflight', 203, 0, 0, 1) -- likewise
) AS t (command_type, place, is_step, is_channel, is_task);
