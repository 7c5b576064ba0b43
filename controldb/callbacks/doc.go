// Package callbacks has the calls of actions: what was sent, and the reports that end it.
package callbacks

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about callbacks. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
