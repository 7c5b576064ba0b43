-- One row: the identity of this control database, and the place where it lives. Sealed secrets are bound to database_id.
--
-- Columns:
--   id           1.
--   database_id  Made at installation, and never changed. A copy or a restored backup of the database has the same.
--   incarnation  Changes with each jobs.sp_after_restore. A term of another incarnation is refused (I16).
--   place_server, place_database, place_created_at, place_fork, place_is_replica  The place as jobs_internal.check_place found it when
--                it last was accepted; NULL: not known. place_fork is the recovery fork, which a restore changes.
CREATE TABLE jobs_internal.control_identity (
    id          TINYINT NOT NULL CONSTRAINT DF_control_identity_id DEFAULT 1,
    database_id UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_control_identity_database_id DEFAULT NEWID(),
    incarnation          UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_control_identity_incarnation DEFAULT NEWID(),
    place_server         NVARCHAR(256) NULL,
    place_database       NVARCHAR(128) NULL,
    place_created_at     DATETIME2(7) NULL,
    place_fork           UNIQUEIDENTIFIER NULL,
    place_is_replica     BIT NULL,
    CONSTRAINT PK_control_identity PRIMARY KEY (id),
    CONSTRAINT CK_control_identity_id CHECK (id = 1)
);

INSERT INTO jobs_internal.control_identity (id)
VALUES (1);
