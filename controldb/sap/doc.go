// Package sap has what the SAP surface of the REST front calls: jobs, schedules and runs by the
// numbers that SAP Job Scheduling gives them, and tenants.
package sap

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls of the SAP surface. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
