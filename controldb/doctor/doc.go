// Package doctor examines a control database: each subject has one query, the file of its name, and
// findings that are derived from the facts.
package doctor

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the examinations. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
