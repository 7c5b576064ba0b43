-- Data of one tenant. It depends on @tenant_number, so that the collected rows differ.
DECLARE @customer INT = 1, @order INT, @line INT;
WHILE @customer <= 3
BEGIN
    INSERT INTO dbo.Customers (Name, Country)
    VALUES (CONCAT(N'Customer ', @tenant_number, N'-', @customer), CHOOSE(@customer, 'DE', 'US', 'JP'));

    INSERT INTO dbo.Orders (CustomerID, OrderedOn, Discount)
    VALUES (@customer, DATEADD(DAY, -@customer * @tenant_number, '2026-06-30'), CAST((@tenant_number + @customer) % 4 AS NVARCHAR(10)));
    SET @order = SCOPE_IDENTITY();

    SET @line = 1;
    WHILE @line <= 2 + @tenant_number % 3
    BEGIN
        INSERT INTO dbo.OrderLines (OrderID, LineNumber, Product, Quantity, UnitPrice)
        VALUES (@order, @line, CONCAT(N'Product ', @line), 1 + (@line * @tenant_number) % 5, 9.95 + @line);
        SET @line += 1;
    END;
    SET @customer += 1;
END;
