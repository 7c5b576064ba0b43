-- Step 2: one row per tenant and country, collected in one table.
SELECT
    DB_NAME() AS tenant,
    c.Country AS country,
    COUNT(*) AS orders,
    SUM(o.Total * (100 - CAST(o.Discount AS INT)) / 100) AS revenue,
    $(job_execution_id) AS job_execution_id
FROM dbo.Orders AS o
INNER JOIN dbo.Customers AS c ON c.CustomerID = o.CustomerID
GROUP BY c.Country;
