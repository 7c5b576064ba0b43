-- Makes the tables of sealed secrets, and the identity of the control database, to which they are bound.
CREATE TABLE jobs_internal.control_identity (
    id          TINYINT NOT NULL CONSTRAINT DF_control_identity_id DEFAULT 1,
    database_id UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_control_identity_database_id DEFAULT NEWID(),
    CONSTRAINT PK_control_identity PRIMARY KEY (id),
    CONSTRAINT CK_control_identity_id CHECK (id = 1)
);

INSERT INTO jobs_internal.control_identity (id)
VALUES (1);

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
    CONSTRAINT PK_secrets PRIMARY KEY (secret_id),
    CONSTRAINT UQ_secrets_name UNIQUE (owner, name),
    CONSTRAINT CK_secrets_version CHECK (version >= 1)
);

CREATE TABLE jobs_internal.secret_data_keys (
    secret_id BIGINT NOT NULL,
    key_id    NVARCHAR(32) NOT NULL,
    data      VARBINARY(200) NOT NULL,
    CONSTRAINT PK_secret_data_keys PRIMARY KEY (secret_id, key_id),
    CONSTRAINT FK_secret_data_keys_secrets FOREIGN KEY (secret_id) REFERENCES jobs_internal.secrets (secret_id) ON DELETE CASCADE
);

CREATE INDEX IX_secret_data_keys_key_id ON jobs_internal.secret_data_keys (key_id);
