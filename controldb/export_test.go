package controldb

import "database/sql"

// Pool returns the connections of a store, for tests of what a call leaves behind.
func Pool(s *Store) *sql.DB { return s.db.DB }
