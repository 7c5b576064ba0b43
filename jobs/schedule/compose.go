package schedule

import "time"

// single is due once.
type single struct{ at time.Time }

func (s single) Next(after time.Time) (time.Time, bool) {
	if !s.at.After(after) || s.at.After(LastInstant) {
		return time.Time{}, false
	}
	return s.at.UTC(), true
}

// union is due when either of two schedules is.
type union struct{ a, b Schedule }

func (s union) Next(after time.Time) (time.Time, bool) {
	a, okA := s.a.Next(after)
	b, okB := s.b.Next(after)
	switch {
	case !okA:
		return b, okB
	case !okB || a.Before(b):
		return a, true
	}
	return b, true
}

// bounded is the part of a schedule that lies in a range of time, both ends included.
type bounded struct {
	inner Schedule
	first time.Time // zero: no beginning
	last  time.Time // zero: no end
}

func (s bounded) Next(after time.Time) (time.Time, bool) {
	if !s.first.IsZero() && after.Before(s.first) {
		after = s.first.Add(-time.Nanosecond)
	}
	if !s.last.IsZero() && !after.Before(s.last) {
		return time.Time{}, false
	}
	next, ok := s.inner.Next(after)
	if !ok || !s.last.IsZero() && next.After(s.last) {
		return time.Time{}, false
	}
	return next, true
}

// mover is a schedule of which each run that starts late moves those after it.
type mover interface {
	Schedule
	// startedAt is the schedule after the run for the instant due really started at at: due itself, then what follows.
	startedAt(due, at time.Time) mover
}
