-- want: a key of @t may have 916 bytes
CREATE OR ALTER PROCEDURE jobs_internal.warned
AS
BEGIN
    DECLARE @t TABLE (
        name NVARCHAR(450) NOT NULL,
        id   UNIQUEIDENTIFIER NOT NULL,
        PRIMARY KEY (name, id)
    );
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.fits
AS
BEGIN
    DECLARE @t TABLE (name NVARCHAR(450) NOT NULL PRIMARY KEY, text NVARCHAR(4000) NULL);
END;
