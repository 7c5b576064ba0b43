-- The data key of each secret, sealed with HPKE for each key that can open it.
--
-- Columns:
--   secret_id  The secret.
--   key_id     The key that can open it. No foreign key: keys are never deleted, and who inserts has locked the active ones.
--   data       HPKE's encapsulated key and ciphertext.
CREATE TABLE jobs_internal.secret_data_keys (
    secret_id BIGINT NOT NULL,
    key_id    NVARCHAR(32) NOT NULL,
    data      VARBINARY(200) NOT NULL,
    CONSTRAINT PK_secret_data_keys PRIMARY KEY (secret_id, key_id),
    CONSTRAINT FK_secret_data_keys_secrets FOREIGN KEY (secret_id) REFERENCES jobs_internal.secrets (secret_id) ON DELETE CASCADE
);

CREATE INDEX IX_secret_data_keys_key_id ON jobs_internal.secret_data_keys (key_id);
