-- Creates one object of each kind that a deployment creates. The caller rolls back.
EXECUTE (N'CREATE SCHEMA [jobagent$probe] AUTHORIZATION dbo;');
EXECUTE (N'CREATE TABLE [jobagent$probe].a_table (id INT NOT NULL PRIMARY KEY);');
EXECUTE (N'CREATE VIEW [jobagent$probe].a_view AS SELECT t.id FROM [jobagent$probe].a_table AS t;');
EXECUTE (N'CREATE PROCEDURE [jobagent$probe].a_procedure AS RETURN 0;');
EXECUTE (N'CREATE ROLE [jobagent$probe] AUTHORIZATION dbo;');
EXECUTE (N'GRANT EXECUTE ON OBJECT::[jobagent$probe].a_procedure TO [jobagent$probe];');
