CREATE PROCEDURE sys.sp_linkedservers
AS
-- Documentation: sp_linkedservers.
SELECT name AS SRV_NAME, CAST(provider AS nvarchar(128)) AS SRV_PROVIDERNAME, CAST(product AS nvarchar(128)) AS SRV_PRODUCT, CAST(data_source AS nvarchar(4000)) AS SRV_DATASOURCE,
    CAST(provider_string AS nvarchar(4000)) AS SRV_PROVIDERSTRING, CAST(location AS nvarchar(4000)) AS SRV_LOCATION, CAST(catalog AS sysname) AS SRV_CAT
FROM sys.servers
ORDER BY 1;
RETURN 0;
