-- The jobs of the test of the dashboard in a browser. $(server) is the embedded server. Shop07 lacks the table dbo.Orders.
EXEC jobs.sp_add_target_group N'Shops';
DECLARE @i INT = 1;
DECLARE @name NVARCHAR(128);
WHILE @i <= 24
BEGIN
    SET @name = CONCAT(N'Shop', FORMAT(@i, N'00'));
    EXEC jobs.sp_add_target_group_member N'Shops', @target_type = N'SqlDatabase', @server_name = N'$(server)', @database_name = @name;
    SET @i += 1;
END;
GO
EXEC jobs.sp_add_job @job_name = N'Order totals', @description = N'Totals of all orders, <b>each night</b>';
EXEC jobs.sp_add_jobstep @job_name = N'Order totals', @step_name = N'Totals', @target_group_name = N'Shops',
    @command = N'-- Orders without a total get one.
UPDATE dbo.Orders
SET Total = 19.90
WHERE Total IS NULL;
PRINT CONCAT(N''Orders with a new total: '', @@ROWCOUNT);
WAITFOR DELAY ''00:00:01'';', @retry_attempts = 1, @initial_retry_interval_seconds = 1;
EXEC jobs.sp_add_jobstep @job_name = N'Order totals', @step_name = N'Report', @target_group_name = N'Shops', @command = N'SELECT 1;';
EXEC jobs.sp_update_jobstep @job_name = N'Order totals', @step_name = N'Report', @command = N'SELECT COUNT(*) AS orders FROM dbo.Orders;';
GO
EXEC jobs.sp_add_schedule @job_name = N'Order totals', @schedule_name = N'nightly', @kind = N'cron5', @spec = N'30 2 * * 1-5',
    @time_zone = N'Europe/Berlin';
EXEC jobs.sp_add_schedule @job_name = N'Order totals', @schedule_name = N'month''s end', @kind = N'rrule',
    @spec = N'DTSTART;TZID=Europe/Berlin:20260101T200000
RRULE:FREQ=MONTHLY;BYMONTHDAY=-1';
EXEC jobs.sp_pause_schedule @job_name = N'Order totals', @schedule_name = N'month''s end', @paused = 1, @note = N'until the audit is over';
GO
EXEC jobs.sp_add_alert @alert_name = N'A schedule is paused', @condition = N'SchedulePaused', @seconds = 1;
EXEC jobs.sp_add_alert @alert_name = N'Orders have no totals', @condition = N'TargetsFailed', @job_name = N'Order totals', @percent_failed = 1, @severity = N'Critical';
GO
EXEC jobs.sp_set_limit @scope = N'Job', @name = N'Order totals', @max_concurrent_targets = 8;
EXEC jobs.sp_add_job @job_name = N'<script>alert(1)</script> אב', @description = N'A name that a page must show as text';
GO
