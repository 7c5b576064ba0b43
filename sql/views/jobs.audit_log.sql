-- The audit log: who changed what, by which door, and from where. Commands of steps and parameters of runs are there as hashes only;
-- jobs.jobstep_versions has the commands of a version as long as its job exists. sql/DESIGN.md, "Audit".
--
-- Columns:
--   entry_id         Order of the writes.
--   time             When the change was made (UTC).
--   door             T-SQL, CLI, REST or Web (the dashboard).
--   caller           Person or program; the login for T-SQL and CLI.
--   original_login   Login of the session.
--   host             Name of the client's computer, as the client gives it.
--   program          Name of the client's program, as the client gives it.
--   address          Network address of the client.
--   correlation_id   Joins the entries of one request, or of one call of the command line.
--   action           Name of the procedure.
--   object_kind      Kind of the object, such as Job, JobStep or TargetGroup.
--   object_name      Its name.
--   object_id        Its id.
--   job_id           Job to which it belongs.
--   job_name         Name of that job after the change.
--   before_change    JSON object of what changed, as it was; NULL: the object is new, or has no state.
--   after_change     JSON object of what changed, as it is now; NULL: the object was deleted, or has no state.
--   version_before   Version of the job before the change.
--   version_after    Version of the job after it.
--   revision_before  Revision of the object before the change.
--   revision_after   Revision of the object after it.
CREATE OR ALTER VIEW jobs.audit_log
AS
SELECT
    a.entry_id,
    a.at AS time,
    a.door,
    a.caller,
    a.original_login,
    a.host,
    a.program,
    a.address,
    a.correlation_id,
    a.action,
    a.object_kind,
    a.object_name,
    a.object_id,
    a.job_id,
    a.job_name,
    a.before_change,
    a.after_change,
    a.version_before,
    a.version_after,
    a.revision_before,
    a.revision_after
FROM jobs_internal.audit_entries AS a;
