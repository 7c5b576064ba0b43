package schedule

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/rrule"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Calendar is a set of time windows. A schedule that refers to the calendar is not due in them
// (D-P5). A Calendar is immutable; ParseCalendar creates it.
type Calendar struct {
	zone  *time.Location
	dates []int64 // numbers of whole days, ascending
	// monthDays are whole days of each month: 1 to 31, or -1 to -31 from its end.
	monthDays []int
	weekly    []weeklyWindow
	// rule starts a window of length seconds at each of its instants. It may be nil.
	rule   Schedule
	length int64
}

// weeklyWindow is a window that repeats every week. from and to are civil seconds counted from the
// start of the weekday. to is later than from and may be in the next day.
type weeklyWindow struct{ day, from, to int }

// ParseCalendar parses {timeZone, dates, monthDays, weekly, rrule, startTime, duration}. Without a
// timeZone, its zone is UTC. The error is a *Error.
func ParseCalendar(spec []byte) (*Calendar, error) { return ParseCalendarIn(spec, time.UTC) }

// ParseCalendarIn is [ParseCalendar] with the zone of a calendar that names none.
func ParseCalendarIn(spec []byte, zone *time.Location) (*Calendar, error) {
	v, err := syntax.ReadValue(spec)
	if err != nil {
		return nil, err
	}
	f := &syntax.Faults{}
	c := calendarOf(v, zone, f)
	return c, f.Err()
}

var calendarNames = []string{"timeZone", "dates", "monthDays", "weekly", "rrule", "startTime", "duration"}

// ReadCalendars parses calendars by their names. It returns the valid calendars, and the faults of
// the invalid ones.
func ReadCalendars(texts map[string]string) (known map[string]*Calendar, broken map[string][]Fault) {
	known, broken = map[string]*Calendar{}, map[string][]Fault{}
	for name, text := range texts {
		calendar, err := ParseCalendar([]byte(text))
		var all *Error
		if errors.As(err, &all) {
			broken[name] = all.Faults
		} else {
			known[name] = calendar
		}
	}
	return known, broken
}

// calendarPlanner returns a planner for the recurrence rules of a calendar.
func calendarPlanner(r syntax.Reader, zone *time.Location) *planner {
	p := &planner{dialect: dialects[KindRRule], plan: &Plan{}, Parser: &syntax.Parser{Faults: r.Faults, Reader: r, Zone: zone}}
	p.Try = p.tryAs(KindRRule)
	return p
}

// calendarOf parses a calendar. zone is its zone unless the calendar specifies one.
func calendarOf(v *syntax.Value, zone *time.Location, f *syntax.Faults) *Calendar {
	c := &Calendar{zone: zone}
	if v.Kind != '{' {
		f.Add(v.Path(), v.JSON(), "an object with "+strings.Join(calendarNames, ", "), "")
		return c
	}
	r := syntax.Reader{Object: v, Faults: f}
	p := calendarPlanner(r, zone)
	if z := r.Take("timeZone"); z != nil {
		if text, ok := r.Text(z, syntax.ZoneWords); ok {
			found, err := LoadZone(text)
			if p.MergeAt(z.Path(), err); err == nil {
				c.zone, p.Zone = found, found
			}
		}
	}
	if d := r.Take("dates"); d != nil {
		for _, item := range p.Items(d, "dates") {
			c.dates = append(c.dates, p.calendarDates(item)...)
			if len(c.dates) > 10*maxCalendarDays {
				f.Add(d.Path(), syntax.Quote("dates"), fmt.Sprintf("at most %d days", 10*maxCalendarDays), "")
				break
			}
		}
		sort.Slice(c.dates, func(i, j int) bool { return c.dates[i] < c.dates[j] })
	}
	if m := r.Take("monthDays"); m != nil {
		c.monthDays = p.monthDays(m)
	}
	if w := r.Take("weekly"); w != nil {
		for _, item := range p.Items(w, "objects with day, from, to") {
			if window, ok := p.weeklyWindow(item); ok {
				c.weekly = append(c.weekly, window)
			}
		}
	}
	p.calendarRule(c, r)
	r.RefuseOthers(calendarNames, syntax.Synonyms)
	if c.dates == nil && c.monthDays == nil && c.weekly == nil && c.rule == nil && len(f.List) == 0 {
		f.Add(v.Path(), v.JSON(), "at least one of dates, monthDays, weekly, rrule", "")
	}
	return c
}

// calendarRule parses the windows that start at the instants of a recurrence rule.
func (p *planner) calendarRule(c *Calendar, r syntax.Reader) {
	rule, length, start := r.Take("rrule"), r.Take("duration"), r.Take("startTime")
	if rule == nil {
		if length != nil {
			p.Faults.Add(length.Path(), length.JSON(), "a duration together with rrule", "")
		}
		return
	}
	if length == nil {
		p.Faults.Add(syntax.Join(r.Object.Path(), "duration"), "null", syntax.DurationForms, "")
	} else if text, ok := r.Text(length, syntax.DurationForms); ok {
		d, err := syntax.ParseDuration(text)
		if err != nil || d < time.Second || d > 366*24*time.Hour {
			p.Faults.Add(length.Path(), length.JSON(), syntax.DurationForms+", from 1 second to 366 days", "")
		}
		c.length = int64(d / time.Second)
	}
	if start == nil {
		p.Faults.Add(syntax.Join(r.Object.Path(), "startTime"), "null", syntax.DateForms, "")
		return
	}
	p.Start = p.Date(start, time.Time{})
	text, ok := r.Text(rule, rrule.Forms)
	if !ok || p.Start.IsZero() {
		return
	}
	inner := rrule.Read(p.Parser, rule, text, true)
	if inner == nil || len(p.Faults.List) > 0 {
		return
	}
	p.finish(inner)
	c.rule = p.plan.schedule
}

// maxCalendarDays is the largest number of days in one range of dates.
const maxCalendarDays = 3660

// calendarDates parses a date, or a range of dates separated by a slash, and returns the day
// numbers. A range includes both ends.
func (p *planner) calendarDates(v *syntax.Value) []int64 {
	const allowed = "a date such as 2026-12-24, or a range 2026-12-24/2026-12-26"
	text, ok := p.Reader.Text(v, allowed)
	if !ok {
		return nil
	}
	from, to, isRange := strings.Cut(text, "/")
	if !isRange {
		to = from
	}
	first, err := syntax.ParseISODay(strings.TrimSpace(from))
	last, errLast := syntax.ParseISODay(strings.TrimSpace(to))
	if err != nil || errLast != nil || last < first || last-first > maxCalendarDays {
		p.Faults.Add(v.Path(), v.JSON(), allowed, syntax.DateProposal(text))
		return nil
	}
	var days []int64
	for day := first; day <= last; day++ {
		days = append(days, day)
	}
	return days
}

// monthDays parses days of a month.
func (p *planner) monthDays(v *syntax.Value) []int {
	const allowed = "1 to 31, or -1 to -31 counted from the end of the month"
	var list []int
	for _, item := range p.Items(v, allowed) {
		n, ok := p.Reader.Integer(item, -31, 31, allowed)
		switch {
		case ok && n == 0:
			p.Faults.Add(item.Path(), item.JSON(), allowed, "")
		case ok && !slices.Contains(list, int(n)):
			list = append(list, int(n))
		}
	}
	return list
}

// isWhole reports whether the calendar has a window of a whole day.
func (c *Calendar) isWhole(day int64) bool {
	if _, ok := slices.BinarySearch(c.dates, day); ok {
		return true
	}
	if len(c.monthDays) == 0 {
		return false
	}
	d := civil.DateOf(day)
	return slices.Contains(c.monthDays, d.Day) || slices.Contains(c.monthDays, d.Day-civil.MonthLength(d.Year, d.Month)-1)
}

// weeklyWindow parses {day, from, to}.
func (p *planner) weeklyWindow(v *syntax.Value) (weeklyWindow, bool) {
	if v.Kind != '{' {
		p.Faults.Add(v.Path(), v.JSON(), `an object such as {"day": "sunday", "from": "22:00", "to": "24:00"}`, "")
		return weeklyWindow{}, false
	}
	before := len(p.Faults.List)
	r := syntax.Reader{Object: v, Faults: p.Faults}
	w := weeklyWindow{to: civil.DaySeconds}
	if day := r.Take("day"); day == nil {
		p.Faults.Add(syntax.Join(v.Path(), "day"), "null", "the name of a weekday", "")
	} else {
		w.day, _ = p.Weekday(day)
	}
	for _, end := range []struct {
		name   string
		second *int
	}{{"from", &w.from}, {"to", &w.to}} {
		e := r.Take(end.name)
		if e == nil {
			continue
		}
		const allowed = "a time of day such as 22:00; 24:00 is the end of the day"
		text, ok := r.Text(e, allowed)
		if !ok {
			continue
		}
		if text == "24:00" && end.name == "to" {
			*end.second = civil.DaySeconds
		} else if *end.second, ok = syntax.ParseClock(strings.ToLower(text)); !ok {
			p.Faults.Add(e.Path(), e.JSON(), allowed, syntax.ClockProposal(text))
		}
	}
	r.RefuseOthers([]string{"day", "from", "to"}, syntax.Synonyms)
	if w.to <= w.from {
		w.to += civil.DaySeconds
	}
	return w, len(p.Faults.List) == before
}

// around returns the window [start, end) that contains an instant, in Unix seconds.
func (c *Calendar) around(unix int64) (start, end int64, inside bool) {
	day := civil.FloorDiv(civil.Seconds(time.Unix(unix, 0).In(c.zone)), civil.DaySeconds)
	for _, d := range [2]int64{day, day - 1} {
		if !c.isWhole(d) {
			continue
		}
		start, end = c.unix(d*civil.DaySeconds, OverlapFirst), c.unix((d+1)*civil.DaySeconds, OverlapSecond)
		if start <= unix && unix < end {
			return start, end, true
		}
	}
	for _, w := range c.weekly {
		for _, d := range [2]int64{day, day - 1} {
			if civil.Weekday(d) != w.day {
				continue
			}
			start, end = c.unix(d*civil.DaySeconds+int64(w.from), OverlapFirst), c.unix(d*civil.DaySeconds+int64(w.to), OverlapSecond)
			if start <= unix && unix < end {
				return start, end, true
			}
		}
	}
	if c.rule != nil {
		if at, ok := c.rule.Next(time.Unix(unix-c.length, 0)); ok && at.Unix() <= unix {
			return at.Unix(), at.Unix() + c.length, true
		}
	}
	return 0, 0, false
}

// unix returns the Unix time of a clock time. A clock time occurs twice where clocks are moved
// back. A window starts with the first occurrence and ends with the second, so that it contains
// everything between them.
func (c *Calendar) unix(civilSecond int64, overlap Overlap) int64 {
	at, ok := engine.Resolve(civilSecond, c.zone, GapShift, overlap)
	if !ok {
		return LastInstant.Unix() + 1
	}
	return at.Unix()
}

// blackouts holds the calendars of one schedule.
type blackouts struct {
	calendars []*Calendar
	// names are the calendars in words.
	names []string
	// deferred reports whether the instants in a window are replaced by one due instant at the end
	// of the window. If deferred is false, they are dropped.
	deferred bool
}

// readBlackouts parses {mode, calendars}. A calendar is an object, or the name of one in Options.
func (p *planner) readBlackouts(v *syntax.Value) *blackouts {
	const form = `an object such as {"mode": "skip", "calendars": [{"dates": ["2026-12-24"]}]}`
	b := &blackouts{}
	if v.Kind != '{' {
		p.Faults.Add(v.Path(), v.JSON(), form, "")
		return b
	}
	r := syntax.Reader{Object: v, Faults: p.Faults}
	if m := r.Take("mode"); m != nil {
		b.deferred = p.OneOf(m, "skip", "defer") == "defer"
	}
	list := r.Take("calendars")
	r.RefuseOthers([]string{"mode", "calendars"}, map[string]string{"calendar": "calendars"})
	if list == nil {
		p.Faults.Add(syntax.Join(v.Path(), "calendars"), "null", "a list of calendars: objects, or names", "")
		return b
	}
	for _, item := range p.Items(list, "calendars") {
		if item.Kind != '"' {
			b.calendars = append(b.calendars, calendarOf(item, p.Zone, p.Faults))
			b.names = append(b.names, "windows of its own")
			continue
		}
		if p.opts.anyCalendar {
			b.names = append(b.names, "the calendar "+item.Text)
			continue
		}
		c, ok := p.opts.Calendars[item.Text]
		broken := p.opts.BrokenCalendars[item.Text]
		for _, f := range broken {
			p.Faults.Add(strings.TrimSuffix("calendar "+item.Text+": "+f.Path, ": "), f.Value, f.Allowed, f.Nearest)
		}
		if len(broken) > 0 {
			continue
		}
		if !ok {
			var names []string
			for name := range p.opts.Calendars {
				names = append(names, name)
			}
			sort.Strings(names)
			what := "the name of a calendar; no calendar exists (jobs.sp_add_calendar adds one)"
			if len(names) > 0 {
				what = "the name of a calendar: " + strings.Join(names, ", ")
			}
			p.Faults.Add(item.Path(), item.JSON(), what, suggest.Nearest(item.Text, names))
			continue
		}
		b.calendars = append(b.calendars, c)
		b.names = append(b.names, "the calendar "+item.Text)
	}
	return b
}

// maxWindows limits two searches. A schedule counts as ended if that many windows in a row contain
// all its instants. At most that many touching windows are joined.
const maxWindows = 300

// around returns the union of touching windows that contains an instant.
func (b *blackouts) around(unix int64) (start, end int64, inside bool) {
	start, end = unix, unix
	for range maxWindows {
		grown := false
		for _, c := range b.calendars {
			if _, e, ok := c.around(end); ok && e > end {
				end, grown, inside = e, true, true
			}
			// The second before the start belongs to a window that touches this one.
			at := start - 1
			if start == unix {
				at = unix
			}
			if s, _, ok := c.around(at); ok && s < start && (inside || at == unix) {
				start, grown, inside = s, true, true
			}
		}
		if !grown {
			return start, end, inside
		}
	}
	return start, end, inside
}

// blackedOut is a schedule whose instants in windows are dropped or deferred.
type blackedOut struct {
	inner Schedule
	*blackouts
	last time.Time // zero: no end; an instant that is deferred beyond last is dropped
}

// Next implements engine.Schedule: instants inside a blackout are skipped or deferred to its end.
func (s *blackedOut) Next(after time.Time) (time.Time, bool) {
	from := after
	if s.deferred {
		if start, _, inside := s.around(after.Unix()); inside {
			from = time.Unix(start-1, 0)
		}
	}
	for range maxWindows {
		due, ok := s.inner.Next(from)
		if !ok {
			return time.Time{}, false
		}
		_, end, inside := s.around(due.Unix())
		if !inside {
			return due, true
		}
		if !s.deferred {
			from = time.Unix(end-1, 0)
			continue
		}
		at, ok := engine.InstantAt(end)
		if !ok || !s.last.IsZero() && at.After(s.last) {
			return time.Time{}, false
		}
		return at, true
	}
	return time.Time{}, false
}

// Window is a time in which no run starts: from From, before To.
type Window struct{ From, To time.Time }

// maxRuleWindows is the largest number of windows of a calendar's rule that Windows reads.
const maxRuleWindows = 10_000

// Windows returns the parts of a calendar's windows between two instants, in order. Windows that
// touch are one.
func (c *Calendar) Windows(from, to time.Time) []Window {
	return joinWindows(c.windows(from, to), from, to)
}

// Blocked returns the times between two instants at which the blackouts of the schedule let no run
// start; see Calendar.Windows.
func (p *Plan) Blocked(from, to time.Time) []Window {
	if p.blackouts == nil {
		return nil
	}
	var all []Window
	for _, c := range p.blackouts.calendars {
		all = append(all, c.windows(from, to)...)
	}
	return joinWindows(all, from, to)
}

// farthest is how far ahead StateAt looks for a window.
const farthest = 366 * 24 * time.Hour

// StateAt reports whether an instant is in a window of the calendar, and when that changes: at the
// end of the window, or at the start of the next one. The time is zero if no window starts within
// 366 days. Windows that touch are one; where they are many, the change may come too early, and is
// none.
func (c *Calendar) StateAt(at time.Time) (open bool, changes time.Time) {
	b := blackouts{calendars: []*Calendar{c}}
	if _, end, inside := b.around(at.Unix()); inside {
		return true, time.Unix(end, 0).UTC()
	}
	for _, ahead := range [2]time.Duration{8 * 24 * time.Hour, farthest} { // most calendars have a window in each week
		if list := c.Windows(at, at.Add(ahead)); len(list) > 0 {
			return false, list[0].From
		}
	}
	return false, time.Time{}
}

// windows returns windows of a calendar, among them all that touch the time between two instants.
func (c *Calendar) windows(from, to time.Time) (list []Window) {
	day := func(at time.Time) int64 { return civil.FloorDiv(civil.Seconds(at.In(c.zone)), civil.DaySeconds) }
	add := func(start, end int64) {
		list = append(list, Window{time.Unix(start, 0).UTC(), time.Unix(end, 0).UTC()})
	}
	for d := day(from) - 2; d <= day(to); d++ { // a weekly window may end two days after its own
		if c.isWhole(d) {
			add(c.unix(d*civil.DaySeconds, OverlapFirst), c.unix((d+1)*civil.DaySeconds, OverlapSecond))
		}
		for _, w := range c.weekly {
			if civil.Weekday(d) == w.day {
				add(c.unix(d*civil.DaySeconds+int64(w.from), OverlapFirst), c.unix(d*civil.DaySeconds+int64(w.to), OverlapSecond))
			}
		}
	}
	if c.rule == nil {
		return list
	}
	at := time.Unix(from.Unix()-c.length, 0)
	for range maxRuleWindows {
		next, ok := c.rule.Next(at)
		if !ok || !next.Before(to) {
			break
		}
		add(next.Unix(), next.Unix()+c.length)
		at = next
	}
	return list
}

// joinWindows cuts windows to the time between two instants, sorts them, and joins those that
// touch.
func joinWindows(list []Window, from, to time.Time) []Window {
	slices.SortFunc(list, func(a, b Window) int { return a.From.Compare(b.From) })
	var joined []Window
	for _, w := range list {
		if w.From.Before(from) {
			w.From = from
		}
		if w.To.After(to) {
			w.To = to
		}
		switch n := len(joined); {
		case !w.From.Before(w.To):
		case n > 0 && !w.From.After(joined[n-1].To):
			if w.To.After(joined[n-1].To) {
				joined[n-1].To = w.To
			}
		default:
			joined = append(joined, w)
		}
	}
	return joined
}
