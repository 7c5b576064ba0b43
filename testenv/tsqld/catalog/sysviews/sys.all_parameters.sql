CREATE VIEW sys.all_parameters AS
SELECT *
FROM sys.parameters
