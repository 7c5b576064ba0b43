-- Why databases have not answered a question, the same error of several databases once. At most 100 for each question.
--
-- Columns:
--   question_id   The question.
--   error_group   Order: the error of the most databases first.
--   message       The error; without the names of server and database if there are several databases.
--   error_class   What kind of error it is.
--   targets       Number of databases.
--   target_names  JSON array with the names of the first 100 databases.
CREATE TABLE jobs_internal.question_errors (
    question_id  BIGINT NOT NULL,
    error_group  INT NOT NULL,
    message      NVARCHAR(2000) NOT NULL,
    error_class  NVARCHAR(30) NULL,
    targets      INT NOT NULL,
    target_names NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_errors PRIMARY KEY (question_id, error_group)
);
