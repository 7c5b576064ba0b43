-- With what the targets of a step of type Drift are compared: it is fixed when the first one is, so that all of them are compared with
-- the same schema, in whatever order they run.
--
-- Columns:
--   step_execution_id  The step's row. No foreign key: the row outlives it until upkeep deletes it.
--   fingerprint        The schema (drift_schemas); NULL: there was none, because no target had been read before.
--   description        Names it in messages, such as "that of sql1/golden".
--   created_at         When it was fixed.
CREATE TABLE jobs_internal.drift_references (
    step_execution_id BIGINT NOT NULL,
    fingerprint       BINARY(32) NULL,
    description       NVARCHAR(500) NOT NULL,
    created_at        DATETIME2(7) NOT NULL,
    CONSTRAINT PK_drift_references PRIMARY KEY (step_execution_id)
);
