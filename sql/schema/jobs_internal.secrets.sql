-- Sealed secrets (I9): values that nobody can open who has only this database. The package jobs/secret describes the form.
--
-- Columns:
--   secret_id   Internal key.
--   owner       Empty for the secrets that authors name in actions as $(secret.NAME); rest for those of actions that REST
--               stored; credential for passwords of credentials.
--   name        Unique within the owner.
--   version     Counts the values of the name, from 1. A value is bound to its version, so that an older value cannot be put
--               back in place of a newer one.
--   nonce, ciphertext  The value, encrypted with AES-256-GCM under a data key that is used once.
--   hosts       JSON array of the patterns of the hosts that may receive the value; NULL: any host. A value is bound to its hosts:
--               nobody can open it after they were changed.
--   created_at  When the name was first set.
--   updated_at, updated_by  When this value was set, and by which login.
--   job_id      The job to which a secret of the owner rest belongs: it is deleted with the job; NULL for all others.
CREATE TABLE jobs_internal.secrets (
    secret_id  BIGINT NOT NULL IDENTITY(1, 1),
    owner      NVARCHAR(200) NOT NULL CONSTRAINT DF_secrets_owner DEFAULT N'',
    name       NVARCHAR(128) NOT NULL,
    version    INT NOT NULL,
    nonce      BINARY(12) NOT NULL,
    ciphertext VARBINARY(MAX) NOT NULL,
    hosts      NVARCHAR(4000) NULL,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    updated_by NVARCHAR(128) NOT NULL,
    job_id     UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_secrets PRIMARY KEY (secret_id),
    CONSTRAINT UQ_secrets_name UNIQUE (owner, name),
    CONSTRAINT CK_secrets_version CHECK (version >= 1)
);

CREATE INDEX IX_secrets_job_id ON jobs_internal.secrets (job_id)
    WHERE job_id IS NOT NULL;
