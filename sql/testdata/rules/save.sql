-- want: SAVE TRANSACTION
CREATE OR ALTER PROCEDURE jobs_internal.saves
AS
BEGIN
    SAVE TRANSACTION here;
END;
GO
CREATE OR ALTER PROCEDURE jobs_internal.begins
AS
BEGIN
    BEGIN TRANSACTION;
    -- save: the caller has no other way back
    SAVE TRANSACTION here;
    COMMIT TRANSACTION;
END;
