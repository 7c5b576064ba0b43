package engine

import (
	"sort"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Grid is a schedule of elapsed time: the instants Base + k × Step + offset for k = 0, 1, 2, …
// and each of Offsets. It does not depend on a time zone (D-Z5).
type Grid struct {
	Base int64 // Unix seconds
	Step int64 // seconds, at least 1
	// Offsets are the offsets within a step, ascending, each in [0, Step). Nil means only 0.
	Offsets []int64
	// From is the first valid instant, in Unix seconds. Base may lie before the start of the
	// schedule.
	From int64
}

// Next implements Schedule.
func (g *Grid) Next(after time.Time) (time.Time, bool) {
	return InstantAt(g.NextUnix(max(after.Unix()+1, g.From)))
}

// NextUnix returns the first instant at or after from, in Unix seconds.
func (g *Grid) NextUnix(from int64) int64 {
	k := max(0, civil.FloorDiv(from-g.Base, g.Step))
	start := g.Base + k*g.Step
	if g.Offsets == nil {
		if start < from {
			start += g.Step
		}
		return start
	}
	i := sort.Search(len(g.Offsets), func(i int) bool { return start+g.Offsets[i] >= from })
	if i == len(g.Offsets) {
		return start + g.Step + g.Offsets[0]
	}
	return start + g.Offsets[i]
}

// Nth returns the n-th instant at or after from; n counts from 1.
func (g *Grid) Nth(from time.Time, n int64) (time.Time, bool) {
	first := g.NextUnix(max(from.Unix(), g.From))
	perStep := int64(max(1, len(g.Offsets)))
	if n-1 > (LastInstant.Unix()-first)/g.Step*perStep+perStep {
		return time.Time{}, false
	}
	if g.Offsets == nil {
		return InstantAt(first + (n-1)*g.Step)
	}
	k := civil.FloorDiv(first-g.Base, g.Step)
	i := int64(sort.Search(len(g.Offsets), func(i int) bool { return g.Base+k*g.Step+g.Offsets[i] >= first })) + n - 1
	return InstantAt(g.Base + (k+i/perStep)*g.Step + g.Offsets[i%perStep])
}

// Steps is the pattern of a clock time every Months months from a date. If a month has no such day,
// the last day of the month matches (decision 9, D-A1, D-A5).
type Steps struct {
	Start  civil.Date
	Second int64 // of the day
	Months int   // at least 1
}

// Next implements Pattern.
func (p *Steps) Next(from int64) (int64, bool) {
	d := civil.DateOf(civil.FloorDiv(from, civil.DaySeconds))
	k := max(0, (civil.MonthIndex(d.Year, d.Month)-civil.MonthIndex(p.Start.Year, p.Start.Month))/p.Months)
	for ; ; k++ {
		if at := p.Start.AddMonths(k*p.Months).DayNumber()*civil.DaySeconds + p.Second; at >= from {
			return at, at < from+civil.CycleSeconds
		}
	}
}

// Count implements Pattern.
func (p *Steps) Count(from, to int64) int64 { return p.index(to) - p.index(from) }

// index returns the number of matches before a civil second.
func (p *Steps) index(at int64) int64 {
	next, _ := p.Next(at)
	d := civil.DateOf(civil.FloorDiv(next, civil.DaySeconds))
	return int64(civil.MonthIndex(d.Year, d.Month)-civil.MonthIndex(p.Start.Year, p.Start.Month)) / int64(p.Months)
}

// AtMost implements Bounder.
func (p *Steps) AtMost(days int64) int64 { return days/(28*int64(p.Months)) + 2 }
