// Package deploy installs, migrates and removes the schema of a control database, and prints the
// statements that give logins their rights.
package deploy

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the deployments. It is safe for concurrent use.
type Store struct {
	conn    *call.Conn
	program string // version of this program
}

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn(), s.Program()} }
