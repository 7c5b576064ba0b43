-- The control database gets an incarnation, the place where it lives, and a pause. Terms that last now have no incarnation, and go on.
ALTER TABLE jobs_internal.control_identity ADD
    incarnation          UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_control_identity_incarnation DEFAULT NEWID(),
    place_server         NVARCHAR(256) NULL,
    place_database       NVARCHAR(128) NULL,
    place_created_at     DATETIME2(7) NULL,
    place_fork           UNIQUEIDENTIFIER NULL,
    place_is_replica     BIT NULL;
ALTER TABLE jobs_internal.job_agent ADD
    paused_at    DATETIME2(7) NULL,
    paused_by    NVARCHAR(128) NULL,
    pause_reason NVARCHAR(2000) NULL,
    skip_until   DATETIME2(7) NULL;
ALTER TABLE jobs_internal.terms ADD
    incarnation UNIQUEIDENTIFIER NULL;
ALTER TABLE jobs_internal.terms DROP CONSTRAINT CK_terms_end_reason;
-- size: grows with the terms of the last 45 days; reads them under Sch-M.
ALTER TABLE jobs_internal.terms ADD CONSTRAINT CK_terms_end_reason
    CHECK (end_reason IN (N'Ended', N'Replaced', N'Expired', N'Outdated', N'Deleted', N'Restored'));
