package engine

import "time"

// Schedule is a set of due instants.
type Schedule interface {
	// Next is the earliest due instant strictly after the given one, in UTC; false: there is none.
	Next(after time.Time) (time.Time, bool)
}

// LastInstant is the end of what SQL Server's datetime2 can hold, in whole seconds. Nothing is due
// later.
var LastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
