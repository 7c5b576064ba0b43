CREATE VIEW sys.events AS
SELECT t.object_id, t.type, t.type_desc, t.is_trigger_event, t.event_group_type, t.event_group_type_desc
FROM sys.trigger_events AS t
