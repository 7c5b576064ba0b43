-- The schema of a tenant database of `jobagent demo`: a small shop, before the job of the demo changes
-- the schema. It runs once in each new tenant database.
CREATE TABLE dbo.Customers (
    CustomerID INT NOT NULL IDENTITY(1, 1) CONSTRAINT PK_Customers PRIMARY KEY,
    Name       NVARCHAR(100) NOT NULL CONSTRAINT UQ_Customers_Name UNIQUE,
    Country    CHAR(2) NOT NULL,
    CreatedAt  DATETIME2(3) NOT NULL CONSTRAINT DF_Customers_CreatedAt DEFAULT SYSUTCDATETIME()
);

CREATE TABLE dbo.Orders (
    OrderID    INT NOT NULL IDENTITY(1, 1) CONSTRAINT PK_Orders PRIMARY KEY,
    CustomerID INT NOT NULL CONSTRAINT FK_Orders_Customers REFERENCES dbo.Customers (CustomerID),
    OrderedOn  DATE NOT NULL,
    -- Text, because it was once imported from a spreadsheet.
    Discount   NVARCHAR(10) NOT NULL CONSTRAINT DF_Orders_Discount DEFAULT N'0'
);

CREATE TABLE dbo.OrderLines (
    OrderID   INT NOT NULL CONSTRAINT FK_OrderLines_Orders REFERENCES dbo.Orders (OrderID),
    LineNumber INT NOT NULL,
    Product   NVARCHAR(100) NOT NULL,
    Quantity  INT NOT NULL CONSTRAINT CK_OrderLines_Quantity CHECK (Quantity > 0),
    UnitPrice DECIMAL(10, 2) NOT NULL,
    CONSTRAINT PK_OrderLines PRIMARY KEY (OrderID, LineNumber)
);

-- The number of attempts of step 1. In a maintenance window, the first attempt fails.
CREATE TABLE dbo.MaintenanceWindow (
    IsOpen BIT NOT NULL,
    Visits INT NOT NULL
);
INSERT INTO dbo.MaintenanceWindow (IsOpen, Visits) VALUES (0, 0);
