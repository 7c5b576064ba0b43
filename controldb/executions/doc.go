// Package executions starts, stops and repeats runs, and has runs as people see them: lists of
// runs, their steps, targets, attempts and messages, what they wait for, and how two runs differ.
package executions

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about runs. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
