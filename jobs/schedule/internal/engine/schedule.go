package engine

import "time"

// Schedule is a set of due instants.
type Schedule interface {
	// Next returns the earliest due instant strictly after the given one, in UTC. It returns false
	// if there is none.
	Next(after time.Time) (time.Time, bool)
}

// LastInstant is the last whole second of SQL Server's datetime2. Nothing is due later.
var LastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
