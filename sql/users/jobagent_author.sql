-- The user without a login as whom REST fronts make the calls of callers with the role jobs_author.
CREATE USER jobagent_author WITHOUT LOGIN;
