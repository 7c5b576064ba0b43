-- Limits on the number of targets that run at once, over all agents and runs. A step's max_parallelism is another
-- limit, stored in job_steps; an agent's own limit is in agents.
--
-- Columns:
--   limit_id                Internal key.
--   scope                   Kind of the limited object: Job, Server, ElasticPool, Credential or Agent (all targets of this
--                           control database, with the name *).
--   name                    Name of the server, pool or credential; (default) for the agents' default credential; * for
--                           each one that has no limit of its own, counted separately; empty for a job, which job_id
--                           identifies.
--   server_name             ElasticPool: the pool's server; empty: pools of this name on any server, counted
--                           separately. Empty for other scopes.
--   job_id                  The job; NULL for other scopes, and for every job.
--   max_concurrent_targets  Maximum number of targets that run at once.
--   updated_at              When the limit was set.
CREATE TABLE jobs_internal.limits (
    limit_id               INT NOT NULL IDENTITY(1, 1),
    scope                  NVARCHAR(20) NOT NULL,
    name                   NVARCHAR(256) NOT NULL CONSTRAINT DF_limits_name DEFAULT N'',
    server_name            NVARCHAR(256) NOT NULL CONSTRAINT DF_limits_server_name DEFAULT N'',
    job_id                 UNIQUEIDENTIFIER NULL,
    max_concurrent_targets INT NOT NULL,
    updated_at             DATETIME2(7) NOT NULL CONSTRAINT DF_limits_updated_at DEFAULT SYSUTCDATETIME(),
    CONSTRAINT PK_limits PRIMARY KEY (limit_id),
    CONSTRAINT FK_limits_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE,
    CONSTRAINT CK_limits_scope CHECK (scope IN (N'Job', N'Server', N'ElasticPool', N'Credential', N'Agent')),
    CONSTRAINT CK_limits_job_id CHECK ((scope = N'Job' AND name = N'' AND job_id IS NOT NULL) OR (name <> N'' AND job_id IS NULL)),
    CONSTRAINT CK_limits_server_name CHECK (scope = N'ElasticPool' OR server_name = N''),
    CONSTRAINT CK_limits_max_concurrent_targets CHECK (max_concurrent_targets >= 1)
);

CREATE UNIQUE INDEX UQ_limits_name ON jobs_internal.limits (scope, name, server_name)
    INCLUDE (job_id)
    WHERE job_id IS NULL;
CREATE UNIQUE INDEX UQ_limits_job_id ON jobs_internal.limits (job_id)
    WHERE job_id IS NOT NULL;
