CREATE VIEW sys.sysobjects AS
SELECT name, object_id AS id, type AS xtype, CAST(schema_id AS smallint) AS uid, CAST(0 AS smallint) AS info, 0 AS status, 0 AS base_schema_ver, 0 AS replinfo,
    parent_object_id AS parent_obj, create_date AS crdate, CAST(0 AS smallint) AS ftcatid, 0 AS schema_ver, 0 AS stats_schema_ver, type, CAST(0 AS smallint) AS userstat,
    CAST(0 AS smallint) AS sysstat, CAST(0 AS smallint) AS indexdel, modify_date AS refdate, 0 AS version, 0 AS deltrig, 0 AS instrig, 0 AS updtrig, 0 AS seltrig, 0 AS category
FROM sys.all_objects
