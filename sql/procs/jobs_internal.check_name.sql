-- Checks the rule that names of all objects obey, for an object that is added or renamed. A name stands in addresses, on terminals and
-- in files: it must be there what a person sees, and must name nothing else. Clients and proxies remove the segments . and .. of
-- an address (RFC 3986, 5.2.4), and some systems remove periods and blanks at the end of a name. Other characters with a meaning in
-- addresses are permitted, because Azure permits them; addresses escape them. The rule of a kind of object may be stricter.
--
-- Parameters:
--   @name       The name. NULL and a name of blanks pass: each kind of object has its own message for these.
--   @parameter  The caller's parameter with the name, for the message.
-- Called by: the procedures that add or rename an object.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
CREATE OR ALTER PROCEDURE jobs_internal.check_name
    @name      NVARCHAR(128),
    @parameter NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @place INT;
    DECLARE @hidden NVARCHAR(100) = (SELECT h.pattern FROM jobs_internal.hidden_characters AS h);

    -- Older collations give characters beyond U+FFFF no weight: half of one, or a name of them, would equal a blank.
    IF LTRIM(@name) COLLATE Latin1_General_100_BIN2 = N''
        RETURN 0;
    SET @place = CHARINDEX(NCHAR(0), @name COLLATE Latin1_General_100_BIN2);
    IF @place = 0
        SET @place = PATINDEX(@hidden, @name COLLATE Latin1_General_100_BIN2);
    IF @place > 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid ', @parameter, N': the character ', @place, N' is U+',
            CONVERT(NVARCHAR(4), CONVERT(BINARY(2), UNICODE(SUBSTRING(@name, @place, 1))), 2),
            N', which is not visible. Want a name without control characters and marks of direction.'
        ), N'%', N'%%');
        THROW 50093, @message, 1;
    END;
    IF LEFT(@name COLLATE Latin1_General_100_BIN2, 1) IN (N' ', NCHAR(160))
        OR RIGHT(CONCAT(@name COLLATE Latin1_General_100_BIN2, N'|'), 2) IN (N' |', NCHAR(160) + N'|', N'.|')
        OR CONCAT(N'/', REPLACE(@name COLLATE Latin1_General_100_BIN2, N'\', N'/'), N'/') LIKE N'%/./%'
        OR CONCAT(N'/', REPLACE(@name COLLATE Latin1_General_100_BIN2, N'\', N'/'), N'/') LIKE N'%/../%'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid ', @parameter, N' ''', @name, N''': want no blank at an end, no period at the end, and no part . or .. beside / or \.'
        ), N'%', N'%%');
        THROW 50093, @message, 1;
    END;
    RETURN 0;
END;
