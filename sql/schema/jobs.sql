-- The public schema: procedures and views, as Azure Elastic Jobs has them.
CREATE SCHEMA jobs AUTHORIZATION dbo;
