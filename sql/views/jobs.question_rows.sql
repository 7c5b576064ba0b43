-- The rows of the answers to questions. Only who asked and administrators see them.
--
-- Columns:
--   question_id    The question.
--   row_number     Order in which the rows were read, from 1.
--   shape          The shape, as in jobs.question_shapes.
--   server_name    The server.
--   database_name  The database.
--   row_values     JSON array with the values in the order of the columns, as FOR JSON spells them; bytes are hexadecimal digits after 0x.
--                  Texts of more than 4,000 characters are cut, and end with an ellipsis.
CREATE OR ALTER VIEW jobs.question_rows
AS
SELECT r.question_id, r.row_number, r.shape, r.server_name, r.database_name, r.row_values
FROM jobs_internal.question_rows AS r
INNER JOIN jobs_internal.readable_questions AS o ON o.question_id = r.question_id;
