-- Stored credentials. Passwords are in no view.
--
-- Columns:
--   credential_name  Name; unique.
--   username         Name of the login.
--   created_time     When it was first set (UTC).
--   updated_time     When it was last changed (UTC).
--   updated_by       Login that changed it.
--   secret_version   Version of the sealed password.
--   revision         Grows with every change.
CREATE OR ALTER VIEW jobs.credentials
AS
SELECT
    c.name AS credential_name,
    c.username,
    c.created_at AS created_time,
    c.updated_at AS updated_time,
    c.updated_by,
    s.version AS secret_version,
    c.revision
FROM jobs_internal.credentials AS c
LEFT JOIN jobs_internal.secrets AS s ON s.owner = N'credential' AND s.name = c.name;
