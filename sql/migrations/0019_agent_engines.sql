-- Agents say what computes their schedules, so that live agents with other time zone rules are found.
ALTER TABLE jobs_internal.agents ADD
    engine    NVARCHAR(128) NULL,
    zone_data NVARCHAR(128) NULL;
