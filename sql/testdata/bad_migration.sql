-- The terms of agents beside another table, and long work without a word about its size.
DECLARE @n INT;
UPDATE t SET t.protocol = 1 FROM jobs_internal.terms AS t;
UPDATE e SET e.parked = 0 FROM jobs_internal.job_executions AS e;
