package engine

import (
	"math/bits"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// Pattern is a set of civil seconds.
type Pattern interface {
	// Next returns the first match at or after from. It returns false if there is none within 400
	// years.
	Next(from int64) (int64, bool)
	// Count returns the number of matches in [from, to).
	Count(from, to int64) int64
}

// OnDays is a pattern of clock times on a set of days.
type OnDays struct {
	// Days returns the days of a month as bits 1 to 31. It sets no bit beyond the end of the month.
	Days  func(year int, month time.Month) uint32
	Times Times
}

// Next implements Pattern.
func (p *OnDays) Next(from int64) (int64, bool) {
	day := civil.FloorDiv(from, civil.DaySeconds)
	d := civil.DateOf(day)
	mask := p.Days(d.Year, d.Month)
	if mask>>d.Day&1 == 1 {
		if s, ok := p.Times.Next(int(from - day*civil.DaySeconds)); ok {
			return day*civil.DaySeconds + int64(s), true
		}
	}
	first, ok := p.Times.Next(0)
	if !ok {
		return 0, false
	}
	mask &^= 1<<(d.Day+1) - 1
	monthStart := day - int64(d.Day) // the day before the first, so that bits are added to it
	for range civil.CycleMonths + 1 {
		if mask != 0 {
			return (monthStart+int64(bits.TrailingZeros32(mask)))*civil.DaySeconds + int64(first), true
		}
		monthStart += int64(civil.MonthLength(d.Year, d.Month))
		if d.Month++; d.Month > 12 {
			d.Year, d.Month = d.Year+1, 1
		}
		mask = p.Days(d.Year, d.Month)
	}
	return 0, false
}

// Count implements Pattern.
func (p *OnDays) Count(from, to int64) int64 {
	if from >= to {
		return 0
	}
	return p.before(to, from) - p.before(from, from)
}

// before returns the number of matches from the first day of origin's month until to.
func (p *OnDays) before(to, origin int64) int64 {
	d := civil.DateOf(civil.FloorDiv(origin, civil.DaySeconds))
	day := civil.FloorDiv(to, civil.DaySeconds)
	end := civil.DateOf(day)
	var days int64
	for y, m := d.Year, d.Month; y < end.Year || y == end.Year && m < end.Month; {
		days += int64(bits.OnesCount32(p.Days(y, m)))
		if m++; m > 12 {
			y, m = y+1, 1
		}
	}
	mask := p.Days(end.Year, end.Month)
	days += int64(bits.OnesCount32(mask & (1<<end.Day - 1)))
	n := days * int64(p.Times.perDay())
	if mask>>end.Day&1 == 1 {
		n += int64(p.Times.before(int(to - day*civil.DaySeconds)))
	}
	return n
}

// AtMost implements Bounder.
func (p *OnDays) AtMost(days int64) int64 { return days * int64(p.Times.perDay()) }
