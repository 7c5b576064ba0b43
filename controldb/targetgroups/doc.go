// Package targetgroups has target groups, and the databases that they have resolved to, with their
// tags.
package targetgroups

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about target groups and their databases. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
