package engine

import "time"

// Single is a schedule with one due instant.
type Single struct{ At time.Time }

// Next implements Schedule.
func (s Single) Next(after time.Time) (time.Time, bool) {
	if !s.At.After(after) || s.At.After(LastInstant) {
		return time.Time{}, false
	}
	return s.At.UTC(), true
}

// Union is a schedule with the due instants of two schedules.
type Union struct{ A, B Schedule }

// Next implements Schedule.
func (s Union) Next(after time.Time) (time.Time, bool) {
	a, okA := s.A.Next(after)
	b, okB := s.B.Next(after)
	switch {
	case !okA:
		return b, okB
	case !okB || a.Before(b):
		return a, true
	}
	return b, true
}

// Bounded is the part of a schedule between First and Last, both included.
type Bounded struct {
	Inner Schedule
	First time.Time // zero: no beginning
	Last  time.Time // zero: no end
}

// Next implements Schedule.
func (s Bounded) Next(after time.Time) (time.Time, bool) {
	if !s.First.IsZero() && after.Before(s.First) {
		after = s.First.Add(-time.Nanosecond)
	}
	if !s.Last.IsZero() && !after.Before(s.Last) {
		return time.Time{}, false
	}
	next, ok := s.Inner.Next(after)
	if !ok || !s.Last.IsZero() && next.After(s.Last) {
		return time.Time{}, false
	}
	return next, true
}

// Mover is a schedule in which a run that starts late moves the runs after it.
type Mover interface {
	Schedule
	// StartedAt returns the schedule that follows from the actual start, at, of the run for the
	// instant due. The result begins with due itself.
	StartedAt(due, at time.Time) Mover
}

// Schedule is a set of due instants.
type Schedule interface {
	// Next returns the earliest due instant strictly after the given one, in UTC. It returns false
	// if there is none.
	Next(after time.Time) (time.Time, bool)
}

// LastInstant is the last whole second of SQL Server's datetime2. Nothing is due later.
var LastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
