CREATE VIEW sys.system_views AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date, o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published,
    CAST(NULL AS bit) AS is_replicated, CAST(NULL AS bit) AS has_replication_filter, CAST(0 AS bit) AS has_opaque_metadata, CAST(0 AS bit) AS has_unchecked_assembly_data,
    CAST(0 AS bit) AS with_check_option, CAST(0 AS bit) AS is_date_correlation_view, CAST(NULL AS bit) AS is_tracked_by_cdc, CAST(NULL AS bit) AS has_snapshot,
    CAST(0 AS tinyint) AS ledger_view_type, CAST('NON_LEDGER_VIEW' AS nvarchar(60)) AS ledger_view_type_desc, CAST(0 AS bit) AS is_dropped_ledger_view
FROM sys.system_objects AS o
WHERE o.type = 'V'
