package rrule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// warnOfItems warns of items of a list that never match beside items that do.
func (r *rule) warnOfItems(p *syntax.Parser, pattern engine.Pattern) {
	var idle []string
	add := func(name, item string) { idle = append(idle, name+" "+item) }
	for _, o := range r.nth {
		if (o.N > 5 || o.N < -5) && (r.freq == monthly || r.months != 0) {
			add("BYDAY", fmt.Sprintf("%d%s", o.N, weekdays[o.Day]))
		}
	}
	for _, n := range r.days {
		if !r.anyMonth(func(month time.Month) bool { return max(n, -n) <= civil.MonthLength(leapYear, month) }) {
			add("BYMONTHDAY", fmt.Sprint(n))
		}
	}
	for month := time.January; month <= time.December && r.has("BYMONTH"); month++ {
		if r.months>>month&1 == 1 && (r.days != nil && engine.DaysOfMonth(leapYear, month, r.days) == 0 || r.yearDays != nil && !r.yearDaysIn(month)) {
			add("BYMONTH", fmt.Sprint(int(month)))
		}
	}
	switch pattern := pattern.(type) {
	case *grid:
		r.idleTimes(pattern.reached(), add)
	case *engine.OnDays:
		if r.freq >= hourly {
			r.idleTimes(pattern.Times, add)
		}
	}
	if len(idle) > 0 {
		p.Warn(strings.Join(idle, ", ") + ": never occurs in this rule")
	}
}

// leapYear is a year in which every date exists.
const leapYear = 2024

// anyMonth reports whether a condition holds for a month of the rule.
func (r *rule) anyMonth(holds func(time.Month) bool) bool {
	for month := time.January; month <= time.December; month++ {
		if (r.months == 0 || r.months>>month&1 == 1) && holds(month) {
			return true
		}
	}
	return false
}

// yearDaysIn reports whether a day of BYYEARDAY is ever in a month.
func (r *rule) yearDaysIn(month time.Month) bool {
	return r.daysOfYear(leapYear, month) != 0 || r.daysOfYear(leapYear+1, month) != 0
}

// idleTimes adds the items of BYHOUR and BYMINUTE that no clock time of a rule below the day has.
func (r *rule) idleTimes(times engine.Times, add func(name, item string)) {
	if times.List != nil {
		for _, s := range times.List {
			times.Hours |= 1 << (s / 3600)
			times.Minutes |= 1 << (s / 60 % 60)
		}
	}
	if r.has("BYHOUR") {
		for rest := r.hours &^ times.Hours; rest != 0; rest &= rest - 1 {
			add("BYHOUR", fmt.Sprint(bits.TrailingZeros32(rest)))
		}
	}
	if r.has("BYMINUTE") && r.freq > hourly {
		for rest := r.minutes &^ times.Minutes; rest != 0; rest &= rest - 1 {
			add("BYMINUTE", fmt.Sprint(bits.TrailingZeros64(rest)))
		}
	}
}
