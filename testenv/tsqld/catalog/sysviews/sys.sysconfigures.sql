CREATE VIEW sys.sysconfigures AS
SELECT CAST(c.value AS int) AS value, c.configuration_id AS config, c.description AS comment, CAST(CAST(c.is_dynamic AS int) + 2 * CAST(c.is_advanced AS int) AS smallint) AS status
FROM sys.configurations AS c
