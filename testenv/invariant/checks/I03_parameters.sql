-- I3: the parameters of a run exist as long as the run, and are the text that was stored; a rerun
-- has those of the run that it repeats. No foreign key enforces this.
SELECT CONCAT(N'the parameters ', e.payload_id, N' of job execution ', e.execution_id, N' do not exist') AS detail
FROM jobs_internal.job_executions AS e
WHERE e.payload_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.payloads AS p WHERE p.payload_id = e.payload_id)
UNION ALL
SELECT CONCAT(N'the parameters ', s.payload_id, N' of schedule ', s.schedule_id, N' do not exist')
FROM jobs_internal.schedules AS s
WHERE s.payload_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.payloads AS p WHERE p.payload_id = s.payload_id)
UNION ALL
SELECT CONCAT(N'the parameters ', s.run_payload_id, N' of runs of schedule ', s.schedule_id, N' do not exist')
FROM jobs_internal.schedules AS s
WHERE s.run_payload_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.payloads AS p WHERE p.payload_id = s.run_payload_id)
UNION ALL
SELECT CONCAT(N'the parameters ', p.payload_id, N' do not have their hash')
FROM jobs_internal.payloads AS p
WHERE p.hash <> HASHBYTES('SHA2_256', p.text)
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' has other parameters than the run that it repeats, ', o.execution_id)
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.job_executions AS o ON o.execution_id = e.rerun_of
LEFT JOIN jobs_internal.payloads AS p ON p.payload_id = e.payload_id
LEFT JOIN jobs_internal.payloads AS q ON q.payload_id = o.payload_id
WHERE COALESCE(p.hash, 0x00) <> COALESCE(q.hash, 0x00);
