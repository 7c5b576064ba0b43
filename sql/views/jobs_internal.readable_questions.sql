-- The questions whose answers the caller may read: his own, or all, if he is an administrator. A front's caller and a login of the same
-- name are not the same.
--
-- Columns:
--   question_id  The question.
CREATE OR ALTER VIEW jobs_internal.readable_questions
AS
SELECT q.question_id
FROM jobs_internal.questions AS q
CROSS JOIN jobs_internal.current_caller AS c
WHERE (q.asked_by = c.name COLLATE Latin1_General_100_BIN2 AND q.asked_by_front = CASE WHEN c.door IN (N'REST', N'Web') THEN 1 ELSE 0 END)
    OR IS_ROLEMEMBER(N'jobs_admin') = 1
    OR IS_ROLEMEMBER(N'db_owner') = 1;
