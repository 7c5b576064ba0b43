-- Checks the name of a secret.
--
-- Parameters:
--   @name  1 to 128 letters a to z, digits, _ and -; not beginning with a digit or -.
-- Called by: jobs.sp_set_secret, jobs.sp_delete_secret.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50074 the name of a secret is missing or invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_secret_name
    @name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @name IS NULL
        OR @name = N''
        OR @name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9_-]%'
        OR @name COLLATE Latin1_General_100_BIN2 LIKE N'[0-9-]%'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid secret name ''', @name, N''': want 1 to 128 letters, digits, _ and -, not beginning with a digit or -.'
        ), N'%', N'%%');
        THROW 50074, @message, 1;
    END;
    RETURN 0;
END;
