-- The users of the roles of callers, and whether the login may make calls as them.
SELECT
    v.role_name,
    v.user_name,
    CASE WHEN DATABASE_PRINCIPAL_ID(v.user_name) IS NULL THEN 0 ELSE 1 END AS is_there,
    COALESCE(HAS_PERMS_BY_NAME(v.user_name, N'USER', N'IMPERSONATE'), 0) AS may_impersonate,
    COALESCE(IS_ROLEMEMBER(N'jobs_front'), 0) AS is_front,
    CASE WHEN EXISTS (
        SELECT 1
        FROM sys.database_role_members AS m
        WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(v.role_name)
            AND m.member_principal_id = DATABASE_PRINCIPAL_ID(v.user_name)
    ) THEN 1 ELSE 0 END AS is_member
FROM (VALUES
    (N'jobs_reader', N'jobagent_reader'),
    (N'jobs_operator', N'jobagent_operator'),
    (N'jobs_author', N'jobagent_author'),
    (N'jobs_admin', N'jobagent_admin')
) AS v (role_name, user_name);
