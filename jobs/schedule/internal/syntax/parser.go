package syntax

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/suggest"
)

// Dialect is one kind of schedule: the names of its elements, and the functions that read them.
type Dialect struct {
	// Elements are the names of the elements that the dialect has of its own.
	Elements []string
	// Line is the element that a bare line of text stands for; empty: the text is always JSON.
	Line string
	// IsEmpty reports whether a text stands for an object without elements; nil: none does.
	IsEmpty func(text string) bool
	// TakesOffset reports whether an offset such as -08:00 may stand in place of a time zone.
	TakesOffset bool
	// KeepsPast reports whether instants before the creation and activation of a schedule are due.
	KeepsPast bool
	// Names returns the names and synonyms that an unknown element is compared with; nil: elements
	// and synonyms.
	Names func(r Reader) (elements []string, words map[string]string)
	// Read reads the elements; nil after a fault.
	Read func(p *Parser) engine.Schedule
	// Settle returns the instant that an element means relative to the creation of the schedule,
	// and false for any other element; nil: the dialect has no relative times.
	Settle func(p *Parser, name string, v *Value) (time.Time, bool)
}

// Synonyms are common names for an element that are too far from its name to be a
// misspelling. Keys are in lower case.
var Synonyms = map[string]string{
	"timezone": "timeZone", "zone": "timeZone", "tz": "timeZone", "tzid": "timeZone", "start": "startTime", "dtstart": "startTime",
	"end": "endTime", "until": "endTime", "expression": "cron", "cronexpression": "cron", "rule": "rrule", "recurrencerule": "rrule",
	"minute": "minutes", "hour": "hours", "weekday": "weekDays", "daysofweek": "weekDays", "monthday": "monthDays",
	"months": "frequency Month with interval", "month": "frequency Month", "monthlyoccurrence": "monthlyOccurrences",
	"interval_type": "schedule_interval_type", "interval_count": "schedule_interval_count", "start_time": "schedule_start_time",
	"end_time": "schedule_end_time",
}

// maxSpec is the longest specification in bytes; the largest job of Azure Scheduler has 16 KiB.
const maxSpec = 64 << 10

// Open reads the text of a specification as an object. A dialect with a line takes it bare, as a
// JSON string, or in an object.
func (d *Dialect) Open(spec []byte) (*Value, error) {
	if len(spec) > maxSpec {
		return nil, &Error{Faults: []Fault{{Value: fmt.Sprint(len(spec)), Allowed: fmt.Sprintf("a text of at most %d bytes", maxSpec)}}}
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(spec), "\ufeff"))
	object := &Value{Kind: '{', Raw: "{}"}
	if d.IsEmpty != nil && d.IsEmpty(text) {
		return object, nil
	}
	if d.Line != "" && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
		object.Members = []member{{Name: d.Line, Value: &Value{Path: d.Line, Kind: '"', Text: text, Raw: Quote(text)}}}
		return object, nil
	}
	v, err := ReadValue([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case v.Kind == '{':
		return v, nil
	case v.Kind == '"' && d.Line != "":
		v.Path = d.Line
		object.Members = []member{{Name: d.Line, Value: v}}
		return object, nil
	}
	return nil, &Error{Faults: []Fault{{Value: v.Raw, Allowed: "a JSON object with the elements " + strings.Join(d.Elements, ", ")}}}
}

// Parser reads the elements of one specification. A dialect finds here what was read before its
// turn (zone, gap, overlap, creation), and leaves here what it read beside the schedule itself
// (bounds, count, warnings).
type Parser struct {
	Faults *Faults
	Reader Reader
	// Warnings name parts of the specification that mean something other than a reader may expect,
	// one sentence each.
	Warnings []string

	Zone *time.Location
	// ZoneGiven reports whether the zone was given with the specification or in it; else it is UTC.
	ZoneGiven bool
	Gap       engine.Gap     // empty: the default of the pattern
	Overlap   engine.Overlap // likewise

	// PlannedStart is the start that was given with the specification, for dialects whose text has
	// none; zero: none.
	PlannedStart time.Time
	// Start and end are the bounds of the schedule; zero: none.
	Start, End time.Time
	// Created and activated are when the schedule was made and switched on; zero: unknown.
	Created, Activated time.Time
	// Assumed stands in for created where a dialect cannot do without it; zero: unknown as well.
	Assumed time.Time
	// AssumedUsed is set once assumed was used: an instant equal to assumed is due then.
	AssumedUsed bool
	// Today is when a preview is made that is given no start; an end before today has passed. Zero:
	// not looked at.
	Today time.Time
	// Count is the largest number of runs; 0: no limit.
	Count int64
	// FirstStarted is when the first run really started, for previews; zero: on time.
	FirstStarted time.Time
	// Try reports whether a specification with one element of this text has no fault; nil: nothing
	// is tried, which keeps a proposal from looking for a proposal.
	Try func(element, text string) bool
}

// Warn adds a warning.
func (p *Parser) Warn(text string) { p.Warnings = append(p.Warnings, text) }

// ReadZone reads the element timeZone; without it, given is the name of the zone.
func (p *Parser) ReadZone(given string, takesOffset bool) {
	p.Zone = time.UTC
	name, path := given, "timeZone"
	if v := p.Reader.Take("timeZone"); v != nil {
		text, ok := p.Reader.Text(v, "the name of an IANA time zone, such as Europe/Berlin")
		if !ok {
			return
		}
		name, path = text, v.Path
		if name == "" {
			p.Faults.Add(path, v.Raw, "the name of an IANA time zone, such as Europe/Berlin", "UTC")
			return
		}
	} else if offset, err := ParseOffset(name); err == nil && takesOffset {
		// The column of a table that shows the offset of the start.
		p.Zone, p.ZoneGiven = FixedZone(offset), true
		return
	}
	if name == "" {
		return
	}
	zone, err := LoadZone(name)
	if err != nil {
		p.MergeAt(path, err)
		return
	}
	p.Zone, p.ZoneGiven = zone, true
}

// MergeAt takes over the faults of an error, and gives path to those without a path of their own.
func (p *Parser) MergeAt(path string, err error) {
	before := len(p.Faults.List)
	p.Faults.Merge(path, err)
	for i := before; i < len(p.Faults.List); i++ {
		if f := &p.Faults.List[i]; f.Path == "" || f.Path == "timeZone" {
			f.Path = path
		}
	}
}

// Instant reads an element that holds an instant; absent is the result without the element.
func (p *Parser) Instant(name string, absent time.Time) time.Time {
	v := p.Reader.Take(name)
	if v == nil {
		return absent
	}
	return p.Date(v, absent)
}

// Date reads a text as an instant, in the schedule's zone unless it has an offset; bad is the
// result after a fault.
func (p *Parser) Date(v *Value, bad time.Time) time.Time {
	text, ok := p.Reader.Text(v, DateForms)
	if !ok {
		return bad
	}
	m, err := ParseDate(text)
	if err != nil {
		p.Faults.Add(v.Path, v.Raw, DateForms, DateProposal(text))
		return bad
	}
	return m.In(p.Zone)
}

// OneOf reads one of some words in any case; empty after a fault.
func (p *Parser) OneOf(v *Value, allowed ...string) string {
	what := "one of " + strings.Join(allowed, ", ")
	text, ok := p.Reader.Text(v, what)
	if !ok {
		return ""
	}
	for _, a := range allowed {
		if strings.EqualFold(a, text) {
			return a
		}
	}
	p.Faults.Add(v.Path, v.Raw, what, suggest.Nearest(text, allowed))
	return ""
}

// Items are the items of a list; a value alone is a list of one (D-A13).
func (p *Parser) Items(v *Value, allowed string) []*Value {
	if v.Kind != '[' {
		return []*Value{v}
	}
	if len(v.Items) == 0 {
		p.Faults.Add(v.Path, v.Raw, "at least one value: "+allowed, "")
	}
	return v.Items
}

// Weekday reads the full name of a weekday; 0 is Monday.
func (p *Parser) Weekday(v *Value) (int, bool) {
	what := "one of " + strings.Join(civil.WeekdayNames, ", ")
	text, ok := p.Reader.Text(v, what)
	if !ok {
		return 0, false
	}
	day, ok := civil.ParseWeekday(text)
	if !ok {
		p.Faults.Add(v.Path, v.Raw, what, suggest.Nearest(text, civil.WeekdayNames))
	}
	return day, ok
}

// Creation is when the schedule was made or switched on; where neither is known, the assumed
// moment; zero: none is known.
func (p *Parser) Creation() time.Time {
	if !p.Created.IsZero() {
		return p.Created
	}
	if !p.Activated.IsZero() {
		return p.Activated
	}
	p.AssumedUsed = true
	return p.Assumed
}

// NeedCreation is creation for an element that means nothing without it; a fault at path says so.
func (p *Parser) NeedCreation(path string) time.Time {
	at := p.Creation()
	if at.IsZero() {
		p.Faults.Add(path, "null", "a start, or the time at which the schedule is created", "")
	}
	return at
}

// ReadCount reads the element count of r.
func (p *Parser) ReadCount(r Reader) {
	if v := r.Take("count"); v != nil {
		p.Count, _ = r.Integer(v, 1, 1<<53, "a whole number of at least 1")
	}
}

// ReadBounds reads startTime and endTime.
func (p *Parser) ReadBounds() {
	p.Start = p.Instant("startTime", p.PlannedStart)
	p.End = p.Instant("endTime", time.Time{})
	p.CheckBounds("endTime")
}

// CheckBounds refuses an end before the start; path is the element that holds the end.
func (p *Parser) CheckBounds(path string) {
	p.CheckRange(path, Quote(p.End.Format(time.RFC3339)), p.Start, p.End)
}

// CheckRange refuses an end before a start, if both are given; path and raw are the element of the
// end and its value.
func (p *Parser) CheckRange(path, raw string, start, end time.Time) {
	if !end.IsZero() && !start.IsZero() && end.Before(start) {
		at := start.Format(time.RFC3339)
		p.Faults.Add(path, raw, "an instant not before the start "+at, at)
	}
}

// Wall is a pattern on the clock of the schedule's zone. With fixed clock times only, a gap shifts
// and an overlap counts once unless the specification says otherwise; else every instant counts
// that shows a matching time (D-Z6).
func (p *Parser) Wall(pattern engine.Pattern, fixed bool) *engine.Wall {
	w := &engine.Wall{Pattern: pattern, Zone: p.Zone, Gap: p.Gap, Overlap: p.Overlap}
	if w.Gap == "" {
		if w.Gap = engine.GapSkip; fixed {
			w.Gap = engine.GapShift
		}
	}
	if w.Overlap == "" {
		if w.Overlap = engine.OverlapBoth; fixed {
			w.Overlap = engine.OverlapFirst
		}
	}
	return w
}

// FirstValid is the first of some texts of an element that has no fault, in quotes; empty when each
// has one.
func (p *Parser) FirstValid(element string, texts ...string) string {
	if p.Try == nil {
		return ""
	}
	for _, text := range texts {
		if p.Try(element, text) {
			return Quote(text)
		}
	}
	return ""
}

// LastDays are tried in place of a day that the months of a pattern lack.
var LastDays = []string{"30", "29"}

// WithLastDays are the lines that result when the field at index day becomes the last day of a
// shorter month.
func WithLastDays(fields []string, day int) []string {
	var lines []string
	for _, d := range LastDays {
		line := append([]string(nil), fields...)
		line[day] = d
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// CronKinds names the kinds whose lines have a number of fields, for a proposal; empty when there
// is none.
func CronKinds(fields int) string {
	switch fields {
	case 5:
		return "the kind cron5"
	case 6:
		return "the kind cron6 or quartz"
	case 7:
		return "the kind quartz or sap"
	}
	return ""
}
