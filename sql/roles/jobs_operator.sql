-- Everything that a reader may do; also starts, reruns, retries and stops runs, pauses schedules, and acknowledges and mutes alerts.
IF DATABASE_PRINCIPAL_ID(N'jobs_operator') IS NULL
    CREATE ROLE jobs_operator AUTHORIZATION dbo;
ALTER ROLE jobs_reader ADD MEMBER jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.agent_status TO jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.agent_tasks TO jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.advance_status TO jobs_operator;
ALTER ROLE jobs_operator ADD MEMBER jobagent_operator;
