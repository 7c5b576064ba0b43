package elastic

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Interval is a value of @schedule_interval_type.
type Interval string

// The intervals of Azure Elastic Jobs, in their canonical spelling.
const (
	Once    Interval = "Once"
	Minutes Interval = "Minutes"
	Hours   Interval = "Hours"
	Days    Interval = "Days"
	Weeks   Interval = "Weeks"
	Months  Interval = "Months"
)

// Intervals returns every interval.
func Intervals() []Interval { return []Interval{Once, Minutes, Hours, Days, Weeks, Months} }

// allowed is what the faults of an interval want.
const allowed = "one of Once, Minutes, Hours, Days, Weeks, Months"

// ParseInterval parses the name of an interval in any case (decision 29). The error is a *Error.
func ParseInterval(s string) (Interval, error) {
	for _, i := range Intervals() {
		if strings.EqualFold(s, string(i)) {
			return i, nil
		}
	}
	return "", &syntax.Error{Faults: []syntax.Fault{intervalFault(s)}}
}

// intervalFault returns the fault of an invalid interval type. It proposes the plural of a
// singular.
func intervalFault(s string) syntax.Fault {
	f := syntax.Fault{Path: "schedule_interval_type", Value: fmt.Sprintf("%q", s), Allowed: allowed}
	var names []string
	for _, i := range Intervals() {
		if strings.EqualFold(strings.TrimSpace(s), string(i)) || strings.EqualFold(s+"s", string(i)) {
			f.Nearest = string(i)
		}
		names = append(names, string(i))
	}
	f.Nearest = cmp.Or(f.Nearest, suggest.Nearest(s, names))
	return f
}

// seconds holds the lengths of the intervals of constant length. Days and Weeks have a constant
// length because they are in UTC.
var seconds = map[Interval]int64{Minutes: 60, Hours: 3600, Days: 86400, Weeks: 7 * 86400}

// Schedule is an interval schedule. It is due at Start + k × Count × Interval for k = 0, 1, 2,
// …, until End. With the interval Once it is due only at Start. All times are in UTC.
type Schedule struct {
	Interval Interval
	// Count is @schedule_interval_count, at least 1. Once ignores it.
	Count int
	// Start is the anchor: @schedule_start_time. If that is the default of 0001-01-01, Start is the
	// time at which the schedule became active (decision 10; see Anchor). A fraction of a second is
	// rounded up, because nothing is due before the start.
	Start time.Time
	// End is @schedule_end_time. An instant equal to it is still due. Zero means no end.
	End time.Time
}

// Anchor returns the anchor of a schedule by decision 10: start, or activated if start is the
// default of 0001-01-01T00:00:00.
func Anchor(start, activated time.Time) time.Time {
	if start.UTC().Year() <= 1 {
		return activated
	}
	return start
}

// Validate returns every fault of e. The error is a *syntax.Error.
func (e Schedule) Validate() error {
	var faults []syntax.Fault
	if _, known := seconds[e.Interval]; !known && e.Interval != Once && e.Interval != Months {
		faults = append(faults, intervalFault(string(e.Interval)))
	}
	if e.Count < 1 && e.Interval != Once {
		faults = append(faults, syntax.Fault{Path: "schedule_interval_count", Value: fmt.Sprint(e.Count), Allowed: "1 or more", Nearest: "1"})
	}
	if !e.End.IsZero() && e.End.Before(e.Start) {
		faults = append(faults, syntax.Fault{
			Path: "schedule_end_time", Value: e.End.UTC().Format(time.RFC3339),
			Allowed: "an instant not before schedule_start_time " + e.Start.UTC().Format(time.RFC3339),
		})
	}
	if len(faults) > 0 {
		return &syntax.Error{Faults: faults}
	}
	return nil
}

// Next returns the earliest due instant strictly after the given one. An invalid schedule is never
// due.
func (e Schedule) Next(after time.Time) (time.Time, bool) {
	start := e.Start.UTC().Truncate(time.Second)
	if start.Before(e.Start) {
		start = start.Add(time.Second)
	}
	next := start
	if !after.Before(start) {
		var ok bool
		if next, ok = e.following(start, after); !ok {
			return time.Time{}, false
		}
	}
	if e.Validate() != nil || next.After(engine.LastInstant) || !e.End.IsZero() && next.After(e.End) {
		return time.Time{}, false
	}
	return next, true
}

// following returns the first instant of the grid after the given one, which is not before start.
func (e Schedule) following(start, after time.Time) (time.Time, bool) {
	if e.Count < 1 {
		return time.Time{}, false
	}
	if unit, fixed := seconds[e.Interval]; fixed {
		// Unix seconds, because a time.Duration ends after 292 years and schedules start in year 1.
		step := unit * int64(e.Count)
		k := (after.Unix()-start.Unix())/step + 1
		if k > (engine.LastInstant.Unix()-start.Unix())/step {
			return time.Time{}, false
		}
		return time.Unix(start.Unix()+k*step, 0).UTC(), true
	}
	if e.Interval != Months {
		return time.Time{}, false
	}
	year, month, _ := after.UTC().Date()
	between := (year-start.Year())*12 + int(month-start.Month())
	// The instant of the month of after, or of the step before it, may still be ahead.
	for k := max(0, between/e.Count); ; k++ {
		if k > (engine.LastInstant.Year()-start.Year()+1)*12/e.Count {
			return time.Time{}, false
		}
		if next := addMonths(start, k*e.Count); next.After(after) {
			return next, true
		}
	}
}

// addMonths returns the anchor plus n calendar months. If the month has no such day, the result is
// its last day (decision 9). Every step counts from the anchor: 31 January is followed by 28
// February and 31 March.
func addMonths(anchor time.Time, n int) time.Time {
	year, month, day := anchor.Date()
	first := time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return time.Date(first.Year(), first.Month(), min(day, last), anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
}
