package definitions

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// calendar is a month of a schedule, in the schedule's zone.
type calendar struct {
	Title          string
	Before, Behind string // the paths of the months before and after
	Today          string // the path of the present month; empty: this is it
	Weeks          [][]calendarDay
	// Truncated means that more happened than the page reads.
	Truncated bool
}

// Empty reports whether nothing happens in the month.
func (c calendar) Empty() bool {
	for _, week := range c.Weeks {
		for _, d := range week {
			if !d.Empty() {
				return false
			}
		}
	}
	return true
}

// calendarDay is a day of a month.
type calendarDay struct {
	Day     int
	Date    string // for readers of the table: "Mon 2 Nov"
	Outside bool   // of the month
	Today   bool
	Marks   []calendarMark
	// Blocked are the times of the day at which the schedule's calendars let no run start: "all
	// day", or "22:00 to 24:00". Empty means none.
	Blocked string
}

// Empty reports whether nothing happens on the day.
func (d calendarDay) Empty() bool { return len(d.Marks) == 0 }

// calendarMark is runs of one lifecycle, skips of one cause, or due instants of a day.
type calendarMark struct {
	Class, Icon string
	Count       int
	Text        string // what it is: "Failed", "due", "missed"
	Times       string // the first and last time
	Href        string // of the only run
}

// Bounds of the due instants of a month that are computed: one each minute, and a length of time.
const (
	maxDue     = 31 * 24 * 60
	maxDueTime = 300 * time.Millisecond
)

// monthOf returns the first day of the month that a query asks for, in a zone.
func monthOf(text string, now time.Time, zone *time.Location) time.Time {
	now = now.In(zone)
	if m, err := time.Parse("2006-01", text); err == nil && m.Year() >= 1970 && m.Year() <= 9998 {
		return time.Date(m.Year(), m.Month(), 1, 0, 0, 0, 0, zone)
	}
	return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, zone)
}

// addPast reads the runs, skips and backfills of a month and arranges them.
func (d *scheduleData) addPast(ctx context.Context, r *page.Request) error {
	rule, zone := d.rule, d.zone
	month := monthOf(r.Query("month"), r.Now, zone)
	end := month.AddDate(0, 1, 0)
	var (
		runs  []executions.Run
		skips []timetable.Skip
		err   error
	)
	if month.Before(r.Now) {
		if runs, err = executions.On(r.Store).OfSchedule(ctx, d.ID, month, end, pastRows); err != nil {
			return err
		}
		if skips, err = timetable.On(r.Store).SkipsOf(ctx, d.ID, month, end, pastRows); err != nil {
			return err
		}
	}
	d.Calendar = newCalendar(month, r.Now, zone)
	d.Calendar.Truncated = len(runs) == pastRows || len(skips) == pastRows
	self := r.Path("schedules", d.JobName, d.Name)
	at := func(m time.Time) string { return page.With(self, "month", m.Format("2006-01")) + "#calendar" }
	d.Calendar.Before, d.Calendar.Behind = at(month.AddDate(0, -1, 0)), at(end)
	if present := monthOf("", r.Now, zone); !present.Equal(month) {
		d.Calendar.Today = self + "#calendar"
	}
	marks := dayMarks{zone: zone, marks: map[string]*calendarMark{}}
	for _, run := range runs {
		marks.add(run.Due, page.StateClass(string(run.Lifecycle)), "", string(run.Lifecycle), r.Path("runs", run.ID.String()), 1)
	}
	for _, skip := range skips {
		text, class := "skipped", "off"
		if skip.Cause == "CatchUp" {
			text, class = "missed", "warn"
		}
		marks.add(skip.DueAt, class, "skip", text, "", skip.Count)
	}
	if rule != nil && !d.Would {
		d.Calendar.Truncated = marks.addDue(rule, d.Schedule, month, end, r.Now) || d.Calendar.Truncated
	}
	d.Calendar.fill(marks, month)
	if d.plan != nil {
		d.Calendar.block(d.plan.Blocked(month, end), zone, month)
	}
	if d.Skips, err = timetable.On(r.Store).SkipsOf(ctx, d.ID, time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 10); err != nil {
		return err
	}
	name := d.Name
	d.Backfills, err = timetable.On(r.Store).Backfills(ctx, d.JobName, &name, 5)
	return err
}

// addChanges reads the latest changes of the definition.
func (d *scheduleData) addChanges(ctx context.Context, r *page.Request) (err error) {
	d.Changes, err = auditlog.On(r.Store).Read(ctx, auditlog.Filter{JobName: d.JobName, Limit: 100})
	var own []auditlog.Entry
	for _, c := range d.Changes {
		if c.ObjectKind == "Schedule" && (c.ObjectName == d.Name || strings.HasSuffix(c.ObjectName, "/"+d.Name)) && len(own) < 5 {
			own = append(own, c)
		}
	}
	d.Changes = own
	return err
}

// dayMarks collects marks by day, class and text.
type dayMarks struct {
	zone  *time.Location
	marks map[string]*calendarMark
	order []string
	times map[string][2]time.Time
}

// add counts something that happens at an instant.
func (m *dayMarks) add(at time.Time, class, icon, text, href string, count int) {
	if m.times == nil {
		m.times = map[string][2]time.Time{}
	}
	key := at.In(m.zone).Format("2006-01-02") + "/" + class + "/" + text
	mark := m.marks[key]
	if mark == nil {
		mark = &calendarMark{Class: class, Icon: icon, Text: text, Href: href}
		m.marks[key] = mark
		m.order = append(m.order, key)
		m.times[key] = [2]time.Time{at, at}
	}
	if mark.Count += count; mark.Count > 1 {
		mark.Href = ""
	}
	span := m.times[key]
	if at.Before(span[0]) {
		span[0] = at
	}
	if at.After(span[1]) {
		span[1] = at
	}
	m.times[key] = span
}

// addDue adds the instants that are due in the rest of a month. It reports whether there are more
// than it computes.
func (m *dayMarks) addDue(rule schedule.Schedule, s timetable.Schedule, from, to, now time.Time) (more bool) {
	if s.NextDue.IsZero() || !s.Enabled || s.Paused {
		return false
	}
	after := from.Add(-time.Second)
	if s.NextDue.After(after) {
		after = s.NextDue.Add(-time.Second)
	}
	for began, n := time.Now(), 0; n < maxDue; n++ {
		if n%256 == 255 && time.Since(began) > maxDueTime {
			break
		}
		at, ok := rule.Next(after)
		if !ok || !at.Before(to) {
			return false
		}
		text := "due"
		if at.Before(now) {
			text = "late"
		}
		m.add(at, "wait", "clock", text, "", 1)
		after = at
	}
	_, more = rule.Next(after)
	return more
}

// newCalendar returns the weeks of a month, from Monday to Sunday.
func newCalendar(month, now time.Time, zone *time.Location) calendar {
	c := calendar{Title: month.Format("January 2006")}
	today := now.In(zone).Format("2006-01-02")
	// Days are counted at noon in UTC, so that no change of clocks skips one.
	day := time.Date(month.Year(), month.Month(), 1, 12, 0, 0, 0, time.UTC)
	day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	for {
		week := make([]calendarDay, 0, 7)
		for range 7 {
			week = append(week, calendarDay{
				Day: day.Day(), Date: day.Format("Mon 2 Jan"), Outside: day.Month() != month.Month(), Today: day.Format("2006-01-02") == today,
			})
			day = day.AddDate(0, 0, 1)
		}
		c.Weeks = append(c.Weeks, week)
		if day.Month() != month.Month() {
			return c
		}
	}
}

// block marks the days on which no run starts, or at some times none.
func (c *calendar) block(windows []schedule.Window, zone *time.Location, month time.Time) {
	for w := range c.Weeks {
		for i := range c.Weeks[w] {
			if d := &c.Weeks[w][i]; !d.Outside {
				from := time.Date(month.Year(), month.Month(), d.Day, 0, 0, 0, 0, zone)
				d.Blocked = blockedText(windows, from, from.AddDate(0, 0, 1))
			}
		}
	}
}

// blockedText is the times of windows on a day.
func blockedText(windows []schedule.Window, from, to time.Time) string {
	var parts []string
	for _, w := range windows {
		switch {
		case !w.From.Before(to) || !w.To.After(from):
		case !w.From.After(from) && !w.To.Before(to):
			return "all day"
		default:
			start, end := "00:00", "24:00"
			if w.From.After(from) {
				start = w.From.In(from.Location()).Format("15:04")
			}
			if w.To.Before(to) {
				end = w.To.In(from.Location()).Format("15:04")
			}
			parts = append(parts, start+" to "+end)
		}
	}
	const most = 3
	if n := len(parts); n > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(parts, ", ")
}

// fill puts the marks into the days of the month.
func (c *calendar) fill(m dayMarks, month time.Time) {
	byDay := map[string][]calendarMark{}
	sort.Strings(m.order)
	for _, key := range m.order {
		mark, span := *m.marks[key], m.times[key]
		mark.Times = span[0].In(m.zone).Format("15:04")
		if mark.Count > 1 && !span[0].Equal(span[1]) {
			mark.Times = fmt.Sprintf("%s to %s", mark.Times, span[1].In(m.zone).Format("15:04"))
		}
		byDay[key[:10]] = append(byDay[key[:10]], mark)
	}
	for w := range c.Weeks {
		for i := range c.Weeks[w] {
			d := &c.Weeks[w][i]
			if !d.Outside {
				d.Marks = byDay[fmt.Sprintf("%04d-%02d-%02d", month.Year(), month.Month(), d.Day)]
			}
		}
	}
}
