-- Terms get a GUID that a restored database cannot give again. Terms of agents of earlier releases have none.
ALTER TABLE jobs_internal.terms ADD
    term_guid UNIQUEIDENTIFIER NULL;
