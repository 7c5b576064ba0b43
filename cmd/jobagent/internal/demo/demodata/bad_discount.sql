-- The tenant that fails each attempt: a discount that is not a number.
UPDATE dbo.Orders SET Discount = N'n/a' WHERE OrderID = 2;
