-- One row: the identity of this control database. Sealed secrets are bound to it.
--
-- Columns:
--   id           1.
--   database_id  Made at installation, and never changed. A copy or a restored backup of the database has the same.
CREATE TABLE jobs_internal.control_identity (
    id          TINYINT NOT NULL CONSTRAINT DF_control_identity_id DEFAULT 1,
    database_id UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_control_identity_database_id DEFAULT NEWID(),
    CONSTRAINT PK_control_identity PRIMARY KEY (id),
    CONSTRAINT CK_control_identity_id CHECK (id = 1)
);

INSERT INTO jobs_internal.control_identity (id)
VALUES (1);
