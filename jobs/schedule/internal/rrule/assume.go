package rrule

import (
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// assume returns the civil second that fills the missing parts of a rule without a start. at is
// that of the creation. The second of the creation is hardly ever meant, and beside an hour its
// minute is not either: both become 0. The assumptions say so.
func (r *rule) assume(p *syntax.Parser, at int64) int64 {
	if r.freq == secondly && !r.filtered() {
		return at
	}
	var a syntax.Assumed
	if up := civil.FloorMod(-at, 60); up > 0 && !r.has("BYSECOND") {
		// The next full minute: from the minute before, the first instant would be lost.
		p.Start = p.Start.Add(time.Duration(up) * time.Second)
		at += up
		a.RoundedUp = true
	}
	day, second := civil.FloorDiv(at, civil.DaySeconds), int(civil.FloorMod(at, civil.DaySeconds))
	if !r.has("BYSECOND") {
		a.Zero("second")
	}
	if r.freq < hourly && !r.has("BYHOUR") {
		a.Created("hour", second/3600)
	}
	switch {
	case r.has("BYMINUTE"):
	case r.has("BYHOUR"):
		at -= int64(second/60%60) * 60
		a.Zero("minute")
	case r.freq < minutely:
		a.Created("minute", second/60%60)
	}
	date := civil.DateOf(day)
	switch {
	case r.yearDays != nil || r.days != nil || r.has("BYDAY") || r.freq >= daily:
	case r.freq == weekly || r.weeks != nil:
		a.CreatedText("weekday " + civil.WeekdayNames[civil.Weekday(day)])
	case r.freq == yearly && r.months == 0:
		a.CreatedText("month " + civil.MonthNames[date.Month-1])
		a.Created("day", date.Day)
	default:
		a.Created("day", date.Day)
	}
	p.AssumeAll(a)
	return at
}
