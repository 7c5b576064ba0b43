-- When the next target of a paced wave would start if its targets started at equal distances: the theoretical arrival time of the generic
-- cell rate algorithm (ITU-T I.371). Only passes write it: nobody's open transaction holds a row (I14).
--
-- Columns:
--   execution_id  The roll-out's own run.
--   next_at       That time; before now: as many targets may start at once as the algorithm allows.
CREATE TABLE jobs_internal.rollout_paces (
    execution_id BIGINT NOT NULL,
    next_at      DATETIME2(7) NOT NULL,
    CONSTRAINT PK_rollout_paces PRIMARY KEY (execution_id),
    CONSTRAINT FK_rollout_paces_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id)
);

-- The earliest of them, however many roll-outs have ended.
CREATE INDEX IX_rollout_paces_next_at ON jobs_internal.rollout_paces (next_at);
