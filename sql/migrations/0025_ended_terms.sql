-- The retention and the alerts about silent agents find terms by the time of their end.
-- size: grows with the terms of the last 45 days; online in Enterprise, Developer and Azure.
CREATE INDEX IX_terms_ended_at ON jobs_internal.terms (ended_at)
    INCLUDE (agent_id, expires_at, end_reason)
    WHERE ended_at IS NOT NULL;
