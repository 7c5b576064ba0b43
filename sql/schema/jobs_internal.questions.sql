-- Questions to the databases of target groups (jobs.sp_ask_question), which agents carry out. DESIGN.md, "Questions". They are deleted soon
-- after they have ended (expires_at).
--
-- Columns:
--   question_id         Increases over time.
--   target_group_id     The group. No foreign key: it may be deleted meanwhile.
--   target_group_name   Its name when the question was asked.
--   question            The T-SQL text.
--   credential_name     The credential; NULL: the agent's default.
--   max_rows            Most rows of all databases together.
--   max_rows_of_target  Most rows of one database; NULL: as many as max_rows.
--   timeout_seconds     Time limit of one database.
--   lifecycle           Created, InProgress, Succeeded, Failed or Canceled.
--   is_active           1: it has not ended.
--   asked_at, asked_by  When it was asked, and by whom. Names of people differ by each character.
--   asked_by_front      1: asked_by is the name that a front gave; 0: a login.
--   term_id             The term that carries it out; NULL: none has claimed it. No foreign key: terms are purged.
--   started_at          When it was claimed.
--   ended_at            When it ended.
--   cancel_requested_at, canceled_by  When it was canceled, and by whom; NULL: it was not.
--   message             How it ended, in words.
--   targets             Number of databases in the group; NULL: it is not known yet.
--   answered            Number of databases that have answered completely, or up to a limit of rows.
--   failed              Number of databases that have failed.
--   paused              Number of databases that were not asked, because they were paused.
--   rows_kept           Number of rows in question_rows.
--   characters          Sum of the characters of these rows.
--   is_cut              1: a limit has cut rows off.
--   expires_at          When it may be deleted.
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

-- The few that have not ended: passes look for them.
CREATE INDEX IX_questions_active ON jobs_internal.questions (question_id)
    INCLUDE (term_id, is_active)
    WHERE is_active = 1;
CREATE INDEX IX_questions_expires_at ON jobs_internal.questions (expires_at)
    INCLUDE (is_active)
    WHERE is_active = 0;
