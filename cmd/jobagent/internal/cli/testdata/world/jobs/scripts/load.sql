SELECT DB_NAME() AS name, SYSUTCDATETIME() AS at
FROM sys.objects;
GO
  -- 	 trailing  
