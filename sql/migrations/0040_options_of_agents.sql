-- Lets options of steps that only agents read be members of one JSON object, so that one more of them needs no column. Procedures of
-- earlier releases write bind_parameters until they are replaced; jobs_internal.record_deployment moves it.
ALTER TABLE jobs_internal.job_steps ADD agent_options NVARCHAR(4000) NULL;

-- A batch of its own: this one is compiled before the column exists.
EXECUTE sys.sp_executesql N'ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_agent_options
    CHECK (ISJSON(agent_options) = 1);';
