-- Everything that an operator may do; also defines jobs, steps, schedules, calendars, target groups, secrets and alerts.
IF DATABASE_PRINCIPAL_ID(N'jobs_author') IS NULL
    CREATE ROLE jobs_author AUTHORIZATION dbo;
ALTER ROLE jobs_operator ADD MEMBER jobs_author;
ALTER ROLE jobs_author ADD MEMBER jobagent_author;
