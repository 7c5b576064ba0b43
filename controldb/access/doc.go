// Package access has what the elastic front stores for reaching targets: credentials and private
// endpoints.
package access

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about credentials and private endpoints. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
