package schedule

import (
	"math/bits"
	"time"
)

// pattern is a set of civil seconds.
type pattern interface {
	// next is the first one not before from; false: none within 400 years of it.
	next(from int64) (int64, bool)
	// count is how many there are in [from, to).
	count(from, to int64) int64
}

// onDays is the pattern of certain times on certain days.
type onDays struct {
	// days of a month as bits 1 to 31; no bit that the month has no day for.
	days  func(year int, month time.Month) uint32
	times times
}

func (p *onDays) next(from int64) (int64, bool) {
	day := floorDiv(from, daySeconds)
	d := dateOf(day)
	mask := p.days(d.year, d.month)
	if mask>>d.day&1 == 1 {
		if s, ok := p.times.next(int(from - day*daySeconds)); ok {
			return day*daySeconds + int64(s), true
		}
	}
	first, ok := p.times.next(0)
	if !ok {
		return 0, false
	}
	mask &^= 1<<(d.day+1) - 1
	monthStart := day - int64(d.day) // the day before the first, so that bits are added to it
	for range cycleMonths + 1 {
		if mask != 0 {
			return (monthStart+int64(bits.TrailingZeros32(mask)))*daySeconds + int64(first), true
		}
		monthStart += int64(monthLength(d.year, d.month))
		if d.month++; d.month > 12 {
			d.year, d.month = d.year+1, 1
		}
		mask = p.days(d.year, d.month)
	}
	return 0, false
}

func (p *onDays) count(from, to int64) int64 {
	if from >= to {
		return 0
	}
	return p.before(to, from) - p.before(from, from)
}

// before counts from the first of origin's month to to.
func (p *onDays) before(to, origin int64) int64 {
	d := dateOf(floorDiv(origin, daySeconds))
	day := floorDiv(to, daySeconds)
	end := dateOf(day)
	var days int64
	for y, m := d.year, d.month; y < end.year || y == end.year && m < end.month; {
		days += int64(bits.OnesCount32(p.days(y, m)))
		if m++; m > 12 {
			y, m = y+1, 1
		}
	}
	mask := p.days(end.year, end.month)
	days += int64(bits.OnesCount32(mask & (1<<end.day - 1)))
	n := days * int64(p.times.perDay())
	if mask>>end.day&1 == 1 {
		n += int64(p.times.before(int(to - day*daySeconds)))
	}
	return n
}

// Masks of days in a month, bits 1 to 31.
