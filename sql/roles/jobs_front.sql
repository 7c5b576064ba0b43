-- The permissions that the login of a REST front needs: it makes each call as the user of the caller's role, and none of its own but
-- to learn the version of the schema, to carry on with the operations on the job agent, to receive reports on actions, and to evaluate and
-- deliver alerts.
IF DATABASE_PRINCIPAL_ID(N'jobs_front') IS NULL
    CREATE ROLE jobs_front AUTHORIZATION dbo;
GRANT IMPERSONATE ON USER::jobagent_reader TO jobs_front;
GRANT IMPERSONATE ON USER::jobagent_operator TO jobs_front;
GRANT IMPERSONATE ON USER::jobagent_author TO jobs_front;
GRANT IMPERSONATE ON USER::jobagent_admin TO jobs_front;
GRANT SELECT ON OBJECT::jobs_internal.schema_versions TO jobs_front;
GRANT SELECT ON OBJECT::jobs_internal.code_objects TO jobs_front;
GRANT SELECT ON OBJECT::jobs_internal.agent_protocols TO jobs_front;
GRANT SELECT ON OBJECT::jobs.control_database TO jobs_front;
GRANT SELECT ON OBJECT::jobs.agent TO jobs_front;
GRANT SELECT ON OBJECT::jobs.agent_operations TO jobs_front;
