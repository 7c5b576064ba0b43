package schedule

import (
	"fmt"
	"strings"
	"time"
)

// dialect is one kind of schedule: the names of its elements, and the functions that read them.
type dialect struct {
	// elements are the names of the elements that the dialect has of its own.
	elements []string
	// line is the element that a bare line of text stands for; empty: the text is always JSON.
	line string
	// isEmpty reports whether a text stands for an object without elements; nil: none does.
	isEmpty func(text string) bool
	// takesOffset reports whether an offset such as -08:00 may stand in place of a time zone.
	takesOffset bool
	// keepsPast reports whether instants before the creation and activation of a schedule are due.
	keepsPast bool
	// names returns the names and synonyms that an unknown element is compared with; nil: elements and synonyms.
	names func(r reader) (elements []string, words map[string]string)
	// read reads the elements; nil after a fault.
	read func(p *parser) Schedule
	// settle returns the instant that an element means relative to the creation of the schedule, and false for any
	// other element; nil: the dialect has no relative times.
	settle func(p *parser, name string, v *value) (time.Time, bool)
}

// synonyms are names that people use for an element and that are too far from its name to be a misspelling. Keys are in lower case.
var synonyms = map[string]string{
	"timezone": "timeZone", "zone": "timeZone", "tz": "timeZone", "tzid": "timeZone", "start": "startTime", "dtstart": "startTime",
	"end": "endTime", "until": "endTime", "expression": "cron", "cronexpression": "cron", "rule": "rrule", "recurrencerule": "rrule",
	"minute": "minutes", "hour": "hours", "weekday": "weekDays", "daysofweek": "weekDays", "monthday": "monthDays",
	"months": "frequency Month with interval", "month": "frequency Month", "monthlyoccurrence": "monthlyOccurrences",
	"interval_type": "schedule_interval_type", "interval_count": "schedule_interval_count", "start_time": "schedule_start_time",
	"end_time": "schedule_end_time",
}

// maxSpec is the longest specification in bytes; the largest job of Azure Scheduler has 16 KiB.
const maxSpec = 64 << 10

// open reads the text of a specification as an object. A dialect with a line takes it bare, as a JSON string, or in an object.
func (d *dialect) open(spec []byte) (*value, error) {
	if len(spec) > maxSpec {
		return nil, &Error{Faults: []Fault{{Value: fmt.Sprint(len(spec)), Allowed: fmt.Sprintf("a text of at most %d bytes", maxSpec)}}}
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(spec), "\ufeff"))
	object := &value{kind: '{', raw: "{}"}
	if d.isEmpty != nil && d.isEmpty(text) {
		return object, nil
	}
	if d.line != "" && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
		object.members = []member{{name: d.line, value: &value{path: d.line, kind: '"', text: text, raw: quote(text)}}}
		return object, nil
	}
	v, err := readValue([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case v.kind == '{':
		return v, nil
	case v.kind == '"' && d.line != "":
		v.path = d.line
		object.members = []member{{name: d.line, value: v}}
		return object, nil
	}
	return nil, &Error{Faults: []Fault{{Value: v.raw, Allowed: "a JSON object with the elements " + strings.Join(d.elements, ", ")}}}
}

// parser reads the elements of one specification. A dialect finds here what was read before its turn (zone, gap, overlap,
// creation), and leaves here what it read beside the schedule itself (bounds, count, warnings).
type parser struct {
	faults *faults
	reader reader
	// warnings say what was read otherwise than people might think, one sentence each.
	warnings []string

	zone *time.Location
	// zoneGiven reports whether the zone was given with the specification or in it; else it is UTC.
	zoneGiven bool
	gap       Gap     // empty: the default of the pattern
	overlap   Overlap // likewise

	// plannedStart is the start that was given with the specification, for dialects whose text has none; zero: none.
	plannedStart time.Time
	// start and end are the bounds of the schedule; zero: none.
	start, end time.Time
	// created and activated are when the schedule was made and switched on; zero: unknown.
	created, activated time.Time
	// assumed stands in for created where a dialect cannot do without it; zero: unknown as well.
	assumed time.Time
	// assumedUsed is set once assumed was used: an instant equal to assumed is due then.
	assumedUsed bool
	// today is when a preview is made that is given no start; an end before today has passed. Zero: not looked at.
	today time.Time
	// count is the largest number of runs; 0: no limit.
	count int64
	// firstStarted is when the first run really started, for previews; zero: on time.
	firstStarted time.Time
	// try reports whether a specification with one element of this text has no fault; nil: nothing is tried, which
	// keeps a proposal from looking for a proposal.
	try func(element, text string) bool
}

// warn adds a warning.
func (p *parser) warn(text string) { p.warnings = append(p.warnings, text) }

// readZone reads the element timeZone; without it, given is the name of the zone.
func (p *parser) readZone(given string, takesOffset bool) {
	p.zone = time.UTC
	name, path, raw := given, "timeZone", quote(given)
	if v := p.reader.take("timeZone"); v != nil {
		text, ok := p.reader.text(v, "the name of an IANA time zone, such as Europe/Berlin")
		if !ok {
			return
		}
		name, path, raw = text, v.path, v.raw
		if name == "" {
			p.faults.add(path, raw, "the name of an IANA time zone, such as Europe/Berlin", "UTC")
			return
		}
	} else if offset, err := parseOffset(name); err == nil && takesOffset {
		// The column of a table that shows the offset of the start.
		p.zone, p.zoneGiven = fixedZone(offset), true
		return
	}
	if name == "" {
		return
	}
	zone, err := LoadZone(name)
	if err != nil {
		p.mergeAt(path, err)
		return
	}
	p.zone, p.zoneGiven = zone, true
}

// mergeAt takes over the faults of an error, and gives path to those without a path of their own.
func (p *parser) mergeAt(path string, err error) {
	before := len(p.faults.list)
	p.faults.merge(path, err)
	for i := before; i < len(p.faults.list); i++ {
		if f := &p.faults.list[i]; f.Path == "" || f.Path == "timeZone" {
			f.Path = path
		}
	}
}

// instant reads an element that holds an instant; absent is the result without the element.
func (p *parser) instant(name string, absent time.Time) time.Time {
	v := p.reader.take(name)
	if v == nil {
		return absent
	}
	return p.date(v, absent)
}

// date reads a text as an instant, in the schedule's zone unless it has an offset; bad is the result after a fault.
func (p *parser) date(v *value, bad time.Time) time.Time {
	text, ok := p.reader.text(v, dateForms)
	if !ok {
		return bad
	}
	m, err := parseDate(text)
	if err != nil {
		p.faults.add(v.path, v.raw, dateForms, dateProposal(text))
		return bad
	}
	return m.in(p.zone)
}

// oneOf reads one of some words in any case; empty after a fault.
func (p *parser) oneOf(v *value, allowed ...string) string {
	what := "one of " + strings.Join(allowed, ", ")
	text, ok := p.reader.text(v, what)
	if !ok {
		return ""
	}
	for _, a := range allowed {
		if strings.EqualFold(a, text) {
			return a
		}
	}
	p.faults.add(v.path, v.raw, what, nearest(text, allowed))
	return ""
}

// items are the items of a list; a value alone is a list of one (D-A13).
func (p *parser) items(v *value, allowed string) []*value {
	if v.kind != '[' {
		return []*value{v}
	}
	if len(v.items) == 0 {
		p.faults.add(v.path, v.raw, "at least one value: "+allowed, "")
	}
	return v.items
}

// weekday reads the full name of a weekday; 0 is Monday.
func (p *parser) weekday(v *value) (int, bool) {
	what := "one of " + strings.Join(weekdayNames, ", ")
	text, ok := p.reader.text(v, what)
	if !ok {
		return 0, false
	}
	day, ok := parseWeekday(text)
	if !ok {
		p.faults.add(v.path, v.raw, what, nearest(text, weekdayNames))
	}
	return day, ok
}

// creation is when the schedule was made or switched on; where neither is known, the assumed moment; zero: none is known.
func (p *parser) creation() time.Time {
	if !p.created.IsZero() {
		return p.created
	}
	if !p.activated.IsZero() {
		return p.activated
	}
	p.assumedUsed = true
	return p.assumed
}

// needCreation is creation for an element that means nothing without it; a fault at path says so.
func (p *parser) needCreation(path string) time.Time {
	at := p.creation()
	if at.IsZero() {
		p.faults.add(path, "null", "a start, or the moment at which the schedule is made", "")
	}
	return at
}

// readCount reads the element count of r.
func (p *parser) readCount(r reader) {
	if v := r.take("count"); v != nil {
		p.count, _ = r.integer(v, 1, 1<<53, "a whole number from 1 on")
	}
}

// readBounds reads startTime and endTime.
func (p *parser) readBounds() {
	p.start = p.instant("startTime", p.plannedStart)
	p.end = p.instant("endTime", time.Time{})
	p.checkBounds("endTime")
}

// checkBounds refuses an end before the start; path is the element that holds the end.
func (p *parser) checkBounds(path string) {
	p.checkRange(path, quote(p.end.Format(time.RFC3339)), p.start, p.end)
}

// checkRange refuses an end before a start, if both are given; path and raw are the element of the end and its value.
func (p *parser) checkRange(path, raw string, start, end time.Time) {
	if !end.IsZero() && !start.IsZero() && end.Before(start) {
		at := start.Format(time.RFC3339)
		p.faults.add(path, raw, "an instant not before the start "+at, at)
	}
}

// wall is a pattern on the clock of the schedule's zone. With fixed clock times only, a gap shifts and an overlap counts once
// unless the specification says otherwise; else every instant counts that shows a matching time (D-Z6).
func (p *parser) wall(pattern pattern, fixed bool) *wall {
	w := &wall{pattern: pattern, zone: p.zone, gap: p.gap, overlap: p.overlap}
	if w.gap == "" {
		if w.gap = GapSkip; fixed {
			w.gap = GapShift
		}
	}
	if w.overlap == "" {
		if w.overlap = OverlapBoth; fixed {
			w.overlap = OverlapFirst
		}
	}
	return w
}

// firstValid is the first of some texts of an element that has no fault, in quotes; empty when each has one.
func (p *parser) firstValid(element string, texts ...string) string {
	if p.try == nil {
		return ""
	}
	for _, text := range texts {
		if p.try(element, text) {
			return quote(text)
		}
	}
	return ""
}

// lastDays are tried in place of a day that the months of a pattern lack.
var lastDays = []string{"30", "29"}

// withLastDays are the lines that result when the field at index day becomes the last day of a shorter month.
func withLastDays(fields []string, day int) []string {
	var lines []string
	for _, d := range lastDays {
		line := append([]string(nil), fields...)
		line[day] = d
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}
