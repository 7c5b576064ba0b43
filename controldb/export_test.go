package controldb

import (
	"database/sql"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Pool returns the connections of a store, for tests of what a call leaves behind.
func Pool(s *Store) *sql.DB { return call.DB(s.conn).DB }
