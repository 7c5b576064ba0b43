-- The audit log: one row for each call of a public procedure that changed something, written in the transaction of the change.
-- Rows never change. jobs_internal.purge_history deletes them after the setting audit_retention_days. The key grows in the order of the
-- writes, so inserts go to the end of the table and old rows are at its beginning; a rolled-back transaction leaves a gap.
--
-- Columns:
--   entry_id         Order of the writes.
--   at               When the change was made.
--   door             T-SQL, CLI or REST: jobs_internal.current_caller.
--   caller           Name of the person or program.
--   original_login   Login of the session.
--   host, program, address  Name of the client's computer and program, as the client gives them, and its network address.
--   correlation_id   Joins the entries of one request, or of one call of the command line; NULL: none was given.
--   action           Name of the procedure, without its schema.
--   object_kind      Kind of the object: see jobs_internal.audit.
--   object_name      Its name after the change, or before it was deleted.
--   object_id        Its id as text, if it has one.
--   job_id           Job to which the object belongs. No foreign key: entries stay when the job is deleted.
--   job_name         The job's name after the change.
--   before_change    JSON object of what changed, as it was; NULL: the object is new, or has no state.
--   after_change     JSON object of what changed, as it is now; NULL: the object was deleted, or has no state.
--   version_before, version_after    Versions of the job, if the change made one.
--   revision_before, revision_after  Revisions of the object, of which ETags are made.
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
