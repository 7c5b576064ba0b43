-- What jobs.set_asides and the run's message say about what is set aside.
--
-- Columns:
--   kind, first_id  The run, schedule or trigger, as in jobs_internal.set_asides.
--   message         What was refused, what it means, and what to do, in words.
CREATE OR ALTER VIEW jobs_internal.set_aside_messages
AS
SELECT
    z.kind,
    z.first_id,
    CONCAT(
        N'Set aside since ', CONVERT(NVARCHAR(19), z.created_at, 126), N'Z: the control database refuses what a pass would store (',
        z.error_message, N'). ',
        CASE z.kind
            WHEN N'Run' THEN N'What agents run goes on; nothing else of this run starts or ends.'
            WHEN N'Schedule' THEN N'Instants that wait for an earlier run start no run.'
            ELSE N'The trigger starts no run.'
        END,
        N' Remove the cause, such as a constraint or a trigger on a table of jobs_internal. The next try is at ',
        CONVERT(NVARCHAR(19), z.retry_at, 126), N'Z',
        CASE WHEN z.kind = N'Run' THEN N', or when the run is stopped or sp_retry_job_execution_now is called' END, N'.'
    ) AS message
FROM jobs_internal.set_asides AS z
WHERE z.is_part = 0;
