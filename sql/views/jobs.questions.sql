-- Questions to the databases of target groups (jobs.sp_ask_question). They are deleted after the setting question_retention_days, or when
-- 100 later ones have been asked. The text is there for who asked, and for administrators; the audit log has it for longer.
--
-- Columns:
--   question_id            Increases over time.
--   target_group_name      The group.
--   question               The T-SQL text; NULL: the caller may not read it.
--   credential_name        The credential; NULL: the agent's default.
--   max_rows               Most rows of all databases together.
--   max_rows_of_target     Most rows of one database; NULL: as many as max_rows.
--   timeout_seconds        Time limit of one database.
--   lifecycle              Created, InProgress, Succeeded, Failed (a database failed, or the question as a whole) or Canceled.
--   is_active              1: it has not ended.
--   is_readable            1: the caller may read the answers.
--   asked_time             When it was asked (UTC).
--   asked_by               By whom.
--   start_time             When an agent began with it (UTC); NULL: none has.
--   end_time               When it ended (UTC).
--   cancel_requested_time  When somebody canceled it (UTC); NULL: nobody has.
--   canceled_by            Who canceled it.
--   message                How it ended, in words; NULL: it has not, or the caller may not read it.
--   targets                Number of databases in the group; NULL: it is not known yet.
--   answered               Number of databases that have answered.
--   failed                 Number of databases that have failed.
--   paused                 Number of databases that were not asked, because they were paused.
--   row_count              Number of rows in jobs.question_rows.
--   is_cut                 1: a limit has cut rows off.
--   expire_time            When it may be deleted (UTC).
CREATE OR ALTER VIEW jobs.questions
AS
SELECT
    q.question_id,
    q.target_group_name,
    CASE WHEN o.question_id IS NOT NULL THEN q.question END AS question,
    q.credential_name,
    q.max_rows,
    q.max_rows_of_target,
    q.timeout_seconds,
    q.lifecycle,
    q.is_active,
    CAST(CASE WHEN o.question_id IS NOT NULL THEN 1 ELSE 0 END AS BIT) AS is_readable,
    q.asked_at AS asked_time,
    CAST(q.asked_by COLLATE DATABASE_DEFAULT AS NVARCHAR(256)) AS asked_by,
    q.started_at AS start_time,
    q.ended_at AS end_time,
    q.cancel_requested_at AS cancel_requested_time,
    q.canceled_by,
    CASE WHEN o.question_id IS NOT NULL THEN q.message END AS message,
    q.targets,
    q.answered,
    q.failed,
    q.paused,
    q.rows_kept AS row_count,
    q.is_cut,
    q.expires_at AS expire_time
FROM jobs_internal.questions AS q
LEFT JOIN jobs_internal.readable_questions AS o ON o.question_id = q.question_id;
