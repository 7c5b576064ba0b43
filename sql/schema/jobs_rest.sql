-- The schema of the procedures of the SAP surface (sql/DESIGN.md, "SAP's jobs"). The first parameter of each is the tenant.
CREATE SCHEMA jobs_rest AUTHORIZATION dbo;
