// Package rollouts has the roll-outs of jobs: their waves and targets, and the decisions of people.
package rollouts

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about roll-outs. It is safe for concurrent use.
type Store struct {
	conn  *call.Conn
	store *controldb.Store
}

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn(), s} }
