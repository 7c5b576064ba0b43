-- The user without a login as whom REST fronts make the calls of callers with the role jobs_operator.
CREATE USER jobagent_operator WITHOUT LOGIN;
