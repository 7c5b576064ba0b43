package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// ICalendar converts the events of iCalendar files (RFC 5545). Each event becomes a job with a
// schedule and a step that the user has to write.
func ICalendar(documents []Document, o Options) (*Result, error) {
	r := &Result{source: "iCalendar", opts: o, limited: true}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
	}
	if _, err := Zone(r.opts.Zone); err != nil {
		return nil, err
	}
	for _, d := range documents {
		top, err := parseICalendar(string(d.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		for _, c := range top {
			if c.name != "VCALENDAR" {
				return nil, fmt.Errorf("%s: %w", d.Name, errors.New("the file is not an iCalendar file: want BEGIN:VCALENDAR"))
			}
		}
		if len(top) == 0 {
			return nil, fmt.Errorf("%s: %w", d.Name, errors.New("the file has no calendar: want BEGIN:VCALENDAR"))
		}
		for _, c := range top {
			r.icalCalendar(c, fileStem(d.Name), o.Zone == "")
		}
	}
	return r.bounded()
}

// icalEvent is an event with the events that replace some of its instants.
type icalEvent struct {
	base      *icalComponent
	overrides []*icalComponent
}

// icalCalendar converts one calendar. ownZone means that the calendar may say in which zone
// floating times are.
func (r *Result) icalCalendar(c *icalComponent, spare string, ownZone bool) {
	zones := icalZones{places: map[string]string{}}
	floating := r.opts.Zone
	for _, p := range c.properties {
		switch p.name {
		case "X-WR-TIMEZONE":
			if zone, ok := zones.resolve(p.value); ok && ownZone {
				floating = zone
				r.note("", p.name, "times without a zone are in %s", zone)
			}
		case "CALSCALE":
			if !strings.EqualFold(strings.TrimSpace(p.value), "GREGORIAN") {
				r.lost("", p.name, "the calendar system is not GREGORIAN: dates are read as if they were")
			}
		}
	}
	var events []*icalEvent
	byID := map[string]*icalEvent{}
	for _, part := range c.components {
		switch part.name {
		case "VTIMEZONE":
			for _, p := range part.find("X-LIC-LOCATION") {
				zones.places[part.text("TZID")] = p.value
			}
		case "VEVENT":
			if len(part.find("RECURRENCE-ID")) == 0 {
				e := &icalEvent{base: part}
				events = append(events, e)
				byID[part.text("UID")] = e
			}
		default:
			r.lost("", fmt.Sprintf("%s at line %d", part.name, part.line), "only events (VEVENT) become jobs")
		}
	}
	for _, part := range c.components {
		if part.name != "VEVENT" || len(part.find("RECURRENCE-ID")) == 0 {
			continue
		}
		if e := byID[part.text("UID")]; e != nil {
			e.overrides = append(e.overrides, part)
		} else {
			events = append(events, &icalEvent{base: part})
		}
	}
	for _, e := range events {
		r.icalJob(e, zones, floating, spare)
	}
}

// The properties of an event that are read elsewhere or say nothing about runs.
var (
	icalRead    = []string{"SUMMARY", "DESCRIPTION", "STATUS", "UID", "DTSTART", "RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID", "DTEND", "DURATION"}
	icalIgnored = []string{"DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", "TRANSP", "CLASS", "PRIORITY"}
)

// icalJob converts one event and adds it to the result.
func (r *Result) icalJob(e *icalEvent, zones icalZones, floating, spare string) {
	c := e.base
	name := c.text("SUMMARY")
	if line, _, more := strings.Cut(name, "\n"); more {
		name = line
	}
	job := Job{Name: r.jobName(name, spare)}
	description, was := cut(c.text("DESCRIPTION"), maxDescription)
	if was {
		r.changed(job.Name, "DESCRIPTION", "it is longer than %d characters and was cut", maxDescription)
	}
	job.Description = description
	r.icalRest(job.Name, c)
	job.Steps = append(job.Steps, r.commandStep(&job, outsideCommand{variable: noVariable, element: "SUMMARY", where: "This event of a calendar", step: "event", what: "an event"}))
	r.icalSchedules(&job, e, zones, floating)
	r.Jobs = append(r.Jobs, job)
}

// icalRest reports the properties and components of an event that have no counterpart, by their
// names.
func (r *Result) icalRest(job string, c *icalComponent) {
	if len(c.find("DTEND"))+len(c.find("DURATION")) > 0 {
		r.note(job, "DTEND", "the length of the event: a run ends when its steps end, or at their time limits")
	}
	var names []string
	seen := map[string]bool{}
	for _, p := range c.properties {
		if !slices.Contains(icalRead, p.name) && !slices.Contains(icalIgnored, p.name) && !seen[p.name] {
			names, seen[p.name] = append(names, p.name), true
		}
	}
	if names != nil {
		r.note(job, "VEVENT", "not kept: %s", shortList(names))
	}
	for _, part := range c.components {
		if part.name == "VALARM" {
			r.lost(job, "VALARM", "alarms are not imported: an alert rule (jobagent alert) is about a run, not about a time before it")
		} else {
			r.lost(job, part.name, "it has no counterpart")
		}
	}
}

// icalDates holds the instants of an event beside its rules.
type icalDates struct{ added, excluded []icalTime }

// icalSchedules converts the times of an event to schedules: one, or one for each RRULE.
func (r *Result) icalSchedules(job *Job, e *icalEvent, zones icalZones, floating string) {
	c := e.base
	enabled := true
	if strings.EqualFold(c.text("STATUS"), "CANCELLED") {
		enabled = false
		r.note(job.Name, "STATUS", "the event is cancelled: its schedule is created disabled")
	}
	starts := c.find("DTSTART")
	if len(starts) != 1 {
		r.lost(job.Name, "DTSTART", "the schedule is not created: want one start, there are %d", len(starts))
		return
	}
	list, problem := zones.times(starts[0])
	if problem != "" || len(list) != 1 {
		r.lost(job.Name, "DTSTART", "the schedule is not created: %s", cmp.Or(problem, "want one date and time"))
		return
	}
	start := list[0]
	zone := cmp.Or(start.zone, floating)
	if start.zone == "" && !start.date {
		r.note(job.Name, "DTSTART", "it has no zone: %s is taken (--zone)", zone)
	}
	if len(c.find("EXRULE")) > 0 {
		enabled = false
		r.lost(job.Name, "EXRULE", "it excludes instants, and RFC 5545 has it no more: the schedule is created disabled; write EXDATE or blackouts, then enable it")
	}
	dates, problem := r.icalInstants(job.Name, e, zones, floating)
	if problem != "" {
		r.lost(job.Name, "VEVENT", "the schedule is not created: %s", problem)
		return
	}
	rules := c.find("RRULE")
	if len(rules) > maxRules {
		r.lost(job.Name, "RRULE", "the schedule is not created: there are %d rules, and at most %d are read", len(rules), maxRules)
		return
	}
	if r.dates += (len(dates.added) + len(dates.excluded)) * max(1, len(rules)); r.dates > maxDates {
		r.lost(job.Name, "VEVENT", "the schedule is not created: at most %d dates are read, once for each rule", maxDates)
		return
	}
	if len(rules) > 1 {
		r.changed(job.Name, "RRULE", "there are %d: each becomes a schedule of its own", len(rules))
	}
	for i := range max(len(rules), 1) {
		rule, name := "", "event"
		if len(rules) > 0 {
			rule = strings.TrimSpace(rules[i].value)
		}
		if i > 0 {
			name, dates.added = fmt.Sprintf("event (%d)", i+1), nil
		}
		spec, problem := icalSpec(start, rule, dates, zone, floating)
		if problem != "" {
			r.lost(job.Name, "RRULE", "the schedule is not created: %s", problem)
			continue
		}
		r.icalFirst(job.Name, start, rule, spec, zone, floating)
		r.addSchedule(job, "RRULE", "", Schedule{Name: name, Kind: schedule.KindRRule, Spec: spec, Zone: zone, Enabled: enabled})
	}
}

// icalInstants returns the instants that an event adds and excludes, and those of the events that
// replace some of its instants.
func (r *Result) icalInstants(job string, e *icalEvent, zones icalZones, floating string) (dates icalDates, problem string) {
	for _, p := range e.base.properties {
		if p.name != "RDATE" && p.name != "EXDATE" {
			continue
		}
		list, problem := zones.times(p)
		if problem != "" {
			return dates, problem
		}
		if p.name == "RDATE" {
			dates.added = append(dates.added, list...)
		} else {
			dates.excluded = append(dates.excluded, list...)
		}
	}
	var moved, replaced []icalTime
	for _, o := range e.overrides {
		id := o.find("RECURRENCE-ID")[0]
		at := fmt.Sprintf("RECURRENCE-ID at line %d", o.line)
		if id.parameters["RANGE"] != "" {
			r.lost(job, at, "it changes all later instants (RANGE): make two events of it")
			continue
		}
		old, problem := zones.times(id)
		if problem != "" || len(old) != 1 {
			return dates, cmp.Or(problem, "invalid RECURRENCE-ID")
		}
		if strings.EqualFold(o.text("STATUS"), "CANCELLED") {
			replaced = append(replaced, old[0])
			r.note(job, at, "this instant is cancelled")
			continue
		}
		starts := o.find("DTSTART")
		if len(starts) != 1 {
			return dates, "an event with RECURRENCE-ID has no DTSTART"
		}
		now, problem := zones.times(starts[0])
		if problem != "" || len(now) != 1 {
			return dates, cmp.Or(problem, "invalid DTSTART")
		}
		if len(o.find("RRULE"))+len(o.find("RDATE")) > 0 {
			r.lost(job, at, "an instant that recurs itself: only its start is kept")
		}
		r.note(job, at, "this instant has a text or a time of its own: only the time is kept")
		moved, replaced = append(moved, now[0]), append(replaced, old[0])
	}
	// An instant to which another one moves stays, even if it moves itself.
	dates.added = append(dates.added, without(moved, replaced, floating)...)
	dates.excluded = append(dates.excluded, without(replaced, moved, floating)...)
	return dates, ""
}

// without returns the times of a list whose instants are not those of other times.
func without(list, other []icalTime, floating string) (rest []icalTime) {
	taken := map[int64]bool{} // Unix times
	for _, t := range other {
		if at, err := t.instant(floating); err == nil {
			taken[at.Unix()] = true
		}
	}
	for _, t := range list {
		if at, err := t.instant(floating); err != nil || !taken[at.Unix()] {
			rest = append(rest, t)
		}
	}
	return rest
}

// icalSpec returns the lines of a schedule of the kind rrule. An event without a rule is due at
// its start, which then is an RDATE too.
func icalSpec(start icalTime, rule string, dates icalDates, zone, floating string) (spec, problem string) {
	first, err := start.in(zone, floating)
	if err != nil {
		return "", "its zone has no rules here"
	}
	head := "DTSTART"
	if start.date {
		head += ";VALUE=DATE"
	}
	lines := []string{head + ":" + first}
	if rule != "" {
		lines = append(lines, "RRULE:"+boundText(lines[0], rule, zone))
	} else {
		dates.added = append([]icalTime{start}, dates.added...)
	}
	for _, l := range []struct {
		name string
		list []icalTime
	}{{"RDATE", dates.added}, {"EXDATE", dates.excluded}} {
		var whole, clock []string
		for _, t := range l.list {
			text, err := t.in(zone, floating)
			if err != nil {
				return "", "a zone of " + l.name + " has no rules here"
			}
			if t.date {
				whole = append(whole, text)
			} else {
				clock = append(clock, text)
			}
		}
		if whole != nil {
			lines = append(lines, l.name+";VALUE=DATE:"+strings.Join(whole, ","))
		}
		if clock != nil {
			lines = append(lines, l.name+":"+strings.Join(clock, ","))
		}
	}
	return strings.Join(lines, "\n"), ""
}

// boundText replaces COUNT of a rule behind a DTSTART by an UNTIL.
func boundText(start, rule, zone string) string {
	if !countPart.MatchString(rule) {
		return rule
	}
	last := lastOf(schedule.KindRRule, start+"\nRRULE:"+rule, zone)
	if last.IsZero() {
		return rule
	}
	return strings.Trim(countPart.ReplaceAllString(rule, ""), ";") + ";UNTIL=" + last.UTC().Format("20060102T150405Z")
}

// icalFirst reports a start that is not an instant of its rule.
func (r *Result) icalFirst(job string, start icalTime, rule, spec, zone, floating string) {
	at, err := start.instant(floating)
	if err != nil || rule == "" {
		return
	}
	plan, err := schedule.Parse(schedule.KindRRule, []byte(spec), schedule.Options{Zone: zone})
	if err != nil {
		return
	}
	if next, ok := plan.Next(at.Add(-time.Nanosecond)); !ok || !next.Equal(at) {
		r.note(job, "DTSTART", "the event is not due at its start, because the rule does not have it or an EXDATE excludes it; RFC 5545 leaves the former undefined, and calendars often show it")
	}
}
