// Package identity says which control database this is, pauses and resumes it, and makes a restored
// one safe (I16).
package identity

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about a control database as a whole. It is safe for concurrent use.
type Store struct {
	conn      *call.Conn
	installed installed.Store
}

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn(), installed.On(s)} }
