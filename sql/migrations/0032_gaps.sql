-- Terms do not end because nobody could write, or because the clock has jumped. Terms that last now get a lease with their next renewal.
ALTER TABLE jobs_internal.terms ADD lease_seconds INT NULL;
ALTER TABLE jobs_internal.advance_state ADD
    terms_until DATETIME2(7) NOT NULL CONSTRAINT DF_advance_state_terms_until DEFAULT '2000-01-01',
    gaps        INT NOT NULL CONSTRAINT DF_advance_state_gaps DEFAULT 0;
