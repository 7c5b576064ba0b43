-- What sessions have waited for since the server started, without the waits of its background tasks. The difference of two readings is the
-- run's. https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-os-wait-stats-transact-sql
SELECT w.wait_type, w.waiting_tasks_count AS waits, w.wait_time_ms, w.max_wait_time_ms, w.signal_wait_time_ms
FROM sys.dm_os_wait_stats AS w
WHERE w.waiting_tasks_count > 0
    AND (
        w.wait_type LIKE N'LCK[_]%'
        OR w.wait_type LIKE N'PAGE%LATCH[_]%'
        OR w.wait_type IN (
            N'WRITELOG', N'RESOURCE_SEMAPHORE', N'RESOURCE_SEMAPHORE_QUERY_COMPILE', N'SOS_SCHEDULER_YIELD', N'CXPACKET', N'THREADPOOL', N'ASYNC_NETWORK_IO'
        )
    )
ORDER BY w.wait_time_ms DESC;
