-- Tasks get the GUID of the pass that claimed them. Tasks that are held now have none, and accept outcomes without one.
ALTER TABLE jobs_internal.task_executions ADD
    claim_id UNIQUEIDENTIFIER NULL;
