-- Everything that an author may do; also purges history, and changes settings and the keys of secrets.
IF DATABASE_PRINCIPAL_ID(N'jobs_admin') IS NULL
    CREATE ROLE jobs_admin AUTHORIZATION dbo;
ALTER ROLE jobs_author ADD MEMBER jobs_admin;
ALTER ROLE jobs_admin ADD MEMBER jobagent_admin;
