package foreign

import (
	"fmt"
	"time"

	"github.com/jobagent/jobagent/jobs/isoduration"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// length is the distance of the instants of a repetition: months, or days, or seconds of elapsed
// time. A day has 24 hours in a zone without changes of clocks.
type length struct {
	months, days, seconds int64
	// part and text are the name and the text of the length, for faults.
	part, text string
}

// maxCount is the largest number of an interval of Elastic Jobs.
const maxCount = 1<<31 - 1

// lengthForms describes lengths of time in faults.
const lengthForms = "a length of time such as PT15M, P1D, P2W or P1M, in whole numbers"

// readLength parses a duration of ISO 8601.
func (r *reader) readLength(part, text string) (length, bool) {
	d, ok := isoduration.Parse(text)
	if !ok || d.Nanoseconds > 0 {
		r.fault(part, text, lengthForms, "")
		return length{}, false
	}
	for _, n := range []int64{d.Years, d.Months, d.Weeks, d.Days, d.Hours, d.Minutes, d.Seconds} {
		if n > maxCount { // the sums below must not overflow
			r.fault(part, text, lengthForms+"; this one is too long", "")
			return length{}, false
		}
	}
	l := length{months: d.Years*12 + d.Months, days: d.Weeks*7 + d.Days, seconds: d.Hours*3600 + d.Minutes*60 + d.Seconds, part: part, text: text}
	switch {
	case l.months == 0 && l.days == 0 && l.seconds == 0:
		r.fault(part, text, "a length of time above 0", "")
	case l.months > 0 && (l.days > 0 || l.seconds > 0):
		r.fault(part, text, "months alone, or days and times: no kind repeats a sum of both", "")
	case l.months > maxCount || l.days*86400+l.seconds > maxCount:
		r.fault(part, text, lengthForms+"; this one is too long", "")
	default:
		return l, true
	}
	return l, false
}

// elasticUnit returns the interval of Elastic Jobs of a number of seconds; ok is false if they are
// not whole minutes.
func elasticUnit(seconds int64) (interval string, count int64, ok bool) {
	for _, u := range []struct {
		name    string
		seconds int64
	}{{"Weeks", 604800}, {"Days", 86400}, {"Hours", 3600}, {"Minutes", 60}} {
		if seconds%u.seconds == 0 {
			return u.name, seconds / u.seconds, true
		}
	}
	return "", 0, false
}

// start is the start of a repetition, as an instant or as a time on the wall clock of the zone.
type start struct {
	given bool
	// at is the start in UTC. For a text without an offset it is the clock time, as if in UTC.
	at    time.Time
	local bool
	// offset is the offset of the text, in seconds east of UTC.
	offset int
}

// repeat sets a repetition with a length. times is the number of runs; 0 means no limit. A start
// with an offset fixes the clock: its days have 24 hours.
func (r *reader) repeat(l length, s start, times int64) {
	onWall := changes(r.zone) && (!s.given || s.local)
	if !onWall {
		s.local = false
		l.seconds, l.days = l.seconds+l.days*86400, 0
	}
	switch {
	case l.days > 0 && l.seconds > 0:
		near := ""
		if l.seconds%3600 == 0 {
			near = fmt.Sprintf("PT%dH", l.days*24+l.seconds/3600)
		}
		r.fault(l.part, l.text, "days alone or hours alone: in "+r.zone.String()+" a day may have 23 or 25 hours", near)
	case l.months > 0:
		r.repeatMonths(l, s, times)
	case l.days > 0:
		r.rule(fmt.Sprintf("FREQ=DAILY;INTERVAL=%d", l.days), s, s.at.AddDate(0, 0, int(min(l.days*(times-1), maxDays))), times)
	default:
		r.repeatSeconds(l, s, times)
	}
}

// maxDays is about the number of days until the year 9999.
const maxDays = 3_000_000

// repeatSeconds sets a repetition by elapsed time.
func (r *reader) repeatSeconds(l length, s start, times int64) {
	if s.local {
		s = start{given: true, at: r.instant(s)}
	}
	end := time.Time{}
	if times > 0 && s.given {
		end = time.Unix(min(s.at.Unix()+l.seconds*(times-1), maxEnd), 0).UTC()
	}
	interval, count, whole := elasticUnit(l.seconds)
	switch {
	case whole && (s.given || times == 0):
		r.target.elastic(interval, count, s.at, end)
	case !s.given:
		r.target.kind = kindSAP
		r.target.text("repeatInterval", sapInterval(l.seconds))
		r.target.text("anchor", "start")
		if times > 0 {
			r.target.raw("count", fmt.Sprint(times))
		}
	case l.seconds > maxRuleInterval:
		r.fault(l.part, l.text, fmt.Sprintf("whole minutes, or at most %d seconds", maxRuleInterval), "")
	default:
		r.rule(fmt.Sprintf("FREQ=SECONDLY;INTERVAL=%d", l.seconds), s, end, times)
	}
}

const (
	// maxRuleInterval is the largest INTERVAL of the kind rrule.
	maxRuleInterval = 1_000_000
	// maxEnd is the last second of the year 9999.
	maxEnd = 253402300799
)

// rule sets a rule of RFC 5545. With a start, the number of runs becomes UNTIL, the last instant.
func (r *reader) rule(rule string, s start, last time.Time, times int64) {
	const local = "20060102T150405"
	suffix := "Z"
	if s.local {
		suffix = ""
	}
	switch {
	case times > 0 && s.given:
		rule += ";UNTIL=" + last.Format(local) + suffix
	case times > 0:
		rule += fmt.Sprintf(";COUNT=%d", times)
	}
	if s.given {
		rule = "DTSTART:" + s.at.Format(local) + suffix + "\nRRULE:" + rule
	}
	r.target.line(kindRRule, rule)
}

// repeatMonths sets a repetition by calendar months. ISO 8601 does not say what a month after 31
// January is: here it is the last day of February.
func (r *reader) repeatMonths(l length, s start, times int64) {
	own := s.at.Add(time.Duration(s.offset) * time.Second) // on the clock of the text
	if s.given && own.Day() > 28 {
		r.note("A month that lacks the day of the start has its run on its last day; ISO 8601 leaves this open.")
	}
	onWall := changes(r.zone) && (!s.given || s.local)
	if !onWall && s.offset == 0 {
		end := time.Time{}
		if times > 0 && s.given {
			end = lastOfMonths(s.at, l.months, times)
		} else if times > 0 {
			r.fault("repetitions", fmt.Sprint(times), "a start, from which the months are counted", "")
			return
		}
		r.target.elastic("Months", l.months, s.at, end)
		return
	}
	switch {
	case l.months > 18 && l.months != 12:
		r.fault(l.part, l.text, "at most 18 months, unless the start is in UTC", "")
		return
	case !onWall && changes(r.zone):
		r.fault("start", own.Format("2006-01-02T15:04:05"), "a start without an offset beside the zone "+r.zone.String(), r.wallText(s.at))
		return
	}
	r.target.kind = kindAzureScheduler
	r.target.text("frequency", "Month")
	r.target.raw("interval", fmt.Sprint(l.months))
	layout := "2006-01-02T15:04:05"
	if !s.local && s.given {
		layout = time.RFC3339
	}
	in := time.UTC
	if s.offset != 0 {
		in = syntax.FixedZone(s.offset)
	}
	if s.given {
		r.target.text("startTime", s.at.In(in).Format(layout))
	}
	if times > 0 && s.given {
		last := lastOfMonths(own, l.months, times).Add(-time.Duration(s.offset) * time.Second)
		r.target.text("endTime", last.In(in).Format(layout))
	} else if times > 0 {
		r.target.raw("count", fmt.Sprint(times))
	}
}

// wallText returns an instant as a clock time of the zone.
func (r *reader) wallText(at time.Time) string { return at.In(r.zone).Format("2006-01-02T15:04:05") }

// lastOfMonths returns the last instant of a number of runs.
func lastOfMonths(at time.Time, months, times int64) time.Time {
	n := int(min(months*(times-1), 12*(9998-int64(at.Year()))))
	first := time.Date(at.Year(), at.Month()+time.Month(n), 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	return first.AddDate(0, 0, min(at.Day(), first.AddDate(0, 1, -1).Day())-1)
}
