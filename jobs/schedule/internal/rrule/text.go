package rrule

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Dialect is the dialect of RFC 5545.
var Dialect = syntax.Dialect{
	Elements: []string{"rrule", "startTime", "endTime", "count"},
	Line:     "rrule",
	Read:     read,
}

// read parses a rule and the elements that the command line adds.
func read(p *syntax.Parser) engine.Schedule {
	startGiven := p.Reader.Has("startTime")
	v := p.Reader.Take("rrule")
	p.ReadBounds()
	p.ReadCount(p.Reader)
	if v == nil {
		p.Faults.Add("rrule", "null", Forms, "")
		return nil
	}
	text, ok := p.Reader.Text(v, Forms)
	if !ok {
		return nil
	}
	return Read(p, v, text, startGiven)
}

// Read returns the schedule of a text: a rule, or lines of RFC 5545 with the properties DTSTART,
// RRULE, RDATE and EXDATE. startGiven means that p.Start is an element beside the text, which
// DTSTART must equal.
func Read(p *syntax.Parser, v *syntax.Value, text string, startGiven bool) engine.Schedule {
	t := readText(p, v, text)
	if t == nil {
		return nil
	}
	t.readStart(startGiven)
	startIsCreation := p.Start.IsZero()
	if startIsCreation {
		p.Start, p.StartCreated = p.NeedCreation(v.Path()+".DTSTART"), true
	}
	p.Start = p.Start.Truncate(time.Second)
	t.readDates()
	if t.rule == "" && len(t.added) > 0 {
		return t.combine(nil, nil)
	}
	r := readParts(p, v, t.rule)
	if r == nil || !t.readLimits(r) {
		return nil
	}
	inner := r.build(p, v, startIsCreation)
	if inner == nil || len(p.Faults.List) > 0 {
		return nil
	}
	return t.combine(r, inner)
}

// lines are the lines of a text by their properties.
type lines struct {
	p *syntax.Parser
	v *syntax.Value

	rule             string
	start            *line
	dates, exclusion []line

	startIsDate     bool
	added, excluded []int64 // Unix seconds, ascending
}

// line is a content line: NAME;PARAMETER=VALUE:VALUE.
type line struct{ text, name, parameters, value string }

// properties are the properties of a rule.
var properties = []string{"DTSTART", "RRULE", "RDATE", "EXDATE"}

// startsProperty matches the beginning of a line with a property of a rule.
var startsProperty = regexp.MustCompile(`(?i)^(?:DTSTART|RRULE|RDATE|EXDATE|EXRULE)[;:]`)

// unfold returns the content lines of a text. A line that begins with a space or tab continues the
// line before it (RFC 5545, 3.1). A property that is merely indented is a line of its own.
func unfold(text string) []string {
	var out []string
	var last strings.Builder // a text may have 20,000 folded lines
	end := func() {
		if line := strings.TrimSpace(last.String()); line != "" {
			out = append(out, line)
		}
		last.Reset()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		folded := line != "" && (line[0] == ' ' || line[0] == '\t')
		switch {
		case folded && last.Len() > 0 && !startsProperty.MatchString(trimmed):
			last.WriteString(line[1:])
		case trimmed != "":
			end()
			last.WriteString(line)
		}
	}
	end()
	return out
}

// cutLine splits a content line. A colon in quotes does not end the parameters.
func cutLine(text string) (line, bool) {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			name, parameters, _ := strings.Cut(text[:i], ";")
			return line{text: text, name: strings.ToUpper(strings.TrimSpace(name)), parameters: parameters, value: strings.TrimSpace(text[i+1:])}, true
		}
	}
	return line{text: text}, false
}

// readText sorts the lines of a text by their properties. It returns nil after a fault.
func readText(p *syntax.Parser, v *syntax.Value, text string) *lines {
	before := p.Faults.Count()
	t := &lines{p: p, v: v}
	hasRule := false
	for _, content := range unfold(text) {
		l, ok := cutLine(content)
		switch {
		case ok && l.name == "DTSTART" && t.start == nil:
			t.start = &l
		case ok && l.name == "DTSTART":
			p.Contradict(v.Path()+".DTSTART", syntax.Quote(l.value), "one DTSTART; the start is given by the line before", "the last one is used")
			t.start = &l
		case ok && l.name == "RDATE":
			t.dates = append(t.dates, l)
		case ok && l.name == "EXDATE":
			t.exclusion = append(t.exclusion, l)
		case ok && l.name == "RRULE" && !hasRule:
			t.rule, hasRule = l.value, true
		case !ok && !hasRule:
			t.rule, hasRule = content, true
		case l.name == "RRULE" || !ok && strings.Contains(content, "="):
			p.Faults.Add(v.Path(), syntax.Quote(content), "one rule; a second rule is a schedule of its own", "")
		default:
			t.refuse(content, l)
		}
	}
	if p.Faults.Count() > before {
		return nil
	}
	return t
}

// refuse records the fault of a line that is not a property of a rule.
func (t *lines) refuse(content string, l line) {
	if t.p.Faults.Skip() {
		return
	}
	allowed, near := "a rule, or lines with "+strings.Join(properties, ", "), ""
	switch {
	case l.name == "EXRULE":
		allowed = "RRULE, RDATE and EXDATE; RFC 5545 has no EXRULE any more: use EXDATE, or a blackout with this rule"
	case l.name == "BEGIN" || l.name == "END":
		allowed += " of one event, without BEGIN and END; jobagent import icalendar reads a whole calendar"
	case slices.Contains(partNames, l.name):
		if near = nearPart("", content, "", false); near != "" {
			allowed = "parts NAME=value"
		}
	case slices.Contains([]string{"SUMMARY", "UID", "DTEND", "DURATION", "DTSTAMP", "DESCRIPTION", "LOCATION", "STATUS", "SEQUENCE", "TRANSP", "CREATED", "LAST-MODIFIED"}, l.name):
		allowed += "; " + l.name + " says nothing about the start of a run"
	default:
		if near = suggest.Nearest(l.name, properties); near != "" {
			near += content[len(l.name):]
		}
	}
	t.p.Faults.Add(t.v.Path(), syntax.Quote(content), allowed, near)
}

// parameters parses the parameters of a line: VALUE, and TZID as the zone of its values.
func (t *lines) parameters(l line, values ...string) (value string, zone *time.Location) {
	path := t.v.Path() + "." + l.name
	zone = t.p.Zone
	for parameter := range strings.SplitSeq(l.parameters, ";") {
		name, content, _ := strings.Cut(parameter, "=")
		content = strings.Trim(content, `"`) // RFC 5545, 3.2: a value may be in quotes
		switch strings.ToUpper(strings.TrimSpace(name)) {
		case "":
		case "VALUE":
			if value = strings.ToUpper(content); !slices.Contains(values, value) {
				t.p.Faults.Add(path+".VALUE", syntax.Quote(content), "one of "+strings.Join(values, ", "), "")
			}
		case "TZID":
			if t.p.Faults.Full() {
				continue // a search for the nearest zone takes long
			}
			found, err := syntax.LoadZone(content)
			if err != nil {
				t.p.MergeAt(path+".TZID", err)
				continue
			}
			zone = found
		default:
			if t.p.Faults.Skip() {
				continue
			}
			t.p.Faults.Add(path, syntax.Quote(parameter), "the parameters TZID and VALUE", "")
		}
	}
	return value, zone
}

// readStart parses DTSTART. given means that the start is also an element beside the text.
func (t *lines) readStart(given bool) {
	if t.start == nil {
		return
	}
	p, path := t.p, t.v.Path()+".DTSTART"
	before := p.Faults.Count()
	_, zone := t.parameters(*t.start, "DATE-TIME", "DATE")
	switch tzid := zone != p.Zone; {
	case p.Faults.Count() > before:
	case tzid && p.ZoneGiven && zone.String() != p.Zone.String():
		p.Faults.Add(path+".TZID", syntax.Quote(zone.String()), "the same zone as timeZone, "+p.Zone.String(), "")
	case tzid || strings.Contains(strings.ToUpper(t.start.parameters), "TZID="):
		p.Zone, p.ZoneGiven = zone, true
	}
	m, err := syntax.ParseDate(t.start.value)
	if err != nil {
		p.Faults.Add(path, syntax.Quote(t.start.value), "a date and time such as 20260131T080000Z", "")
		return
	}
	at := m.In(p.Zone)
	if given && !p.Start.IsZero() && !at.Equal(p.Start) {
		p.Contradict(path, syntax.Quote(t.start.value), "the same instant as startTime, "+p.Start.Format(time.RFC3339), "DTSTART is used")
	}
	p.Start, t.startIsDate = at, !m.HasTime
}
