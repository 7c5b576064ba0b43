package syntax

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Dialect is one kind of schedule: the names of its elements, and the functions that parse them.
type Dialect struct {
	// Elements are the names of the dialect's own elements.
	Elements []string
	// Line is the name of the element that a bare line of text specifies. If it is empty, the text
	// is always JSON.
	Line string
	// IsEmpty reports whether a text means an object without elements. If it is nil, no text does.
	IsEmpty func(text string) bool
	// TakesOffset reports whether the zone may be an offset such as -08:00.
	TakesOffset bool
	// KeepsPast reports whether instants before the creation and activation of a schedule are due.
	KeepsPast bool
	// Names returns the names and synonyms that may be proposed for an unknown element. If it is
	// nil, they are Elements and Synonyms.
	Names func(r Reader) (elements []string, words map[string]string)
	// Read parses the elements and returns the schedule, or nil after a fault.
	Read func(p *Parser) engine.Schedule
	// Settle returns the instant of an element that is relative to the creation of the schedule. It
	// returns false for any other element. Settle is nil if the dialect has no relative times.
	Settle func(p *Parser, name string, v *Value) (time.Time, bool)
}

// Synonyms are common names for an element that are too far from its name to be a
// misspelling. Keys are in lower case.
var Synonyms = map[string]string{
	"timezone": "timeZone", "zone": "timeZone", "tz": "timeZone", "tzid": "timeZone", "start": "startTime", "dtstart": "startTime",
	"startdate": "startTime", "enddate": "endTime",
	"end": "endTime", "until": "endTime", "expression": "cron", "cronexpression": "cron", "rule": "rrule", "recurrencerule": "rrule",
	"minute": "minutes", "hour": "hours", "weekday": "weekDays", "daysofweek": "weekDays", "monthday": "monthDays",
	"months": "frequency Month with interval", "month": "frequency Month", "monthlyoccurrence": "monthlyOccurrences",
	"interval_type": "schedule_interval_type", "interval_count": "schedule_interval_count", "start_time": "schedule_start_time",
	"end_time": "schedule_end_time",
}

// maxSpec is the largest size of a specification in bytes. The largest job of Azure Scheduler has
// 16 KiB.
const maxSpec = 64 << 10

// Open parses the text of a specification into an object. If the dialect has a Line, the text may
// also be a bare line or a JSON string.
func (d *Dialect) Open(spec []byte) (*Value, error) {
	if len(spec) > maxSpec {
		return nil, &Error{Faults: []Fault{{Value: fmt.Sprint(len(spec)), Allowed: fmt.Sprintf("a text of at most %d bytes", maxSpec)}}}
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(spec), "\ufeff"))
	if d.IsEmpty != nil && d.IsEmpty(text) {
		return &Value{Kind: '{'}, nil
	}
	if d.Line != "" && !isJSON(text) {
		return jsontree.Object(d.Line, &Value{Kind: '"', Text: text}), nil
	}
	v, err := ReadValue([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case v.Kind == '{':
		return v, nil
	case v.Kind == '"' && d.Line != "":
		return jsontree.Object(d.Line, v), nil
	}
	return nil, &Error{Faults: []Fault{{Value: v.JSON(), Allowed: "a JSON object with the elements " + strings.Join(d.Elements, ", ")}}}
}

// isJSON reports whether a text is meant as a JSON object or string. A line with a slip at its
// beginning, such as a quotation mark that is not closed, is a line.
func isJSON(text string) bool {
	switch {
	case strings.HasPrefix(text, "{"):
		inner := strings.TrimLeft(text[1:], " \t\r\n")
		return inner == "" || inner[0] == '"' || inner[0] == '}'
	case strings.HasPrefix(text, `"`):
		return json.Valid([]byte(text))
	}
	return false
}

// Parser parses the elements of one specification. It holds the values that are parsed before the
// dialect's Read (zone, gap, overlap, creation). Read stores here the values that it returns in
// addition to the schedule (bounds, count, warnings).
type Parser struct {
	Faults *Faults
	Reader Reader
	// Warnings names parts of the specification with a meaning that may surprise the reader, one
	// sentence each.
	Warnings []string
	// Assumptions says what was taken for parts that the text leaves open, one sentence each.
	Assumptions []string

	Zone *time.Location
	// ZoneGiven reports whether the zone was given in the options or in the specification. If not,
	// the zone is UTC.
	ZoneGiven bool
	Gap       engine.Gap     // empty: the default of the pattern
	Overlap   engine.Overlap // likewise

	// Words is the rule for its description; nil if the dialect has no words for it. OnWall is the
	// schedule that Wall or WallBy has returned, for its behaviour at changes of clocks.
	Words  *words.Rule
	OnWall *engine.Wall

	// PlannedStart is the start given in the options, for dialects without a start in the text;
	// zero means none.
	PlannedStart time.Time
	// Start and End are the bounds of the schedule; zero means none.
	Start, End time.Time
	// Created and Activated are the times at which the schedule was created and enabled; zero if
	// unknown.
	Created, Activated time.Time
	// Assumed replaces Created for a dialect that requires a creation time; zero if unknown.
	Assumed time.Time
	// AssumedUsed reports whether Assumed was used. An instant equal to Assumed is then due.
	AssumedUsed bool
	// StartCreated reports whether Start is the time of the creation, for want of another. It
	// bounds nothing then, and is not mentioned in words.
	StartCreated bool
	// Today is the time of a preview without a start. An end before Today has passed. Zero disables
	// the check.
	Today time.Time
	// Stored means that the specification was accepted before; see Contradict.
	Stored bool
	// Count is the largest number of runs; 0: no limit.
	Count int64
	// FirstStarted is the actual start of the first run, for previews; zero means on time.
	FirstStarted time.Time
	// Try reports whether a specification with one element of this text has no fault. It is nil
	// while a proposal is tested, so that a proposal does not search for another proposal.
	Try func(element, text string) bool
	// OtherKinds returns the names of the other kinds in which a line is valid. It is nil while a
	// proposal is tested.
	OtherKinds func(line string) []string
}

// Warn adds a warning.
func (p *Parser) Warn(text string) { p.Warnings = append(p.Warnings, text) }

// Contradict records a value that contradicts another one: a fault, or for a stored specification
// a warning, because older releases accepted it. used says which value counts.
func (p *Parser) Contradict(path, value, allowed, used string) {
	if p.Stored {
		p.Warn(path + " is " + value + ", but valid is only " + allowed + "; " + used)
		return
	}
	p.Faults.Add(path, value, allowed, "")
}

// Assume adds an assumption.
func (p *Parser) Assume(text string) { p.Assumptions = append(p.Assumptions, text) }

// ReadZone parses the element timeZone. Without the element, the name of the zone is given.
func (p *Parser) ReadZone(given string, takesOffset bool) {
	p.Zone = time.UTC
	name, path := given, "timeZone"
	if v := p.Reader.Take("timeZone"); v != nil {
		text, ok := p.Reader.Text(v, ZoneWords)
		if !ok {
			return
		}
		name, path = text, v.Path()
		if name == "" {
			p.Faults.Add(path, v.JSON(), ZoneWords, "UTC")
			return
		}
	} else if offset, err := ParseOffset(name); err == nil && takesOffset {
		// A stored schedule may have the offset of its start in place of a zone name.
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

// MergeAt adds the faults of an error. Faults without a path of their own get path.
func (p *Parser) MergeAt(path string, err error) {
	before := len(p.Faults.List)
	p.Faults.Merge(path, err)
	for i := before; i < len(p.Faults.List); i++ {
		if f := &p.Faults.List[i]; f.Path == "" || f.Path == "timeZone" {
			f.Path = path
		}
	}
}

// Instant parses an element that holds an instant. It returns absent if the element is missing.
func (p *Parser) Instant(name string, absent time.Time) time.Time {
	v := p.Reader.Take(name)
	if v == nil {
		return absent
	}
	return p.Date(v, absent)
}

// Date parses a text as an instant, in the schedule's zone unless the text has an offset. It
// returns bad after a fault.
func (p *Parser) Date(v *Value, bad time.Time) time.Time {
	text, ok := p.Reader.Text(v, DateForms)
	if !ok {
		return bad
	}
	m, err := ParseDate(text)
	if err != nil {
		p.Faults.Add(v.Path(), v.JSON(), DateForms, DateProposal(text))
		return bad
	}
	return m.In(p.Zone)
}

// OneOf parses one of the allowed words in any case. It returns "" after a fault.
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
	p.Faults.Add(v.Path(), v.JSON(), what, suggest.Nearest(text, allowed))
	return ""
}

// Items returns the items of a list. A value alone is a list of one item (D-A13).
func (p *Parser) Items(v *Value, allowed string) []*Value {
	if v.Kind != '[' {
		return []*Value{v}
	}
	if len(v.Items) == 0 {
		p.Faults.Add(v.Path(), v.JSON(), "at least one value: "+allowed, "")
	}
	return v.Items
}

var weekdayForms = "one of " + strings.Join(civil.WeekdayNames, ", ")

// Weekday parses the full name of a weekday; 0 is Monday.
func (p *Parser) Weekday(v *Value) (int, bool) {
	text, ok := p.Reader.Text(v, weekdayForms)
	if !ok {
		return 0, false
	}
	day, ok := civil.ParseWeekday(text)
	if !ok && !p.Faults.Skip() {
		propose := ""
		if near, found := suggest.Weekday(text); found {
			propose = civil.WeekdayNames[near]
		}
		p.Faults.Add(v.Path(), v.JSON(), weekdayForms, propose)
	}
	return day, ok
}

// Creation returns the time at which the schedule was created or, if that is unknown, enabled. If
// both are unknown, it returns Assumed, which may be zero.
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

// NeedCreation returns the creation time for an element that requires it. It records a fault at
// path if the time is unknown.
func (p *Parser) NeedCreation(path string) time.Time {
	at := p.Creation()
	if at.IsZero() {
		p.Faults.Add(path, "null", "a start, or the time at which the schedule is created", "")
	}
	return at
}

// ReadCount parses the element count of r.
func (p *Parser) ReadCount(r Reader) {
	if v := r.Take("count"); v != nil {
		p.Count, _ = r.Integer(v, 1, 1<<53, "a whole number of at least 1")
	}
}

// ReadBounds parses startTime and endTime.
func (p *Parser) ReadBounds() {
	p.Start = p.Instant("startTime", p.PlannedStart)
	p.End = p.Instant("endTime", time.Time{})
	p.CheckBounds("endTime")
}

// CheckBounds records a fault if the end is before the start. path is the element that holds the
// end.
func (p *Parser) CheckBounds(path string) {
	p.CheckRange(path, Quote(p.End.Format(time.RFC3339)), p.Start, p.End)
}

// CheckRange records a fault if both times are given and the end is before the start. path and raw
// are the element of the end and its value.
func (p *Parser) CheckRange(path, raw string, start, end time.Time) {
	if !end.IsZero() && !start.IsZero() && end.Before(start) {
		p.Faults.Add(path, raw, "an instant not before the start "+start.Format(time.RFC3339), "")
	}
}

// Wall returns the schedule of a pattern on the wall clock of the schedule's zone. The
// specification may set the rules for gaps and overlaps. Otherwise, if fixed is true (fixed clock
// times only), a gap shifts and an overlap counts once. If fixed is false, every instant with a
// matching wall clock counts (D-Z6).
func (p *Parser) Wall(pattern engine.Pattern, fixed bool) *engine.Wall {
	if fixed {
		return p.WallBy(pattern, engine.GapShift, engine.OverlapFirst)
	}
	return p.WallBy(pattern, engine.GapSkip, engine.OverlapBoth)
}

// WallBy returns the schedule of a pattern on the wall clock of the schedule's zone. gap and
// overlap are the rules unless the specification sets others.
func (p *Parser) WallBy(pattern engine.Pattern, gap engine.Gap, overlap engine.Overlap) *engine.Wall {
	p.OnWall = &engine.Wall{Pattern: pattern, Zone: p.Zone, Gap: cmp.Or(p.Gap, gap), Overlap: cmp.Or(p.Overlap, overlap)}
	return p.OnWall
}

// ChangesClocks reports whether the zone changes its offset at or after the start of the schedule.
func (p *Parser) ChangesClocks() bool { return engine.Changes(p.Zone, p.Start) }

// FirstValid returns the first of some texts of an element that is valid, in quotes. It returns ""
// if none is valid.
func (p *Parser) FirstValid(element string, texts ...string) string {
	if p.Try == nil {
		return ""
	}
	for _, text := range texts {
		if len(text) < maxShown && p.Try(element, text) {
			return Quote(text)
		}
	}
	return ""
}

// KindsOf says in which other kinds a line is valid, for a message. It returns "" if there is none.
func (p *Parser) KindsOf(line string) string {
	if p.OtherKinds == nil || len(line) > maxShown {
		return ""
	}
	kinds := p.OtherKinds(line)
	if len(kinds) == 0 {
		return ""
	}
	return "the line is valid in the kind " + words.Join(kinds, "and")
}

// AreN returns "are 4", or "is 1", for a sentence about a number of parts.
func AreN(n int) string {
	if n == 1 {
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}
