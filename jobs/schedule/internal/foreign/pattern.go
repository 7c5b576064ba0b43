package foreign

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
)

// pattern is a set of days with clock times, before a kind is chosen for it. A day must match
// years, months, days and weekdays.
type pattern struct {
	years  []span // nil: every year
	months uint64 // bits 1 to 12
	days   uint64 // bits 1 to 31
	// fromEnd are days counted from the end of the month: -1 is the last one. If it is not nil,
	// days does not apply.
	fromEnd  []span
	weekdays uint64 // bit 0 is Monday
	// nth are weekdays with their number in the month. If it is not nil, weekdays does not apply.
	nth                     []nth
	hours, minutes, seconds uint64
}

// span holds the numbers from, from+step and so on until to.
type span struct{ from, to, step int }

// nth is the n-th weekday of a month; day 0 is Monday.
type nth struct{ n, day int }

// The values of the fields without restriction.
const (
	allMonths   = 1<<13 - 2
	allDays     = 1<<32 - 2
	allWeekdays = 1<<7 - 1
	allHours    = 1<<24 - 1
	allMinutes  = 1<<60 - 1
)

// every is the pattern of every second.
var every = pattern{months: allMonths, days: allDays, weekdays: allWeekdays, hours: allHours, minutes: allMinutes, seconds: allMinutes}

// line returns the kind and line of the pattern: cron5, or cron6 for other seconds than 0, or else
// the cron of the kind sap, in which all fields must match, and which has years and days counted
// from the end of the month.
func (p pattern) line() (kind, line string) {
	oneDayField := p.days == allDays || p.weekdays == allWeekdays
	if p.years == nil && p.fromEnd == nil && p.nth == nil && oneDayField {
		line = strings.Join([]string{
			cronList(p.minutes, 0, 59), cronList(p.hours, 0, 23), cronList(p.days, 1, 31), cronList(p.months, 1, 12), cronList(sundayFirst(p.weekdays), 0, 6),
		}, " ")
		if p.seconds == 1 {
			return kindCron5, line
		}
		return kindCron6, cronList(p.seconds, 0, 59) + " " + line
	}
	days := sapList(p.days, 1, 31)
	if p.fromEnd != nil {
		days = spanList(p.fromEnd)
	}
	return kindSAP, strings.Join([]string{
		spanList(p.years), sapList(p.months, 1, 12), days, p.sapWeekdays(), sapList(p.hours, 0, 23), sapList(p.minutes, 0, 59), sapList(p.seconds, 0, 59),
	}, " ")
}

// sundayFirst converts a mask from Monday as bit 0 to Sunday as bit 0.
func sundayFirst(mask uint64) uint64 { return mask<<1&0x7e | mask>>6&1 }

// cronList returns the text of a field of cron.
func cronList(mask uint64, low, high int) string {
	s, one := progression(mask)
	switch {
	case bits.OnesCount64(mask) == high-low+1:
		return "*"
	case one && s.step > 1 && s.from == low && s.to+s.step > high:
		return fmt.Sprintf("*/%d", s.step)
	}
	return maskList(mask, "-")
}

// sapList returns the text of a field of sap's cron. */n is not used: there it means the numbers
// that are divisible by n.
func sapList(mask uint64, low, high int) string {
	if bits.OnesCount64(mask) == high-low+1 {
		return "*"
	}
	return maskList(mask, ":")
}

// maskList returns the numbers of a mask as a list with ranges, or as one range with a step.
func maskList(mask uint64, to string) string {
	if s, one := progression(mask); one && s.step > 1 {
		return fmt.Sprintf("%d%s%d/%d", s.from, to, s.to, s.step)
	}
	var parts []string
	for n := 0; n < 64; n++ {
		if mask>>n&1 == 0 {
			continue
		}
		last := n
		for last < 63 && mask>>(last+1)&1 == 1 {
			last++
		}
		if last-n >= 2 {
			parts = append(parts, fmt.Sprintf("%d%s%d", n, to, last))
			n = last
			continue
		}
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ",")
}

// progression returns the numbers of a mask as a span of at least three; one is false if they have
// different distances.
func progression(mask uint64) (s span, one bool) {
	last, count := -1, 0
	for n := range 64 {
		if mask>>n&1 == 0 {
			continue
		}
		switch count++; {
		case count == 1:
			s.from = n
		case count == 2:
			s.step = n - last
		case n-last != s.step:
			return span{}, false
		}
		last = n
	}
	s.to = last
	return s, count >= 3
}

// spanList returns spans as a field of sap's cron.
func spanList(spans []span) string {
	if spans == nil {
		return "*"
	}
	var parts []string
	for _, s := range spans {
		switch {
		case s.from == s.to:
			parts = append(parts, strconv.Itoa(s.from))
		case s.step > 1:
			parts = append(parts, fmt.Sprintf("%d:%d/%d", s.from, s.to, s.step))
		default:
			parts = append(parts, fmt.Sprintf("%d:%d", s.from, s.to))
		}
	}
	return strings.Join(parts, ",")
}

// sapWeekdays returns the field of the weekday of sap's cron, which has names.
func (p pattern) sapWeekdays() string {
	names := civil.ShortNames(civil.WeekdayNames, 0)
	if p.nth != nil {
		var parts []string
		for _, o := range p.nth {
			parts = append(parts, fmt.Sprintf("%d.%s", o.n, names[o.day]))
		}
		return strings.Join(parts, ",")
	}
	if p.weekdays == allWeekdays {
		return "*"
	}
	var parts []string
	for n := 0; n < 7; n++ {
		if p.weekdays>>n&1 == 0 {
			continue
		}
		last := n
		for last < 6 && p.weekdays>>(last+1)&1 == 1 {
			last++
		}
		if last-n >= 2 {
			parts = append(parts, names[n]+":"+names[last])
			n = last
			continue
		}
		parts = append(parts, names[n])
	}
	return strings.Join(parts, ",")
}
