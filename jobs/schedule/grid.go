package schedule

import (
	"sort"
	"time"
)

// grid is elapsed time: every step seconds since base, and in each step the instants at some offsets.
// No zone touches it (D-Z5).
type grid struct {
	base int64 // Unix seconds
	step int64 // seconds, at least 1
	// offsets within a step, ascending, each in [0, step); nil: 0 only.
	offsets []int64
	// from is the first instant that counts: base may lie before the start.
	from int64
}

func (g *grid) Next(after time.Time) (time.Time, bool) {
	return instantAt(g.nextUnix(max(after.Unix()+1, g.from)))
}

// nextUnix is the first instant not before from.
func (g *grid) nextUnix(from int64) int64 {
	k := max(0, floorDiv(from-g.base, g.step))
	start := g.base + k*g.step
	if g.offsets == nil {
		if start < from {
			start += g.step
		}
		return start
	}
	i := sort.Search(len(g.offsets), func(i int) bool { return start+g.offsets[i] >= from })
	if i == len(g.offsets) {
		return start + g.step + g.offsets[0]
	}
	return start + g.offsets[i]
}

// nth is the n-th instant (from 1) not before from.
func (g *grid) nth(from time.Time, n int64) (time.Time, bool) {
	first := g.nextUnix(max(from.Unix(), g.from))
	perStep := int64(max(1, len(g.offsets)))
	if n-1 > (LastInstant.Unix()-first)/g.step*perStep+perStep {
		return time.Time{}, false
	}
	if g.offsets == nil {
		return instantAt(first + (n-1)*g.step)
	}
	k := floorDiv(first-g.base, g.step)
	i := int64(sort.Search(len(g.offsets), func(i int) bool { return g.base+k*g.step+g.offsets[i] >= first })) + n - 1
	return instantAt(g.base + (k+i/perStep)*g.step + g.offsets[i%perStep])
}

// steps are months or years from a date, by a clock time of a zone; days that a month lacks become its
// last (decision 9, D-A1, D-A5).
type steps struct {
	start  date
	second int64 // of the day
	months int   // at least 1
}

func (p *steps) next(from int64) (int64, bool) {
	d := dateOf(floorDiv(from, daySeconds))
	k := max(0, (monthIndex(d.year, d.month)-monthIndex(p.start.year, p.start.month))/p.months)
	for ; ; k++ {
		if at := p.start.addMonths(k*p.months).dayNumber()*daySeconds + p.second; at >= from {
			return at, at < from+cycleSeconds
		}
	}
}

func (p *steps) count(from, to int64) int64 { return p.index(to) - p.index(from) }

// index is how many are before a civil second.
func (p *steps) index(at int64) int64 {
	next, _ := p.next(at)
	d := dateOf(floorDiv(next, daySeconds))
	return int64(monthIndex(d.year, d.month)-monthIndex(p.start.year, p.start.month)) / int64(p.months)
}
