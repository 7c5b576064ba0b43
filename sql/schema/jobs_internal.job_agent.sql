-- One row: the job agent (account) of this control database, or the fact that there is none; and whether the control database is paused,
-- with or without a job agent. Passes read both at once.
--
-- Columns:
--   id            1.
--   name          Name; NULL without a job agent.
--   location      Where it is, for display.
--   sku           Tier: JA and the capacity, or Agent.
--   capacity      Maximum number of targets that run at once; the limit of scope Agent in limits.
--   identity_id   Resource id of the identity with which targets are connected to; NULL: none.
--   tags          JSON object of texts; NULL: none.
--   state         None (there has never been a job agent; agents work), Creating, Ready, Updating, Disabled, Faulted, Deleting or
--                 Deleted (there is none any more; agents do not work). jobs_internal.set_job_agent_state has the transitions.
--   reason        Why it is Disabled or Faulted.
--   disabled_by   Login that disabled it.
--   operation_id  The operation in progress; NULL: none.
--   created_at    When it was created.
--   changed_at    When anything of it last changed.
--   paused_at     When the control database was paused; NULL: it is not.
--   paused_by     Login that paused it.
--   pause_reason  Why, and what to do.
--   skip_until    Instants of schedules before it are recorded as skipped; NULL: none.
CREATE TABLE jobs_internal.job_agent (
    id           TINYINT NOT NULL CONSTRAINT DF_job_agent_id DEFAULT 1,
    name         NVARCHAR(128) NULL,
    location     NVARCHAR(128) NULL,
    sku          NVARCHAR(20) NULL,
    capacity     INT NULL,
    identity_id  NVARCHAR(1000) NULL,
    tags         NVARCHAR(MAX) NULL,
    state        NVARCHAR(20) NOT NULL CONSTRAINT DF_job_agent_state DEFAULT N'None',
    reason       NVARCHAR(2000) NULL,
    disabled_by  NVARCHAR(128) NULL,
    operation_id UNIQUEIDENTIFIER NULL,
    created_at   DATETIME2(7) NULL,
    changed_at   DATETIME2(7) NULL,
    paused_at    DATETIME2(7) NULL,
    paused_by    NVARCHAR(128) NULL,
    pause_reason NVARCHAR(2000) NULL,
    skip_until   DATETIME2(7) NULL,
    CONSTRAINT PK_job_agent PRIMARY KEY (id),
    CONSTRAINT CK_job_agent_id CHECK (id = 1),
    CONSTRAINT CK_job_agent_state CHECK (
        state IN (N'None', N'Creating', N'Ready', N'Updating', N'Disabled', N'Faulted', N'Deleting', N'Deleted')
    ),
    CONSTRAINT CK_job_agent_name CHECK (
        (state IN (N'None', N'Deleted') AND name IS NULL AND capacity IS NULL)
        OR (state NOT IN (N'None', N'Deleted') AND name IS NOT NULL AND sku IS NOT NULL AND capacity >= 1)
    ),
    CONSTRAINT CK_job_agent_operation_id CHECK (
        (state IN (N'Creating', N'Updating', N'Deleting') AND operation_id IS NOT NULL)
        OR (state NOT IN (N'Creating', N'Updating', N'Deleting') AND operation_id IS NULL)
    )
);

INSERT INTO jobs_internal.job_agent (id)
VALUES (1);
