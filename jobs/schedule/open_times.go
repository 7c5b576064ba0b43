package schedule

import (
	"fmt"
	"slices"
	"time"
)

// OpenTimes are the times in which something may begin: those of the windows of one calendar, and
// out of the windows of another one.
type OpenTimes struct {
	// Within has the windows; nil means all times.
	Within *Calendar
	// Except has the windows that are left out; nil means none.
	Except *Calendar
}

// StateAt reports whether something may begin at an instant, and when that changes. The time is
// zero if it does not within 366 days.
func (o OpenTimes) StateAt(at time.Time) (open bool, changes time.Time) {
	open = o.openAt(at)
	for _, ahead := range [2]time.Duration{8 * 24 * time.Hour, farthest} { // most calendars have a window in each week
		end := at.Add(ahead)
		// It changes only where windows begin or end.
		var edges []time.Time
		for _, c := range [2]*Calendar{o.Within, o.Except} {
			if c == nil {
				continue
			}
			for _, w := range c.Windows(at, end) {
				edges = append(edges, w.From, w.To)
			}
		}
		slices.SortFunc(edges, time.Time.Compare)
		for _, edge := range edges {
			if edge.After(at) && edge.Before(end) && o.openAt(edge) != open {
				return open, edge
			}
		}
	}
	return open, time.Time{}
}

// openAt reports whether something may begin at an instant.
func (o OpenTimes) openAt(at time.Time) bool {
	in := func(c *Calendar) bool {
		_, _, inside := c.around(at.Unix())
		return inside
	}
	return (o.Within == nil || in(o.Within)) && (o.Except == nil || !in(o.Except))
}

// NamedOpenTimes are open times as they are defined: the names of calendars with their definitions.
type NamedOpenTimes struct {
	// Something may begin while Calendar has a window, and Blackouts has none. Either may be empty.
	// An empty definition of a calendar with a name means that there is no such calendar.
	Calendar, Spec           string
	Blackouts, BlackoutsSpec string
	// Zone is that of calendars that name none; empty means UTC.
	Zone string
}

// StateAt is [OpenTimes.StateAt]. The fault is a sentence that says why the times are not known, or
// that there are none within a year; empty: neither.
func (n NamedOpenTimes) StateAt(at time.Time) (open bool, changes time.Time, fault string) {
	zone := time.UTC
	if n.Zone != "" {
		var err error
		if zone, err = LoadZone(n.Zone); err != nil {
			return false, time.Time{}, fmt.Sprintf("The time zone '%s' is not known.", n.Zone)
		}
	}
	var times OpenTimes
	for _, c := range []struct {
		name, spec string
		calendar   **Calendar
	}{{n.Calendar, n.Spec, &times.Within}, {n.Blackouts, n.BlackoutsSpec, &times.Except}} {
		switch calendar, err := ParseCalendarIn([]byte(c.spec), zone); {
		case c.name == "":
		case c.spec == "":
			return false, time.Time{}, fmt.Sprintf("The calendar '%s' does not exist.", c.name)
		case err != nil:
			return false, time.Time{}, fmt.Sprintf("The calendar '%s' is invalid: %v.", c.name, err)
		default:
			*c.calendar = calendar
		}
	}
	if open, changes = times.StateAt(at); !open && changes.IsZero() {
		fault = fmt.Sprintf("The calendar '%s' has no window within a year.", n.Calendar)
		if n.Blackouts != "" {
			fault = fmt.Sprintf("Outside of the calendar '%s', there is no time within a year.", n.Blackouts)
		}
	}
	return open, changes, fault
}
