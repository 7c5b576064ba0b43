-- One row: when alerts were last evaluated. Its lock serialises evaluations.
--
-- Columns:
--   id            1.
--   evaluated_at  When an evaluation last ran.
--   slow_at       When conditions that need not be seen at once were last evaluated.
--   evaluated_by  Login of that session, for display.
--   next_stage    The stage with which the next evaluation begins: 0, the runs that have ended; or the id of a rule (evaluate_alerts).
--   run_batch     Runs that the next batch takes.
--   runs_after    The next batch takes runs with a greater id.
CREATE TABLE jobs_internal.alert_state (
    id           TINYINT NOT NULL CONSTRAINT DF_alert_state_id DEFAULT 1,
    evaluated_at DATETIME2(7) NOT NULL,
    slow_at      DATETIME2(7) NOT NULL,
    evaluated_by NVARCHAR(128) NULL,
    next_stage   INT NOT NULL CONSTRAINT DF_alert_state_next_stage DEFAULT 0,
    run_batch    INT NOT NULL CONSTRAINT DF_alert_state_run_batch DEFAULT 500,
    runs_after   BIGINT NOT NULL CONSTRAINT DF_alert_state_runs_after DEFAULT 0,
    CONSTRAINT PK_alert_state PRIMARY KEY (id),
    CONSTRAINT CK_alert_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.alert_state (evaluated_at, slow_at)
VALUES ('2000-01-01', '2000-01-01');
