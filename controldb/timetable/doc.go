// Package timetable has when jobs run: schedules, calendars and backfills, as people define and
// read them. What agents do with schedules is the store's.
package timetable

import (
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Store has the calls about schedules, calendars and backfills. It is safe for concurrent use.
type Store struct{ conn *call.Conn }

// On returns the calls on the connections of s: in its transaction, if s collects calls.
func On(s *controldb.Store) Store { return Store{s.Conn()} }
