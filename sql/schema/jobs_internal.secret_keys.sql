-- The public keys for which secrets are sealed. The private keys are on the machines of agents.
--
-- Columns:
--   key_id      The first half of the SHA-256 of the public key, as 32 hexadecimal digits in upper case.
--   public_key  X25519.
--   is_active   1: secrets are sealed for it; 0: it was retired.
--   created_at, created_by  When it was added, and by which login.
--   retired_at, retired_by  When it was retired, and by which login; NULL: it is active.
CREATE TABLE jobs_internal.secret_keys (
    key_id     NVARCHAR(32) NOT NULL,
    public_key VARBINARY(32) NOT NULL,
    is_active  BIT NOT NULL CONSTRAINT DF_secret_keys_is_active DEFAULT 1,
    created_at DATETIME2(7) NOT NULL,
    created_by NVARCHAR(128) NOT NULL,
    retired_at DATETIME2(7) NULL,
    retired_by NVARCHAR(128) NULL,
    CONSTRAINT PK_secret_keys PRIMARY KEY (key_id),
    CONSTRAINT CK_secret_keys_retired_at CHECK ((is_active = 1 AND retired_at IS NULL) OR (is_active = 0 AND retired_at IS NOT NULL))
);
