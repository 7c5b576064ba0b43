package rrule

import (
	"math/bits"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
)

// grid is the pattern of a rule below the day that has BY parts: every interval-th hour, minute or
// second of the wall clock, counted from that of the start, if its clock time and its day match.
//
// The clock times at which the grid touches a day repeat after cycle days. So a bit for each day of
// the cycle shows whether any of its clock times matches, and days without one are skipped.
type grid struct {
	unit     int64 // seconds of a unit: 3600, 60 or 1
	interval int64 // in units
	first    int64 // the unit of the start, counted from 1970
	perDay   int64 // units of a day
	// allowed are the clock times at which a unit may begin.
	allowed engine.Times
	// offsets are the seconds within a unit, ascending.
	offsets []int32
	// days are the days that match; nil means all.
	days *yearTable

	cycle int64
	hits  []uint64 // bit d: a clock time matches on the days ≡ d (mod cycle)
	// units returns the number of matching units for each day of the cycle.
	units func() []int32
}

// newGrid completes a grid.
func newGrid(g *grid) *grid {
	g.perDay = civil.DaySeconds / g.unit
	g.cycle = g.interval / gcd(g.perDay, g.interval)
	g.hits = make([]uint64, g.cycle/64+1)
	g.eachUnit(func(day int64) { g.hits[day>>6] |= 1 << (day & 63) })
	g.units = sync.OnceValue(func() []int32 {
		n := make([]int32, g.cycle)
		g.eachUnit(func(day int64) { n[day]++ })
		return n
	})
	return g
}

// eachUnit calls f with the day of the cycle of each allowed unit that the grid reaches.
func (g *grid) eachUnit(f func(day int64)) {
	// Day d and unit u of a day are on the grid if first ≡ d × perDay + u (mod interval).
	common := gcd(g.perDay, g.interval)
	back := inverse(g.perDay/common, g.cycle)
	u := civil.FloorMod(g.first, common)
	day := civil.FloorMod(civil.FloorDiv(g.first, common)%g.cycle*back, g.cycle)
	for ; u < g.perDay; u += common {
		if g.allows(u) {
			f(day)
		}
		if day -= back; day < 0 {
			day += g.cycle
		}
	}
}

// allows reports whether the unit u of a day may begin at its clock time.
func (g *grid) allows(u int64) bool {
	second := u * g.unit
	return g.allowed.Hours>>(second/3600)&1 == 1 && g.allowed.Minutes>>(second/60%60)&1 == 1 && g.allowed.Seconds>>(second%60)&1 == 1
}

// inverse returns the number that gives 1 (mod m) when it is multiplied by a. a and m have no
// common divisor.
func inverse(a, m int64) int64 {
	r, next, x, y := a%m, m, int64(1), int64(0)
	for next != 0 {
		q := r / next
		r, next, x, y = next, r-q*next, y, x-q*y
	}
	return civil.FloorMod(x, m)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// possible reports whether the grid and the days ever meet. It compares the residues of the days by
// the greatest common divisor of the cycle of the grid and the cycle of the calendar, which have no
// other dependence on each other.
func (g *grid) possible() bool {
	if len(g.offsets) == 0 {
		return false
	}
	common := gcd(g.cycle, civil.CycleDays)
	reached := make([]bool, common)
	met := false
	for i, word := range g.hits {
		for ; word != 0; word &= word - 1 {
			reached[(int64(i)<<6+int64(bits.TrailingZeros64(word)))%common] = true
			met = true
		}
	}
	if g.days == nil || !met {
		return met
	}
	start := civil.DayNumber(2000, time.January, 1) - 1 // the day before the month
	for year := 2000; year < 2400; year++ {
		days := g.days.of(year)
		for month := time.January; month <= time.December; month++ {
			for mask := days.days[month]; mask != 0; mask &= mask - 1 {
				if reached[civil.FloorMod(start+int64(bits.TrailingZeros32(mask)), common)] {
					return true
				}
			}
			start += int64(civil.MonthLength(year, month))
		}
	}
	return false
}

// lastDay is the last day on which a run is due, and one more for zones behind UTC.
var lastDay = civil.FloorDiv(engine.LastInstant.Unix(), civil.DaySeconds) + 1

// nextDay returns the first day at or after day that matches. It returns false if there is none
// until the year 9999.
func (g *grid) nextDay(day int64) (int64, bool) {
	for day <= lastDay {
		day += g.untilHit(civil.FloorMod(day, g.cycle))
		if g.days == nil {
			return day, day <= lastDay
		}
		next := g.days.next(day)
		if next == day {
			return day, day <= lastDay
		}
		day = next
	}
	return 0, false
}

// untilHit returns the distance from a day of the cycle to the next one with a matching unit.
func (g *grid) untilHit(from int64) int64 {
	if next, ok := g.hitFrom(from); ok {
		return next - from
	}
	if next, ok := g.hitFrom(0); ok {
		return next + g.cycle - from
	}
	return lastDay + g.cycle // no hit at all
}

func (g *grid) hitFrom(from int64) (int64, bool) {
	i := from >> 6
	word := g.hits[i] >> (from & 63) << (from & 63)
	for word == 0 {
		if i++; i == int64(len(g.hits)) {
			return 0, false
		}
		word = g.hits[i]
	}
	return i<<6 + int64(bits.TrailingZeros64(word)), true
}

// nextUnit returns the first matching unit of a day at or after u.
func (g *grid) nextUnit(day, u int64) (int64, bool) {
	for u < g.perDay {
		u += civil.FloorMod(g.first-day*g.perDay-u, g.interval) // on the grid
		if u >= g.perDay {
			break
		}
		second, ok := g.allowed.Next(int(u * g.unit))
		if !ok {
			break
		}
		if int64(second) == u*g.unit {
			return u, true
		}
		u = int64(second) / g.unit
	}
	return 0, false
}

// Next implements engine.Pattern. It searches until the year 9999.
func (g *grid) Next(from int64) (int64, bool) {
	from = max(from, g.first*g.unit)
	day := civil.FloorDiv(from, civil.DaySeconds)
	within := from - day*civil.DaySeconds
	if at, ok := g.nextDay(day); !ok {
		return 0, false
	} else if at > day {
		day, within = at, 0
	}
	for {
		u := within / g.unit
		for {
			unit, ok := g.nextUnit(day, u)
			if !ok {
				break
			}
			start := unit * g.unit
			i := sort.Search(len(g.offsets), func(i int) bool { return start+int64(g.offsets[i]) >= within })
			if i < len(g.offsets) {
				return day*civil.DaySeconds + start + int64(g.offsets[i]), true
			}
			u = unit + 1
		}
		next, ok := g.nextDay(day + 1)
		if !ok {
			return 0, false
		}
		day, within = next, 0
	}
}

// Count implements engine.Pattern.
func (g *grid) Count(from, to int64) int64 {
	from = max(from, g.first*g.unit)
	if from >= to {
		return 0
	}
	first, last := civil.FloorDiv(from, civil.DaySeconds), civil.FloorDiv(to, civil.DaySeconds)
	n := g.before(last, to-last*civil.DaySeconds) - g.before(first, from-first*civil.DaySeconds)
	units := g.units()
	var whole int64
	for day, ok := g.nextDay(first); ok && day < last; day, ok = g.nextDay(day + 1) {
		whole += int64(units[civil.FloorMod(day, g.cycle)])
	}
	return n + whole*int64(len(g.offsets))
}

// before returns the number of matches of a day before a second of it.
func (g *grid) before(day, second int64) int64 {
	if at, ok := g.nextDay(day); !ok || at != day {
		return 0
	}
	var n int64
	for u, ok := g.nextUnit(day, 0); ok && u*g.unit < second; u, ok = g.nextUnit(day, u+1) {
		i, _ := slices.BinarySearch(g.offsets, int32(min(second-u*g.unit, civil.DaySeconds)))
		n += int64(i)
	}
	return n
}

// AtMost implements engine.Bounder.
func (g *grid) AtMost(days int64) int64 {
	return (days*g.perDay/g.interval + 1) * int64(len(g.offsets))
}

// times returns the clock times of a grid that has the same ones on every day. within are the times
// of one unit.
func (g *grid) times(within engine.Times) engine.Times {
	reached := func(units int64) (mask uint64) {
		for u := civil.FloorMod(g.first, g.interval); u < units; u += g.interval {
			mask |= 1 << u
		}
		return mask
	}
	t := engine.Times{Hours: g.allowed.Hours, Minutes: within.Minutes, Seconds: within.Seconds}
	complete := len(g.offsets) == bits.OnesCount64(within.Minutes)*bits.OnesCount64(within.Seconds)
	switch {
	case complete && g.unit == 3600:
		t.Hours &= uint32(reached(24))
		return t
	case complete && g.unit == 60 && 60%g.interval == 0:
		t.Minutes = g.allowed.Minutes & reached(60)
		return t
	case complete && g.unit == 1 && 60%g.interval == 0:
		t.Minutes, t.Seconds = g.allowed.Minutes, g.allowed.Seconds&reached(60)
		return t
	}
	t = engine.Times{List: []int32{}}
	for u, ok := g.nextUnit(0, 0); ok; u, ok = g.nextUnit(0, u+1) {
		for _, o := range g.offsets {
			t.List = append(t.List, int32(u*g.unit)+o)
		}
	}
	return t
}

// reached returns the hours and minutes at which an allowed unit of the grid begins on some day.
func (g *grid) reached() engine.Times {
	var t engine.Times
	common := gcd(g.perDay, g.interval)
	for u := civil.FloorMod(g.first, common); u < g.perDay; u += common {
		if second := u * g.unit; g.allows(u) {
			t.Hours |= 1 << (second / 3600)
			t.Minutes |= 1 << (second / 60 % 60)
		}
	}
	return t
}
