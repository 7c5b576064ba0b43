-- want: IX_tasks_held lacks ended_at, which its filter compares with NULL
-- want: IX_tasks_due lacks deadline_at, which its filter compares with NULL
CREATE TABLE jobs_internal.tasks (
    id          BIGINT NOT NULL,
    term_id     BIGINT NOT NULL,
    due_at      DATETIME2(7) NULL,
    deadline_at DATETIME2(7) NULL,
    ended_at    DATETIME2(7) NULL,
    CONSTRAINT PK_tasks PRIMARY KEY (id)
);
CREATE INDEX IX_tasks_held ON jobs_internal.tasks (term_id)
    WHERE ended_at IS NULL;
CREATE INDEX IX_tasks_due ON jobs_internal.tasks (due_at)
    WHERE due_at IS NOT NULL AND deadline_at IS NOT NULL;
GO
CREATE TABLE jobs_internal.tasks (
    id        BIGINT NOT NULL,
    term_id   BIGINT NOT NULL,
    is_active BIT NOT NULL,
    ended_at  DATETIME2(7) NULL,
    CONSTRAINT PK_tasks PRIMARY KEY (id)
);
CREATE INDEX IX_tasks_held ON jobs_internal.tasks (term_id)
    INCLUDE (ended_at)
    WHERE ended_at IS NULL;
CREATE INDEX IX_tasks_ended_at ON jobs_internal.tasks (ended_at)
    WHERE ended_at IS NOT NULL;
CREATE INDEX IX_tasks_active ON jobs_internal.tasks (term_id)
    WHERE is_active = 1;
