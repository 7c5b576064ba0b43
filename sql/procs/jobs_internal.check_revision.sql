-- Checks the revision that a caller expects of an object, within the lock on the object.
--
-- Parameters:
--   @object    The object, for the message: The job 'x'.
--   @revision  Its revision; NULL: it does not exist.
--   @if_match  The expected revision; 0: the object must not exist; -1: it must exist; NULL: nothing is expected.
-- Called by: the procedures that have a parameter @if_match, within their transactions, the object's row locked.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs_internal.check_revision
    @object   NVARCHAR(400),
    @revision BIGINT,
    @if_match BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @if_match IS NULL
        OR (@if_match = -1 AND @revision IS NOT NULL)
        OR (@if_match = 0 AND @revision IS NULL)
        OR @if_match = @revision
        RETURN 0;
    SET @message = REPLACE(CONCAT(
        @object,
        CASE
            WHEN @revision IS NULL THEN N' does not exist, but a change of an existing one was wanted.'
            WHEN @if_match = 0 THEN N' exists already, but a new one was wanted.'
            ELSE CONCAT(N' has the revision ', @revision, N', not ', @if_match, N'. It was changed meanwhile; read it again.')
        END
    ), N'%', N'%%');
    THROW 50203, @message, 1;
END;
