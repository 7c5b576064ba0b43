-- The statements of our procedures, triggers and views that the server has compiled, with what they have cost since, and their plans. A
-- plan that is not in the cache any more, or too deep for the type XML, is NULL (dm_exec_text_query_plan returns text, so depth is no limit).
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-query-stats-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-text-query-plan-transact-sql
SELECT
    DB_NAME(t.dbid) AS database_name,
    OBJECT_SCHEMA_NAME(t.objectid, t.dbid) + N'.' + OBJECT_NAME(t.objectid, t.dbid) AS module,
    CAST(s.statement_start_offset AS BIGINT) AS offset,
    SUBSTRING(
        t.text,
        s.statement_start_offset / 2 + 1,
        (CASE s.statement_end_offset WHEN -1 THEN DATALENGTH(t.text) ELSE s.statement_end_offset END - s.statement_start_offset) / 2 + 1
    ) AS statement,
    s.execution_count AS executions,
    s.total_worker_time AS cpu_us,
    s.total_elapsed_time AS elapsed_us,
    s.total_logical_reads AS reads,
    s.max_logical_reads AS most_reads,
    COALESCE(p.query_plan, N'') AS query_plan
FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
CROSS APPLY sys.dm_exec_text_query_plan(s.plan_handle, s.statement_start_offset, s.statement_end_offset) AS p
WHERE t.objectid IS NOT NULL
    AND OBJECT_SCHEMA_NAME(t.objectid, t.dbid) IN (N'jobs', N'jobs_internal', N'jobs_rest');
