package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// The source of this file is ISO 8601-1:2019, 5.6 (recurring time intervals). Rn has n intervals,
// and each interval is one run, at its start.

// iso8601 is the form of repeating intervals.
var iso8601 = Form{
	Name: "iso8601", Title: "a repeating interval of ISO 8601", Example: "R/2026-01-01T00:00:00Z/PT15M",
	translate: (*reader).readRepeating,
}

const repeatingForms = "R/START/LENGTH, Rn/START/LENGTH, R/START/END, Rn/LENGTH/END, R/LENGTH or LENGTH, such as R/2026-01-01T00:00:00Z/PT15M"

// maxRepetitions is the largest n of Rn.
const maxRepetitions = 1_000_000_000

// readRepeating translates a repeating interval.
func (r *reader) readRepeating() {
	parts := strings.Split(r.text, "/")
	if !strings.HasPrefix(parts[0], "R") {
		if len(parts) == 1 && strings.HasPrefix(strings.ToUpper(parts[0]), "P") {
			parts = []string{"R", parts[0]}
		} else {
			near := ""
			if len(parts) == 2 {
				if _, err := r.form.Translate("R/"+r.text, r.zone); err == nil {
					near = "R/" + r.text
				}
			}
			r.fault("", r.text, repeatingForms, near)
			return
		}
	}
	times := int64(0)
	if n := parts[0][1:]; n != "" && n != "-1" {
		var err error
		if times, err = strconv.ParseInt(n, 10, 64); err != nil || !syntax.IsDigits(n) || times < 1 || times > maxRepetitions {
			r.fault("repetitions", parts[0], fmt.Sprintf("R alone, or R and a number from 1 to %d", maxRepetitions), "")
			return
		}
	}
	isLength := func(text string) bool { return strings.HasPrefix(strings.ToUpper(text), "P") }
	switch {
	case len(parts) == 2 && isLength(parts[1]):
		if l, ok := r.readLength("length", parts[1]); ok {
			r.note("The first run is when the schedule is created; R/START/" + parts[1] + " sets another start.")
			r.repeat(l, start{}, times)
		}
	case len(parts) == 3 && isLength(parts[1]) && !isLength(parts[2]):
		r.readUntil(parts[1], parts[2], times)
	case len(parts) == 3 && !isLength(parts[1]) && isLength(parts[2]):
		s, ok := r.readStart("start", parts[1])
		l, okLength := r.readLength("length", parts[2])
		if ok && okLength {
			r.repeat(l, s, times)
		}
	case len(parts) == 3 && !isLength(parts[1]):
		r.readBetween(parts[1], parts[2], times)
	default:
		r.fault("", r.text, repeatingForms, "")
	}
}

// readStart parses a date and time. Without an offset it is a time on the wall clock.
func (r *reader) readStart(part, text string) (start, bool) {
	const forms = "a date and time such as 2026-01-01T00:00:00Z, in whole seconds"
	d, err := syntax.ParseDate(text)
	if err != nil || d.Fraction {
		r.fault(part, text, forms, syntax.DateProposal(text))
		return start{}, false
	}
	at := time.Unix(d.Day*civil.DaySeconds+int64(d.Second), 0).UTC()
	if d.HasOffset {
		return start{given: true, at: at.Add(-time.Duration(d.Offset) * time.Second), offset: d.Offset}, true
	}
	if r.zone == nil {
		r.note("A time without an offset is in UTC unless a zone is given.")
	}
	return start{given: true, at: at, local: true}, true
}

func (r *reader) instant(s start) time.Time {
	if !s.local || r.zone == nil {
		return s.at
	}
	return syntax.DateTime{Day: civil.FloorDiv(s.at.Unix(), civil.DaySeconds), Second: int(civil.FloorMod(s.at.Unix(), civil.DaySeconds))}.In(r.zone).UTC()
}

// readBetween translates START/END. The length is the elapsed time between both.
func (r *reader) readBetween(from, to string, times int64) {
	s, okStart := r.readStart("start", from)
	e, okEnd := r.readStart("end", to)
	if !okStart || !okEnd {
		return
	}
	first := r.instant(s)
	seconds := r.instant(e).Unix() - first.Unix()
	if seconds <= 0 || seconds > maxCount {
		r.fault("end", to, "a time after the start, at most 68 years later", "")
		return
	}
	r.repeatSeconds(length{seconds: seconds, part: "end", text: to}, start{given: true, at: first}, times)
}

// readUntil translates LENGTH/END: the last interval ends at END.
func (r *reader) readUntil(text, to string, times int64) {
	l, okLength := r.readLength("length", text)
	e, okEnd := r.readStart("end", to)
	if !okLength || !okEnd {
		return
	}
	if !e.local || !changes(r.zone) {
		l.seconds, l.days = l.seconds+l.days*86400, 0
	}
	interval, count, whole := elasticUnit(l.seconds)
	if l.months > 0 || l.days > 0 || !whole {
		r.fault("length", text, "a length of whole minutes, hours, days of 24 hours or weeks before an end", "")
		return
	}
	last := r.instant(e).Add(-time.Duration(l.seconds) * time.Second)
	first := time.Unix(max(last.Unix()-l.seconds*(times-1), beginning.Unix()%l.seconds), 0).UTC()
	if times > 0 && first.Unix() != last.Unix()-l.seconds*(times-1) {
		r.fault("repetitions", fmt.Sprint(times), "a first run after the year 1970", "")
		return
	}
	if times == 0 {
		// The intervals before the creation have no runs. The grid begins in the year 2000.
		steps := max(0, last.Unix()-beginning.Unix()) / l.seconds
		first = last.Add(-time.Duration(steps*l.seconds) * time.Second)
		r.anchored = true
	}
	r.target.elastic(interval, count, first, last)
}

// beginning is the time from which an interval without a start is counted.
var beginning = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
