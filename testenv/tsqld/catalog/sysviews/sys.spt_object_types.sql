CREATE VIEW sys.spt_object_types AS
-- The names of the kinds of objects in sp_help.
SELECT CAST(type AS char(2)) AS type, label
FROM (VALUES ('C', N'check cns'), ('D', N'default (maybe cns)'), ('F', N'foreign key cns'), ('FN', N'scalar function'), ('IF', N'inline function'), ('P', N'stored procedure'), ('PK', N'primary key cns'),
    ('S', N'system table'), ('SN', N'synonym'), ('SO', N'sequence object'), ('TF', N'table function'), ('TR', N'trigger'), ('TT', N'table type'), ('U', N'user table'), ('UQ', N'unique key cns'), ('V', N'view'),
    ('X', N'extended stored proc')) AS v (type, label)
