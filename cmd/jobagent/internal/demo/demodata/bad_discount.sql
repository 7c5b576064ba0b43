-- The tenant that fails for good: a discount that is no number.
UPDATE dbo.Orders SET Discount = N'n/a' WHERE OrderID = 2;
