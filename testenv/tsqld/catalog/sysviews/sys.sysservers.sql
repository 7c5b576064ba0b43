CREATE VIEW sys.sysservers AS
SELECT CAST(s.server_id AS smallint) AS srvid, CAST(1089 AS smallint) AS srvstatus, s.name AS srvname, s.product AS srvproduct, s.provider AS providername, s.data_source AS datasource,
    s.location, s.provider_string AS providerstring, s.modify_date AS schemadate, CAST(0 AS int) AS topologyx, CAST(0 AS int) AS topologyy, s.catalog, CAST(s.collation_name AS sysname) AS srvcollation,
    s.connect_timeout AS connecttimeout, s.query_timeout AS querytimeout, CAST(s.name AS char(30)) AS srvnetname, CAST(1 AS bit) AS isremote, s.is_remote_login_enabled AS rpc,
    CAST(0 AS bit) AS pub, CAST(0 AS bit) AS sub, CAST(0 AS bit) AS dist, CAST(0 AS bit) AS dpub, s.is_rpc_out_enabled AS rpcout, s.is_data_access_enabled AS dataaccess,
    s.is_collation_compatible AS collationcompatible, CAST(0 AS bit) AS system, s.uses_remote_collation AS useremotecollation, s.lazy_schema_validation AS lazyschemavalidation,
    s.collation_name AS collation, CAST(0 AS bit) AS nonsqlsub
FROM sys.servers AS s
