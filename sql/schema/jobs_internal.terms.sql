-- Terms: periods of work of agents. A term that has ended holds nothing; every write of task state names a term.
--
-- Columns:
--   term_id        Increases over time.
--   agent_id       The agent.
--   started_at     When it began.
--   expires_at     From when on a pass may end it unless it is renewed.
--   ended_at       When it ended; NULL while it has not been ended (it may have expired). Until then the agent may renew it.
--   end_reason     Ended (by the agent), Replaced (the same agent started another), Expired, Outdated (a deployment no
--                  longer supports the agent), Deleted (the job agent was deleted) or Restored (jobs.sp_after_restore).
--   protocol       The agent's protocol; see the view jobs_internal.agent_protocols.
--   command_types  The types of commands that the agent runs, separated by commas; it gets no other tasks.
--   term_guid      Made by the agent, and named in each of its calls: numbers are given again in a restored database. NULL: an agent
--                  of an earlier release.
--   incarnation    Incarnation of the control database in which it began; NULL: it began under an earlier schema.
--   lease_seconds  Time from a renewal to the expiry; NULL: not renewed since an earlier schema.
CREATE TABLE jobs_internal.terms (
    term_id       BIGINT NOT NULL IDENTITY(1, 1),
    agent_id      UNIQUEIDENTIFIER NOT NULL,
    started_at    DATETIME2(7) NOT NULL,
    expires_at    DATETIME2(7) NOT NULL,
    ended_at      DATETIME2(7) NULL,
    end_reason    NVARCHAR(20) NULL,
    protocol      INT NOT NULL CONSTRAINT DF_terms_protocol DEFAULT 1,
    command_types NVARCHAR(400) NOT NULL CONSTRAINT DF_terms_command_types DEFAULT N'TSql',
    term_guid     UNIQUEIDENTIFIER NULL,
    incarnation   UNIQUEIDENTIFIER NULL,
    lease_seconds INT NULL,
    CONSTRAINT PK_terms PRIMARY KEY (term_id),
    CONSTRAINT FK_terms_agents FOREIGN KEY (agent_id) REFERENCES jobs_internal.agents (agent_id),
    CONSTRAINT CK_terms_end_reason CHECK (end_reason IN (N'Ended', N'Replaced', N'Expired', N'Outdated', N'Deleted', N'Restored'))
);

CREATE UNIQUE INDEX UQ_terms_agent_id ON jobs_internal.terms (agent_id)
    INCLUDE (ended_at)
    WHERE ended_at IS NULL;
CREATE INDEX IX_terms_agent_id ON jobs_internal.terms (agent_id, term_id);
CREATE INDEX IX_terms_ended_at ON jobs_internal.terms (ended_at)
    INCLUDE (agent_id, expires_at, end_reason)
    WHERE ended_at IS NOT NULL;
CREATE INDEX IX_terms_expires_at ON jobs_internal.terms (expires_at)
    INCLUDE (ended_at)
    WHERE ended_at IS NULL;
