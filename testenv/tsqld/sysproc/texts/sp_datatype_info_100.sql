CREATE PROCEDURE sys.sp_datatype_info_100 @data_type int = 0, @ODBCVer tinyint = 2
AS
-- Documentation: sp_datatype_info; ODBC, SQLGetTypeInfo.
SELECT CAST(TYPE_NAME AS sysname) AS TYPE_NAME, CAST(DATA_TYPE AS smallint) AS DATA_TYPE, CAST(PRECISION AS int) AS PRECISION, CAST(literal_prefix AS varchar(32)) AS LITERAL_PREFIX,
    CAST(literal_suffix AS varchar(32)) AS LITERAL_SUFFIX, CAST(create_params AS varchar(32)) AS CREATE_PARAMS, CAST(nullable AS smallint) AS NULLABLE,
    CAST(CASE WHEN searchable IN (1, 3) AND system_type_id IN (35, 99, 167, 175, 231, 239) AND N'a' COLLATE DATABASE_DEFAULT <> N'A' COLLATE DATABASE_DEFAULT OR system_type_id = 241 THEN 1 ELSE 0 END AS smallint) AS CASE_SENSITIVE,
    CAST(searchable AS smallint) AS SEARCHABLE, CAST(is_unsigned AS smallint) AS UNSIGNED_ATTRIBUTE, CAST(is_money AS smallint) AS MONEY, CAST(auto_increment AS smallint) AS AUTO_INCREMENT,
    CAST(TYPE_NAME AS sysname) AS LOCAL_TYPE_NAME, CAST(minimum_scale AS smallint) AS MINIMUM_SCALE, CAST(maximum_scale AS smallint) AS MAXIMUM_SCALE,
    CAST(sql_data_type AS smallint) AS SQL_DATA_TYPE, CAST(sql_datetime_sub AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN radix = 2 AND @ODBCVer < 3 THEN 10 ELSE radix END AS int) AS NUM_PREC_RADIX, CAST(NULL AS smallint) AS INTERVAL_PRECISION, CAST(usertype AS smallint) AS USERTYPE
FROM (
    SELECT name AS TYPE_NAME, CASE WHEN @ODBCVer < 3 THEN data_type_2 ELSE data_type END AS DATA_TYPE, CASE WHEN @ODBCVer < 3 THEN precision_2 ELSE precision END AS PRECISION,
        system_type_id, literal_prefix, literal_suffix, create_params, nullable, searchable, is_unsigned, is_money, auto_increment, minimum_scale, maximum_scale, sql_data_type,
        sql_datetime_sub, radix, usertype
    FROM sys.spt_datatype_info
    UNION ALL
    SELECT name + CASE WHEN system_type_id IN (106, 108) THEN N'() identity' ELSE N' identity' END, data_type, precision, system_type_id, NULL, NULL,
        CASE WHEN system_type_id IN (106, 108) THEN 'precision' END, 0, 2, is_unsigned, 0, 1, 0, 0, sql_data_type, NULL, radix, usertype
    FROM sys.spt_datatype_info
    WHERE system_type_id IN (48, 52, 56, 106, 108, 127)
    UNION ALL
    SELECT N'sysname', data_type, 128, system_type_id, literal_prefix, literal_suffix, NULL, 0, 3, NULL, 0, NULL, NULL, NULL, sql_data_type, NULL, NULL, 18
    FROM sys.spt_datatype_info
    WHERE system_type_id = 231
) AS t
WHERE @data_type = 0 OR DATA_TYPE = @data_type
ORDER BY 2, 12, 11, 20, 1;
