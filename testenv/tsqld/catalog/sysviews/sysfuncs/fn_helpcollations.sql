CREATE FUNCTION sys.fn_helpcollations()
RETURNS TABLE
AS
-- Documentation: sys.fn_helpcollations.
RETURN (SELECT name, description FROM sys.spt_collations)
