package rrule

import (
	"slices"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// positioned is the pattern of a rule with BYSETPOS by the year, month or week. The positions
// number the clock times of all days in a period.
type positioned struct {
	rule  *rule
	days  func(int, time.Month) uint32
	times []int32
	// front and back are the positions as distances from the beginning and the end of a period,
	// ascending.
	front, back []int
}

func newPositioned(r *rule, times []int32) *positioned {
	p := &positioned{rule: r, days: r.dayMask(), times: times}
	for _, n := range r.positions {
		if n > 0 {
			p.front = append(p.front, n-1)
		} else {
			p.back = append(p.back, -n)
		}
	}
	slices.Sort(p.back)
	return p
}

// period returns the first day of the period that contains a day.
func (p *positioned) period(day int64) int64 {
	d := civil.DateOf(day)
	switch p.rule.freq {
	case yearly:
		return civil.DayNumber(d.Year, time.January, 1)
	case monthly:
		return civil.DayNumber(d.Year, d.Month, 1)
	}
	return p.rule.weekOf(day)
}

// following returns the first day of the period that is step periods after the one that begins at
// first.
func (p *positioned) following(first, step int64) int64 {
	d := civil.DateOf(first)
	switch p.rule.freq {
	case yearly:
		return civil.DayNumber(d.Year+int(step), time.January, 1)
	case monthly:
		return civil.Date{Year: d.Year, Month: d.Month, Day: 1}.AddMonths(int(step)).DayNumber()
	}
	return first + 7*step
}

// daysIn returns the day numbers of the rule in [from, to).
func (p *positioned) daysIn(from, to int64) []int64 {
	var list []int64
	for day := from; day < to; {
		d := civil.DateOf(day)
		mask := p.days(d.Year, d.Month)
		start, length := day-int64(d.Day)+1, int64(civil.MonthLength(d.Year, d.Month))
		for ; day < min(to, start+length); day++ {
			if mask>>(day-start+1)&1 == 1 {
				list = append(list, day)
			}
		}
	}
	return list
}

// chosen returns the civil seconds of one period at the positions of the rule, ascending.
func (p *positioned) chosen(first int64) []int64 {
	days := p.daysIn(first, p.following(first, 1))
	length := len(days) * len(p.times)
	var places []int
	for _, i := range p.front {
		if i >= length {
			break
		}
		places = append(places, i)
	}
	for _, n := range p.back {
		if n > length {
			break
		}
		places = append(places, length-n)
	}
	slices.Sort(places)
	var list []int64
	for _, i := range slices.Compact(places) {
		list = append(list, days[i/len(p.times)]*civil.DaySeconds+int64(p.times[i%len(p.times)]))
	}
	return list
}

// firstPeriod returns the first day of the rule's first period that ends after a day.
func (p *positioned) firstPeriod(day int64) int64 {
	start := p.period(p.rule.start.DayNumber())
	at := max(start, p.period(day))
	a, b := civil.DateOf(start), civil.DateOf(at)
	var passed int64
	switch p.rule.freq {
	case yearly:
		passed = int64(b.Year - a.Year)
	case monthly:
		passed = int64(civil.MonthIndex(b.Year, b.Month) - civil.MonthIndex(a.Year, a.Month))
	default:
		passed = (at - start) / 7
	}
	if over := passed % p.rule.interval; over != 0 {
		at = p.following(at, p.rule.interval-over)
	}
	return at
}

// Next implements engine.Pattern.
func (p *positioned) Next(from int64) (int64, bool) {
	day := civil.FloorDiv(from, civil.DaySeconds)
	for first := p.firstPeriod(day); first <= day+civil.CycleDays; first = p.following(first, p.rule.interval) {
		for _, at := range p.chosen(first) {
			if at >= from {
				return at, true
			}
		}
	}
	return 0, false
}

// Count implements engine.Pattern.
func (p *positioned) Count(from, to int64) int64 {
	var n int64
	for first := p.firstPeriod(civil.FloorDiv(from, civil.DaySeconds)); first*civil.DaySeconds < to; first = p.following(first, p.rule.interval) {
		for _, at := range p.chosen(first) {
			if at >= from && at < to {
				n++
			}
		}
	}
	return n
}

// AtMost implements engine.Bounder.
func (p *positioned) AtMost(days int64) int64 {
	length := map[frequency]int64{yearly: 365, monthly: 28, weekly: 7}[p.rule.freq] * p.rule.interval
	return (days/length + 2) * int64(len(p.rule.positions))
}

// choose returns the items at the given positions, which are ascending and count from 1, or from -1
// at the end. The result is in the order of items.
func choose(items []int32, positions []int) []int32 {
	var places []int
	for _, n := range positions {
		if n < 0 {
			n += len(items) + 1
		}
		if n >= 1 && n <= len(items) {
			places = append(places, n-1)
		}
	}
	slices.Sort(places)
	chosen := []int32{}
	for _, i := range slices.Compact(places) {
		chosen = append(chosen, items[i])
	}
	return chosen
}
