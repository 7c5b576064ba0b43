-- The user without a login as whom REST fronts make the calls of callers with the role jobs_admin.
CREATE USER jobagent_admin WITHOUT LOGIN;
