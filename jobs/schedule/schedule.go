package schedule

import "time"

// Kind names the family of a schedule, and so the form of its specification.
type Kind string

// KindElastic is Azure Elastic Jobs' interval schedule; see Elastic.
const KindElastic Kind = "elastic"

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{KindElastic} }

// Schedule is a set of due instants.
type Schedule interface {
	// Next is the earliest due instant strictly after the given one, in UTC; false: there is none.
	Next(after time.Time) (time.Time, bool)
}

// LastInstant is the end of what SQL Server's datetime2 can hold, in whole seconds. Nothing is due later.
var LastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Preview returns the first n due instants strictly after the given one, fewer when there are no more.
func Preview(s Schedule, after time.Time, n int) []time.Time {
	var due []time.Time
	for range n {
		next, ok := s.Next(after)
		if !ok {
			break
		}
		due = append(due, next)
		after = next
	}
	return due
}

// MaxMissed is how far missed instants are counted. A schedule of every minute misses as many in a week.
const MaxMissed = 10_000

// Advance says what follows a run for the due instant due that is made at now (decision 11): the next
// due instant after both, and how many instants between them are not made up. One run stands for all of
// them: the catch-up run. more is false when nothing is due any more; missed is MaxMissed at most.
func Advance(s Schedule, due, now time.Time) (next time.Time, more bool, missed int) {
	for at := due; missed < MaxMissed; missed++ {
		next, more = s.Next(at)
		if !more || next.After(now) {
			return next, more, missed
		}
		at = next
	}
	next, more = s.Next(now)
	return next, more, missed
}
