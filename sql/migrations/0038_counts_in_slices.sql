-- The targets of a step that ends, and the attempts of a scheduled run that has ended, are counted in slices: see
-- schema/jobs_internal.step_counts.sql and schema/jobs_internal.run_counts.sql.
CREATE TABLE jobs_internal.step_counts (
    step_execution_id BIGINT NOT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_step_counts_after DEFAULT 0,
    targets           INT NOT NULL CONSTRAINT DF_step_counts_targets DEFAULT 0,
    succeeded         INT NOT NULL CONSTRAINT DF_step_counts_succeeded DEFAULT 0,
    failed            INT NOT NULL CONSTRAINT DF_step_counts_failed DEFAULT 0,
    timed_out         INT NOT NULL CONSTRAINT DF_step_counts_timed_out DEFAULT 0,
    canceled          INT NOT NULL CONSTRAINT DF_step_counts_canceled DEFAULT 0,
    skipped           INT NOT NULL CONSTRAINT DF_step_counts_skipped DEFAULT 0,
    CONSTRAINT PK_step_counts PRIMARY KEY (step_execution_id)
);

CREATE TABLE jobs_internal.run_counts (
    execution_id      BIGINT NOT NULL,
    step_execution_id BIGINT NOT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_run_counts_after DEFAULT 0,
    is_complete       BIT NOT NULL CONSTRAINT DF_run_counts_is_complete DEFAULT 0,
    failures          INT NOT NULL CONSTRAINT DF_run_counts_failures DEFAULT 0,
    reached           INT NOT NULL CONSTRAINT DF_run_counts_reached DEFAULT 0,
    unreached         INT NOT NULL CONSTRAINT DF_run_counts_unreached DEFAULT 0,
    CONSTRAINT PK_run_counts PRIMARY KEY (execution_id)
);
