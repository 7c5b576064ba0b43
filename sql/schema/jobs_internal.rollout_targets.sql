-- The targets of roll-outs, each in at most one wave. They are the databases of the lists of the roll-out's own run.
--
-- Columns:
--   execution_id   The roll-out's own run.
--   target_id      Public id of the database.
--   server_name, database_name  The database.
--   seen           Order in which the run's lists have it, from 1.
--   wave           Number of its wave; 0: it is not assigned, or no wave selects it.
--   place          Position within its wave, from 1; 0: it has none.
--   state          Pending, or what became of it in its wave: Succeeded, Failed, Unknown (it failed, and it is unknown whether the script
--                  ran) or Unreached (it was skipped or canceled, or the run ended before the last step); or LeftOut, because it
--                  failed the preflight before the first run of its wave.
--   ran            1: a script began on it, so the roll-out may have changed it, whatever became of it.
--   run_id         The last run of the wave that had it; NULL: none.
--   preflight      What its latest preflight found, if it failed it; NULL: it did not, or there was none.
CREATE TABLE jobs_internal.rollout_targets (
    execution_id  BIGINT NOT NULL,
    target_id     UNIQUEIDENTIFIER NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    seen          BIGINT NOT NULL,
    wave          INT NOT NULL CONSTRAINT DF_rollout_targets_wave DEFAULT 0,
    place         INT NOT NULL CONSTRAINT DF_rollout_targets_place DEFAULT 0,
    state         NVARCHAR(10) NOT NULL CONSTRAINT DF_rollout_targets_state DEFAULT N'Pending',
    ran           BIT NOT NULL CONSTRAINT DF_rollout_targets_ran DEFAULT 0,
    run_id        BIGINT NULL,
    preflight     NVARCHAR(400) NULL,
    CONSTRAINT PK_rollout_targets PRIMARY KEY (execution_id, target_id),
    CONSTRAINT FK_rollout_targets_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id),
    CONSTRAINT CK_rollout_targets_state CHECK (state IN (N'Pending', N'Succeeded', N'Failed', N'Unknown', N'Unreached', N'LeftOut'))
);

CREATE INDEX IX_rollout_targets_wave ON jobs_internal.rollout_targets (execution_id, wave, place)
    INCLUDE (state);
CREATE INDEX IX_rollout_targets_seen ON jobs_internal.rollout_targets (execution_id, seen)
    INCLUDE (wave);
CREATE INDEX IX_rollout_targets_target_id ON jobs_internal.rollout_targets (target_id, execution_id);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.rollout_targets SET (LOCK_ESCALATION = DISABLE);
