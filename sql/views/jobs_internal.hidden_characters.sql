-- The characters that nobody sees, which no name may have: one row. Control characters, the soft hyphen, line and paragraph separators,
-- marks of direction, and invisible ones. The joiners U+200C and U+200D belong to scripts and emojis. NCHAR(0) is not among them, because
-- patterns do not find it. controldb/doctor/names.sql and jobs.CheckVisible have the same list.
--
-- Columns:
--   pattern  Pattern for PATINDEX with a text in the collation Latin1_General_100_BIN2.
CREATE OR ALTER VIEW jobs_internal.hidden_characters
AS
SELECT
    CONCAT(
        N'%[', NCHAR(1), N'-', NCHAR(31), NCHAR(127), N'-', NCHAR(159), NCHAR(173), NCHAR(1564), NCHAR(6158), NCHAR(8203),
        NCHAR(8206), NCHAR(8207), NCHAR(8232), N'-', NCHAR(8238), NCHAR(8288), N'-', NCHAR(8303), NCHAR(65279),
        NCHAR(65529), N'-', NCHAR(65531), N']%'
    ) AS pattern;
