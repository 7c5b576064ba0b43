CREATE VIEW sys.spt_datatype_info AS
-- The types of ODBC (documentation: sp_datatype_info; ODBC, SQLGetTypeInfo). data_type is for ODBC 3, data_type_2 for
-- ODBC 2, data_type_28 for clients older than SQL Server 2008. length is the transfer size, NULL if it depends on the
-- column.
SELECT system_type_id, name, data_type, data_type_2, data_type_28, precision, precision_2, length, literal_prefix, literal_suffix, create_params, nullable, searchable,
    is_unsigned, is_money, auto_increment, minimum_scale, maximum_scale, sql_data_type, sql_datetime_sub, radix, usertype, ss_type, ss_type_null
FROM (VALUES
    (127, N'bigint', -5, -5, -5, 19, 19, 8, NULL, NULL, NULL, 1, 2, 0, 0, 0, 0, 0, -5, NULL, 10, 0, 63, 108),
    (173, N'binary', -2, -2, -2, 8000, 8000, NULL, '0x', NULL, 'length', 1, 2, NULL, 0, NULL, NULL, NULL, -2, NULL, NULL, 3, 45, 37),
    (104, N'bit', -7, -7, -7, 1, 1, 1, NULL, NULL, NULL, 1, 2, NULL, 0, NULL, 0, 0, -7, NULL, NULL, 16, 50, 50),
    (175, N'char', 1, 1, 1, 8000, 8000, NULL, '''', '''', 'length', 1, 3, NULL, 0, NULL, NULL, NULL, 1, NULL, NULL, 1, 47, 39),
    (40, N'date', 91, 9, -9, 10, 10, 6, '''', '''', NULL, 1, 3, NULL, 0, NULL, NULL, 0, 9, 1, NULL, 0, 0, 0),
    (61, N'datetime', 93, 11, 11, 23, 23, 16, '''', '''', NULL, 1, 3, NULL, 0, NULL, 3, 3, 9, 3, NULL, 12, 61, 111),
    (42, N'datetime2', 93, 11, -9, 27, 27, 16, '''', '''', 'scale', 1, 3, NULL, 0, NULL, 0, 7, 9, 3, NULL, 0, 0, 0),
    (43, N'datetimeoffset', -155, -155, -9, 34, 34, 20, '''', '''', 'scale', 1, 3, NULL, 0, NULL, 0, 7, -155, 0, NULL, 0, 0, 0),
    (106, N'decimal', 3, 3, 3, 38, 38, NULL, NULL, NULL, 'precision,scale', 1, 2, 0, 0, 0, 0, 38, 3, NULL, 10, 24, 106, 106),
    (62, N'float', 6, 6, 6, 53, 15, 8, NULL, NULL, NULL, 1, 2, 0, 0, 0, NULL, NULL, 6, NULL, 2, 8, 62, 109),
    (34, N'image', -4, -4, -4, 2147483647, 2147483647, 2147483647, '0x', NULL, NULL, 1, 0, NULL, 0, NULL, NULL, NULL, -4, NULL, NULL, 20, 34, 34),
    (56, N'int', 4, 4, 4, 10, 10, 4, NULL, NULL, NULL, 1, 2, 0, 0, 0, 0, 0, 4, NULL, 10, 7, 56, 38),
    (60, N'money', 3, 3, 3, 19, 19, 21, '$', NULL, NULL, 1, 2, 0, 1, 0, 4, 4, 3, NULL, 10, 11, 60, 110),
    (239, N'nchar', -8, -8, -8, 4000, 4000, NULL, 'N''', '''', 'length', 1, 3, NULL, 0, NULL, NULL, NULL, -8, NULL, NULL, 0, 47, 39),
    (99, N'ntext', -10, -10, -10, 1073741823, 1073741823, 2147483646, 'N''', '''', NULL, 1, 1, NULL, 0, NULL, NULL, NULL, -10, NULL, NULL, 0, 35, 35),
    (108, N'numeric', 2, 2, 2, 38, 38, NULL, NULL, NULL, 'precision,scale', 1, 2, 0, 0, 0, 0, 38, 2, NULL, 10, 10, 108, 108),
    (231, N'nvarchar', -9, -9, -9, 4000, 4000, NULL, 'N''', '''', 'max length', 1, 3, NULL, 0, NULL, NULL, NULL, -9, NULL, NULL, 0, 39, 39),
    (59, N'real', 7, 7, 7, 24, 7, 4, NULL, NULL, NULL, 1, 2, 0, 0, 0, NULL, NULL, 7, NULL, 2, 23, 59, 109),
    (58, N'smalldatetime', 93, 11, 11, 16, 16, 16, '''', '''', NULL, 1, 3, NULL, 0, NULL, 0, 0, 9, 3, NULL, 22, 58, 111),
    (52, N'smallint', 5, 5, 5, 5, 5, 2, NULL, NULL, NULL, 1, 2, 0, 0, 0, 0, 0, 5, NULL, 10, 6, 52, 38),
    (122, N'smallmoney', 3, 3, 3, 10, 10, 12, '$', NULL, NULL, 1, 2, 0, 1, 0, 4, 4, 3, NULL, 10, 21, 122, 110),
    (98, N'sql_variant', -150, -150, -150, 8000, 8000, 8000, NULL, NULL, NULL, 1, 2, NULL, 0, NULL, 0, 0, -150, NULL, 10, 0, 39, 39),
    (35, N'text', -1, -1, -1, 2147483647, 2147483647, 2147483647, '''', '''', NULL, 1, 1, NULL, 0, NULL, NULL, NULL, -1, NULL, NULL, 19, 35, 35),
    (41, N'time', -154, -154, -9, 16, 16, 12, '''', '''', 'scale', 1, 3, NULL, 0, NULL, 0, 7, -154, 0, NULL, 0, 0, 0),
    (189, N'timestamp', -2, -2, -2, 8, 8, 8, '0x', NULL, NULL, 0, 2, NULL, 0, NULL, NULL, NULL, -2, NULL, NULL, 80, 45, 37),
    (48, N'tinyint', -6, -6, -6, 3, 3, 1, NULL, NULL, NULL, 1, 2, 1, 0, 0, 0, 0, -6, NULL, 10, 5, 48, 38),
    (36, N'uniqueidentifier', -11, -11, -11, 36, 36, 16, '''', '''', NULL, 1, 2, NULL, 0, NULL, NULL, NULL, -11, NULL, NULL, 0, 37, 37),
    (165, N'varbinary', -3, -3, -3, 8000, 8000, NULL, '0x', NULL, 'max length', 1, 2, NULL, 0, NULL, NULL, NULL, -3, NULL, NULL, 4, 37, 37),
    (167, N'varchar', 12, 12, 12, 8000, 8000, NULL, '''', '''', 'max length', 1, 3, NULL, 0, NULL, NULL, NULL, 12, NULL, NULL, 2, 39, 39),
    (241, N'xml', -152, -152, -10, 0, 0, 0, 'N''', '''', NULL, 1, 0, NULL, 0, NULL, NULL, NULL, -152, NULL, NULL, 0, 0, 0)
) AS v (system_type_id, name, data_type, data_type_2, data_type_28, precision, precision_2, length, literal_prefix, literal_suffix, create_params, nullable, searchable,
    is_unsigned, is_money, auto_increment, minimum_scale, maximum_scale, sql_data_type, sql_datetime_sub, radix, usertype, ss_type, ss_type_null)
