-- The user without a login as whom REST fronts make the calls of callers with the role jobs_reader.
CREATE USER jobagent_reader WITHOUT LOGIN;
