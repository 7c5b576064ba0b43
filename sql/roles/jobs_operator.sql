-- Everything that a reader may do; also starts, reruns, retries and stops runs, pauses schedules, and acknowledges and mutes alerts.
IF DATABASE_PRINCIPAL_ID(N'jobs_operator') IS NULL
    CREATE ROLE jobs_operator AUTHORIZATION dbo;
ALTER ROLE jobs_reader ADD MEMBER jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_start_job TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_rerun_job_execution TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_stop_job TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_retry_job_execution_now TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_give_up_job_execution TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_complete_callback TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_enable_schedule TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_pause_schedule TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_backfill_schedule TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_cancel_backfill TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_enable_job_collection TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_enable_scheduler_job TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_run_scheduler_job TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_acknowledge_alert TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs.sp_mute_alert TO jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.agent_status TO jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.agent_tasks TO jobs_operator;
GRANT SELECT ON OBJECT::jobs_internal.advance_status TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs_rest.report_run TO jobs_operator;
GRANT EXECUTE ON OBJECT::jobs_rest.finish_request TO jobs_operator;
ALTER ROLE jobs_operator ADD MEMBER jobagent_operator;
