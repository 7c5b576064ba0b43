-- The rows of the answers to questions, at most 10,000 rows and 4,000,000 characters for each question, and what the last batch adds.
--
-- Columns:
--   question_id    The question.
--   row_number     Order in which the agent read the rows, from 1.
--   shape          The shape (question_shapes).
--   server_name, database_name  The database.
--   row_values     JSON array with the values, in the order of the columns.
CREATE TABLE jobs_internal.question_rows (
    question_id   BIGINT NOT NULL,
    row_number    INT NOT NULL,
    shape         INT NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    row_values    NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_rows PRIMARY KEY (question_id, row_number)
);
