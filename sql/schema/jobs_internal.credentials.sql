-- Credentials that REST or T-SQL stored. Agents use them for names that their configuration does not have. The password is the
-- secret of the owner credential with the same name.
--
-- Columns:
--   name        Unique.
--   username    Name of the login.
--   revision    Grows with every change.
--   created_at  When it was first set.
--   updated_at, updated_by  When it was last changed, and by which login.
CREATE TABLE jobs_internal.credentials (
    name       NVARCHAR(128) NOT NULL,
    username   NVARCHAR(128) NOT NULL,
    revision   BIGINT NOT NULL CONSTRAINT DF_credentials_revision DEFAULT 1,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    updated_by NVARCHAR(128) NOT NULL,
    CONSTRAINT PK_credentials PRIMARY KEY (name)
);
