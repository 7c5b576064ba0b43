-- Everything that an operator may do; also defines jobs, steps, schedules, calendars, target groups and secrets.
IF DATABASE_PRINCIPAL_ID(N'jobs_author') IS NULL
    CREATE ROLE jobs_author AUTHORIZATION dbo;
ALTER ROLE jobs_operator ADD MEMBER jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_update_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_jobstep TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_update_jobstep TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_jobstep TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_jobstep TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_jobstep_options TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_schedule TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_update_schedule TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_schedule TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_calendar TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_update_calendar TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_calendar TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_target_group TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_target_group TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_target_group TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_add_target_group_member TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_target_group_member TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_limit TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_secret TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_secret TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_set_scheduler_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs.sp_delete_scheduler_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.set_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.update_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.delete_job TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.add_schedule TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.update_schedule TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.delete_schedules TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.activate_schedules TO jobs_author;
GRANT EXECUTE ON OBJECT::jobs_rest.set_timeout TO jobs_author;
-- REST fronts make the calls of callers with this role as this user, which has no login.
IF DATABASE_PRINCIPAL_ID(N'jobagent_author') IS NULL
    CREATE USER jobagent_author WITHOUT LOGIN;
ALTER ROLE jobs_author ADD MEMBER jobagent_author;
