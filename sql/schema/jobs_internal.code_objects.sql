-- The deployed procedures, views and roles, with the hashes of their texts. An upgrade compares the hashes to find
-- changed objects.
--
-- Columns:
--   name         Schema and name of the object, or the name of the role file.
--   kind         PROCEDURE, VIEW, FUNCTION or ROLE.
--   sha256       Hash of the deployed text, in hexadecimal.
--   deployed_at  When it was deployed.
CREATE TABLE jobs_internal.code_objects (
    name        NVARCHAR(256) NOT NULL,
    kind        NVARCHAR(20) NOT NULL,
    sha256      CHAR(64) NOT NULL,
    deployed_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_code_objects PRIMARY KEY (name),
    CONSTRAINT CK_code_objects_kind CHECK (kind IN (N'PROCEDURE', N'VIEW', N'FUNCTION', N'ROLE'))
);
