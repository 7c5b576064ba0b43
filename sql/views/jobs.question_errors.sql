-- Why databases have not answered a question, the same error of several databases once. Only who asked and administrators see them, because
-- errors may have values of the database in them.
--
-- Columns:
--   question_id   The question.
--   error_group   Order: the error of the most databases first.
--   message       The error; without the names of server and database if there are several databases.
--   error_class   What kind of error it is.
--   targets       Number of databases.
--   target_names  JSON array with the names of the first 100 databases, as server/database.
CREATE OR ALTER VIEW jobs.question_errors
AS
SELECT e.question_id, e.error_group, e.message, e.error_class, e.targets, e.target_names
FROM jobs_internal.question_errors AS e
INNER JOIN jobs_internal.readable_questions AS o ON o.question_id = e.question_id;
