CREATE PROCEDURE sys.sp_server_info @attribute_id int = NULL
AS
-- Documentation: sp_server_info.
SELECT attribute_id, CAST(attribute_name AS varchar(60)) AS attribute_name, CAST(attribute_value AS varchar(255)) AS attribute_value
FROM (VALUES
    (1, 'DBMS_NAME', 'Microsoft SQL Server'), (2, 'DBMS_VER', CAST(CONCAT('Microsoft SQL Server 2022 - ', CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))) AS varchar(255))),
    (10, 'OWNER_TERM', 'owner'), (11, 'TABLE_TERM', 'table'), (12, 'MAX_OWNER_NAME_LENGTH', '128'), (13, 'TABLE_LENGTH', '128'), (14, 'MAX_QUAL_LENGTH', '128'),
    (15, 'COLUMN_LENGTH', '128'), (16, 'IDENTIFIER_CASE', 'MIXED'), (17, 'TX_ISOLATION', '2'),
    (18, 'COLLATION_SEQ', 'charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52'), (19, 'SAVEPOINT_SUPPORT', 'Y'), (20, 'MULTI_RESULT_SETS', 'Y'),
    (22, 'ACCESSIBLE_TABLES', 'Y'), (100, 'USERID_LENGTH', '128'), (101, 'QUALIFIER_TERM', 'database'), (102, 'NAMED_TRANSACTIONS', 'Y'), (103, 'SPROC_AS_LANGUAGE', 'Y'),
    (104, 'ACCESSIBLE_SPROC', 'Y'), (105, 'MAX_INDEX_COLS', '16'), (106, 'RENAME_TABLE', 'Y'), (107, 'RENAME_COLUMN', 'Y'), (108, 'DROP_COLUMN', 'Y'),
    (109, 'INCREASE_COLUMN_LENGTH', 'Y'), (110, 'DDL_IN_TRANSACTION', 'Y'), (111, 'DESCENDING_INDEXES', 'Y'), (112, 'SP_RENAME', 'Y'), (113, 'REMOTE_SPROC', 'Y'),
    (500, 'SYS_SPROC_VERSION', CAST(SERVERPROPERTY('ProductVersion') AS varchar(255)))
) AS v (attribute_id, attribute_name, attribute_value)
WHERE attribute_id = @attribute_id OR @attribute_id IS NULL
ORDER BY attribute_id;
