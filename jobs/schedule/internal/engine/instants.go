package engine

import (
	"slices"
	"time"
)

// Instants is a schedule of single instants in Unix seconds, ascending.
type Instants []int64

// Next implements Schedule.
func (s Instants) Next(after time.Time) (time.Time, bool) {
	i, found := slices.BinarySearch(s, after.Unix())
	if found {
		i++
	}
	if i == len(s) {
		return time.Time{}, false
	}
	return InstantAt(s[i])
}

// Nth implements counter.
func (s Instants) Nth(from time.Time, n int64) (time.Time, bool) {
	i, _ := slices.BinarySearch(s, wholeUnix(from))
	if n > int64(len(s)-i) {
		return time.Time{}, false
	}
	return InstantAt(s[int64(i)+n-1])
}

// Without is a schedule without some instants, which are Unix seconds, ascending.
type Without struct {
	Inner    Schedule
	Excluded []int64
}

// Next implements Schedule.
func (s Without) Next(after time.Time) (time.Time, bool) {
	for {
		next, ok := s.Inner.Next(after)
		if !ok {
			return time.Time{}, false
		}
		if _, excluded := slices.BinarySearch(s.Excluded, next.Unix()); !excluded {
			return next, true
		}
		after = next
	}
}

// wholeUnix returns the first whole second at or after t.
func wholeUnix(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
