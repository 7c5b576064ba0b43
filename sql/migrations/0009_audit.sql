-- Makes the audit log, and the users without a login as whom REST fronts make calls.
CREATE TABLE jobs_internal.audit_entries (
    entry_id        BIGINT NOT NULL IDENTITY(1, 1),
    at              DATETIME2(7) NOT NULL,
    door            NVARCHAR(10) NOT NULL,
    caller          NVARCHAR(256) NOT NULL,
    original_login  NVARCHAR(128) NOT NULL,
    host            NVARCHAR(128) NULL,
    program         NVARCHAR(128) NULL,
    address         NVARCHAR(64) NULL,
    correlation_id  UNIQUEIDENTIFIER NULL,
    action          NVARCHAR(128) NOT NULL,
    object_kind     NVARCHAR(30) NOT NULL,
    object_name     NVARCHAR(300) NULL,
    object_id       NVARCHAR(100) NULL,
    job_id          UNIQUEIDENTIFIER NULL,
    job_name        NVARCHAR(128) NULL,
    before_change   NVARCHAR(MAX) NULL,
    after_change    NVARCHAR(MAX) NULL,
    version_before  INT NULL,
    version_after   INT NULL,
    revision_before BIGINT NULL,
    revision_after  BIGINT NULL,
    CONSTRAINT PK_audit_entries PRIMARY KEY (entry_id)
);

CREATE INDEX IX_audit_entries_job_name ON jobs_internal.audit_entries (job_name)
    WHERE job_name IS NOT NULL;

-- A table lock of the purge would block every session that writes (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.audit_entries SET (LOCK_ESCALATION = DISABLE);

CREATE USER jobagent_reader WITHOUT LOGIN;
CREATE USER jobagent_operator WITHOUT LOGIN;
CREATE USER jobagent_author WITHOUT LOGIN;
CREATE USER jobagent_admin WITHOUT LOGIN;
