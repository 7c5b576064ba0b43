-- The public schema: the procedures and views of Azure Elastic Jobs, and more.
CREATE SCHEMA jobs AUTHORIZATION dbo;
