CREATE FUNCTION sys.fn_listextendedproperty(@name sysname = NULL, @level0type varchar(128) = NULL, @level0name sysname = NULL,
    @level1type varchar(128) = NULL, @level1name sysname = NULL, @level2type varchar(128) = NULL, @level2name sysname = NULL)
RETURNS TABLE
AS
-- Documentation: sys.fn_listextendedproperty. A NULL name at the last given level matches all
-- objects of its type.
RETURN (
    SELECT CAST(COALESCE(p.level2type, p.level1type, p.level0type) AS sysname) AS objtype, CAST(COALESCE(p.level2name, p.level1name, p.level0name) AS sysname) AS objname, p.name, p.value
    FROM sys.spt_extended_properties AS p
    WHERE (p.name = @name OR @name IS NULL)
        AND (@level0type IS NULL AND p.level0type IS NULL
            OR UPPER(@level0type) = p.level0type AND (p.level0name = @level0name OR @level0name IS NULL AND @level1type IS NULL)
            OR UPPER(@level0type) = 'USER' AND p.level0type = 'SCHEMA' AND p.level1type IS NOT NULL AND p.level0name = @level0name)
        AND (@level1type IS NULL AND p.level1type IS NULL OR UPPER(@level1type) = p.level1type AND (p.level1name = @level1name OR @level1name IS NULL AND @level2type IS NULL))
        AND (@level2type IS NULL AND p.level2type IS NULL OR UPPER(@level2type) = p.level2type AND (p.level2name = @level2name OR @level2name IS NULL))
)
