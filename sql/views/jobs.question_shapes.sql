-- The shapes of the answers to questions: result sets with the same number and the same columns. Only who asked and administrators see
-- them.
--
-- Columns:
--   question_id  The question.
--   shape        Number of the shape, from 1.
--   result_set   Number of the result set among those of a database, from 1.
--   columns      JSON array of objects with name and type of each column.
CREATE OR ALTER VIEW jobs.question_shapes
AS
SELECT s.question_id, s.shape, s.result_set, s.columns
FROM jobs_internal.question_shapes AS s
INNER JOIN jobs_internal.readable_questions AS o ON o.question_id = s.question_id;
