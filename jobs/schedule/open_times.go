package schedule

import (
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
