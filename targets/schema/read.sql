-- One query for each kind of object, all in one batch, in the order of read.go. Each reads one catalog view once, and only columns that are
-- documented for SQL Server 2017 and for Azure SQL Database: https://learn.microsoft.com/sql/relational-databases/system-catalog-views, pages
-- "Object Catalog Views" and "Scalar Types Catalog Views". The reader joins the rows by their IDs.
SET LOCK_TIMEOUT 10000; -- a definition that is being changed is waited for so long
SELECT HAS_PERMS_BY_NAME(NULL, N'DATABASE', N'VIEW DEFINITION'); -- NULL: the current database, whose name may have dots
SELECT s.schema_id, s.name FROM sys.schemas AS s;
SELECT t.user_type_id, t.system_type_id, t.schema_id, t.name, t.is_user_defined, t.is_table_type, t.is_assembly_type, t.max_length, t.precision,
    t.scale, t.is_nullable
FROM sys.types AS t
ORDER BY t.is_user_defined;
SELECT t.user_type_id, t.type_table_object_id FROM sys.table_types AS t;
SELECT o.object_id, o.schema_id, o.type, o.name FROM sys.objects AS o WHERE o.is_ms_shipped = 0;
SELECT t.object_id, t.temporal_type_desc, t.history_table_id, t.is_memory_optimized, t.durability_desc, t.lock_escalation_desc, t.is_external,
    t.is_node, t.is_edge
FROM sys.tables AS t
WHERE t.is_ms_shipped = 0;
SELECT c.object_id, c.column_id, c.name, c.user_type_id, c.max_length, c.precision, c.scale, c.collation_name, c.is_nullable, c.is_rowguidcol,
    c.is_sparse, c.is_column_set, c.is_filestream, c.is_masked, c.is_hidden, c.generated_always_type_desc, c.encryption_type_desc, c.graph_type
FROM sys.columns AS c;
SELECT c.object_id, c.column_id, CONVERT(NVARCHAR(50), c.seed_value), CONVERT(NVARCHAR(50), c.increment_value), c.is_not_for_replication
FROM sys.identity_columns AS c;
SELECT c.object_id, c.column_id, c.definition, c.is_persisted FROM sys.computed_columns AS c;
SELECT d.parent_object_id, d.parent_column_id, d.name, d.is_system_named, d.definition FROM sys.default_constraints AS d;
SELECT i.object_id, i.index_id, i.name, i.type_desc, i.is_unique, i.is_primary_key, i.is_unique_constraint, i.ignore_dup_key, i.fill_factor,
    i.is_padded, i.is_disabled, i.allow_row_locks, i.allow_page_locks, i.filter_definition
FROM sys.indexes AS i
WHERE i.index_id > 0 AND i.is_hypothetical = 0;
SELECT k.object_id, k.index_id, k.index_column_id, k.column_id, k.key_ordinal, k.is_descending_key, k.is_included_column
FROM sys.index_columns AS k;
SELECT k.parent_object_id, k.unique_index_id, k.is_system_named FROM sys.key_constraints AS k;
SELECT c.parent_object_id, c.name, c.is_system_named, c.definition, c.is_disabled, c.is_not_trusted, c.is_not_for_replication
FROM sys.check_constraints AS c;
SELECT f.object_id, f.parent_object_id, f.name, f.is_system_named, f.referenced_object_id, f.delete_referential_action_desc,
    f.update_referential_action_desc, f.is_disabled, f.is_not_trusted, f.is_not_for_replication
FROM sys.foreign_keys AS f;
SELECT c.constraint_object_id, c.constraint_column_id, c.parent_column_id, c.referenced_column_id FROM sys.foreign_key_columns AS c;
SELECT s.object_id, s.user_type_id, s.precision, CONVERT(NVARCHAR(50), s.start_value), CONVERT(NVARCHAR(50), s.increment),
    CONVERT(NVARCHAR(50), s.minimum_value), CONVERT(NVARCHAR(50), s.maximum_value), s.is_cycling, s.is_cached, s.cache_size
FROM sys.sequences AS s;
SELECT s.object_id, s.base_object_name FROM sys.synonyms AS s;
SELECT t.object_id, t.name, t.parent_class, t.parent_id, t.is_disabled, t.is_not_for_replication FROM sys.triggers AS t WHERE t.is_ms_shipped = 0;
SELECT m.object_id, m.definition, m.uses_ansi_nulls, m.uses_quoted_identifier FROM sys.sql_modules AS m;
