-- Keeps questions to target groups, and what agents have brought back.
CREATE TABLE jobs_internal.questions (
    question_id         BIGINT NOT NULL IDENTITY(1, 1),
    target_group_id     UNIQUEIDENTIFIER NOT NULL,
    target_group_name   NVARCHAR(128) NOT NULL,
    question            NVARCHAR(MAX) NOT NULL,
    credential_name     NVARCHAR(128) NULL,
    max_rows            INT NOT NULL,
    max_rows_of_target  INT NULL,
    timeout_seconds     INT NOT NULL,
    lifecycle           NVARCHAR(20) NOT NULL,
    is_active           BIT NOT NULL,
    asked_at            DATETIME2(7) NOT NULL,
    asked_by            NVARCHAR(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
    asked_by_front      BIT NOT NULL,
    term_id             BIGINT NULL,
    started_at          DATETIME2(7) NULL,
    ended_at            DATETIME2(7) NULL,
    cancel_requested_at DATETIME2(7) NULL,
    canceled_by         NVARCHAR(256) NULL,
    message             NVARCHAR(2000) NULL,
    targets             INT NULL,
    answered            INT NOT NULL CONSTRAINT DF_questions_answered DEFAULT 0,
    failed              INT NOT NULL CONSTRAINT DF_questions_failed DEFAULT 0,
    paused              INT NOT NULL CONSTRAINT DF_questions_paused DEFAULT 0,
    rows_kept           INT NOT NULL CONSTRAINT DF_questions_rows_kept DEFAULT 0,
    characters          BIGINT NOT NULL CONSTRAINT DF_questions_characters DEFAULT 0,
    is_cut              BIT NOT NULL CONSTRAINT DF_questions_is_cut DEFAULT 0,
    expires_at          DATETIME2(7) NOT NULL,
    CONSTRAINT PK_questions PRIMARY KEY (question_id),
    CONSTRAINT CK_questions_lifecycle CHECK (
        (is_active = 1 AND lifecycle IN (N'Created', N'InProgress'))
        OR (is_active = 0 AND lifecycle IN (N'Succeeded', N'Failed', N'Canceled'))
    )
);

CREATE INDEX IX_questions_active ON jobs_internal.questions (question_id)
    INCLUDE (term_id, is_active)
    WHERE is_active = 1;
CREATE INDEX IX_questions_expires_at ON jobs_internal.questions (expires_at)
    INCLUDE (is_active)
    WHERE is_active = 0;

CREATE TABLE jobs_internal.question_shapes (
    question_id BIGINT NOT NULL,
    shape       INT NOT NULL,
    result_set  INT NOT NULL,
    columns     NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_shapes PRIMARY KEY (question_id, shape)
);

CREATE TABLE jobs_internal.question_rows (
    question_id   BIGINT NOT NULL,
    row_number    INT NOT NULL,
    shape         INT NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    row_values    NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_rows PRIMARY KEY (question_id, row_number)
);

CREATE TABLE jobs_internal.question_errors (
    question_id  BIGINT NOT NULL,
    error_group  INT NOT NULL,
    message      NVARCHAR(2000) NOT NULL,
    error_class  NVARCHAR(30) NULL,
    targets      INT NOT NULL,
    target_names NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_question_errors PRIMARY KEY (question_id, error_group)
);
