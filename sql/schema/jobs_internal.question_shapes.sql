-- The shapes of the answers to a question: result sets with the same number and the same columns. At most 100 for each question.
--
-- Columns:
--   question_id  The question.
--   shape        Number of the shape, from 1.
--   result_set   Number of the result set among those of a database, from 1.
--   columns      JSON array with the names and types of the columns.
CREATE TABLE jobs_internal.question_shapes (
    question_id BIGINT NOT NULL,
    shape       INT NOT NULL,
    result_set  INT NOT NULL,
    columns     NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_shapes PRIMARY KEY (question_id, shape)
);
