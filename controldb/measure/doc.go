// Package measure has what metrics and traces are made of: numbers of runs, and the spans of those
// that have ended.
package measure

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the reads for metrics and traces. It is safe for concurrent use.
type Store struct {
	conn     *call.Conn
	identity identity.Store
}

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn(), identity.On(s)} }
