-- Creates the user of the login jobagent_targets in a database of the embedded server, as db_owner. In a control database, it drops
-- the user, which may be a copy of the user in model. @is_control: the database is the server's own control database.
IF @is_control = 1 OR OBJECT_ID(N'jobs_internal.schema_versions', N'U') IS NOT NULL
BEGIN
    IF DATABASE_PRINCIPAL_ID(N'jobagent_targets') IS NOT NULL
        DROP USER jobagent_targets;
END
ELSE
BEGIN
    IF DATABASE_PRINCIPAL_ID(N'jobagent_targets') IS NULL
        CREATE USER jobagent_targets FOR LOGIN jobagent_targets;
    IF ISNULL(IS_ROLEMEMBER(N'db_owner', N'jobagent_targets'), 0) = 0
        ALTER ROLE db_owner ADD MEMBER jobagent_targets;
END;
