// Package account reads and changes the job agent of a control database, which Azure Elastic Jobs
// calls by this name: its definition, its state, and the operations that install and delete it.
package account

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about the job agent. It is safe for concurrent use.
type Store struct {
	conn      *call.Conn
	installed installed.Store
}

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn(), installed.On(s)} }
