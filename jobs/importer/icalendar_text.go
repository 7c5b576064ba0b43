package importer

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// maxICalendarText is the length of an iCalendar file, in bytes.
const maxICalendarText = 2 << 20

// maxComponents is the largest number of components of an iCalendar file.
const maxComponents = 1000

// maxRules is the largest number of RRULEs of an event. RFC 5545, 3.8.5.3, advises against more
// than one. Each becomes a schedule that repeats the dates of the event.
const maxRules = 10

// maxDates is the largest number of dates in the RDATEs and EXDATEs of all events, once for each
// rule of the event.
const maxDates = 120_000

// icalComponent is a component of iCalendar (RFC 5545, 3.6), such as VCALENDAR or VEVENT.
type icalComponent struct {
	name       string
	line       int // of BEGIN
	properties []icalProperty
	components []*icalComponent
}

// icalProperty is a content line: NAME;PARAMETER=VALUE:VALUE.
type icalProperty struct {
	name       string
	parameters map[string]string // by name in upper case; lists keep their commas
	value      string
}

// parseICalendar parses the components on the top level of a text. The error contains no part of
// the text.
func parseICalendar(text string) ([]*icalComponent, error) {
	if len(text) > maxICalendarText {
		return nil, fmt.Errorf("it has %d bytes: at most %d MB are read", len(text), maxICalendarText>>20)
	}
	top := &icalComponent{}
	open := []*icalComponent{top}
	count := 0
	for _, l := range unfoldLines(text) {
		p, ok := icalLine(l.text)
		if !ok {
			return nil, fmt.Errorf("invalid iCalendar at line %d: want NAME:VALUE", l.number)
		}
		last := open[len(open)-1]
		name := strings.ToUpper(strings.TrimSpace(p.value))
		switch {
		case p.name == "BEGIN":
			if count++; len(open) > maxDepth || count > maxComponents {
				return nil, fmt.Errorf("invalid iCalendar at line %d: more than %d components, or %d levels of them", l.number, maxComponents, maxDepth)
			}
			c := &icalComponent{name: name, line: l.number}
			last.components = append(last.components, c)
			open = append(open, c)
		case p.name == "END" && len(open) > 1 && last.name == name:
			open = open[:len(open)-1]
		case p.name == "END" || len(open) == 1:
			return nil, fmt.Errorf("invalid iCalendar at line %d: want components from BEGIN to their END", l.number)
		default:
			last.properties = append(last.properties, p)
		}
	}
	if len(open) > 1 {
		return nil, fmt.Errorf("invalid iCalendar: the component of line %d has no END", open[len(open)-1].line)
	}
	return top.components, nil
}

// contentLine is an unfolded line with the number of its first line.
type contentLine struct {
	text   string
	number int
}

// unfoldLines returns the content lines of a text. A line that begins with a blank continues the
// line before it (RFC 5545, 3.1).
func unfoldLines(text string) (list []contentLine) {
	number := 0
	var last strings.Builder // a file in an event may have thousands of lines
	end := func() {
		if len(list) > 0 {
			list[len(list)-1].text = last.String()
		}
		last.Reset()
	}
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line != "" && (line[0] == ' ' || line[0] == '\t') && len(list) > 0:
			last.WriteString(line[1:])
		case strings.TrimSpace(line) != "":
			end()
			list = append(list, contentLine{number: number})
			last.WriteString(line)
		}
	}
	end()
	return list
}

// icalLine splits a content line. A parameter in quotes may have colons and semicolons.
func icalLine(text string) (p icalProperty, ok bool) {
	p.parameters = map[string]string{}
	quoted, begin := false, 0
	for i := range len(text) {
		c := text[i]
		if c == '"' {
			quoted = !quoted
		}
		if quoted || c != ':' && c != ';' {
			continue
		}
		part := text[begin:i]
		begin = i + 1
		if p.name == "" {
			if p.name = strings.ToUpper(strings.TrimSpace(part)); p.name == "" {
				return p, false
			}
		} else {
			name, value, _ := strings.Cut(part, "=")
			p.parameters[strings.ToUpper(strings.TrimSpace(name))] = strings.Trim(value, `"`)
		}
		if c == ':' {
			p.value = text[begin:]
			return p, true
		}
	}
	return p, false
}

func (c *icalComponent) find(name string) (list []icalProperty) {
	for _, p := range c.properties {
		if p.name == name {
			list = append(list, p)
		}
	}
	return list
}

// text returns the text of the first property with a name (RFC 5545, 3.3.11).
func (c *icalComponent) text(name string) string {
	list := c.find(name)
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";").Replace(list[0].value))
}

// icalTime is a value of the type DATE-TIME or DATE. zone is its IANA zone; it is empty for a
// floating time.
type icalTime struct {
	wall time.Time // the clock time, as if in UTC
	date bool
	zone string
}

// icalZones resolves the values of TZID: names of IANA and of Windows, and those of VTIMEZONE by
// X-LIC-LOCATION.
type icalZones struct {
	places map[string]string // X-LIC-LOCATION by TZID
}

// resolve returns the IANA zone of a TZID. Some programs put a path before the IANA name.
func (z icalZones) resolve(id string) (string, bool) {
	for _, name := range []string{id, z.places[id]} {
		name = strings.Trim(strings.TrimSpace(name), "/")
		for name != "" {
			if zone, err := Zone(name); err == nil {
				return zone, true
			}
			_, rest, found := strings.Cut(name, "/")
			if !found {
				break
			}
			name = rest
		}
	}
	return "", false
}

// times parses the values of a property: one, or a list. Of a period only the start counts.
func (z icalZones) times(p icalProperty) (list []icalTime, problem string) {
	zone := ""
	if id := p.parameters["TZID"]; id != "" {
		var ok bool
		if zone, ok = z.resolve(id); !ok {
			return nil, fmt.Sprintf("the zone %q of %s is not known here: it has rules of its own, or none", id, p.name)
		}
	}
	for item := range strings.SplitSeq(p.value, ",") {
		text, _, _ := strings.Cut(strings.TrimSpace(item), "/")
		t := icalTime{zone: zone}
		var err error
		switch {
		case len(text) == 8:
			t.wall, err = time.Parse("20060102", text)
			t.date, t.zone = true, ""
		case strings.HasSuffix(text, "Z"):
			t.wall, err = time.Parse("20060102T150405Z", text)
			t.zone = "UTC"
		default:
			t.wall, err = time.Parse("20060102T150405", text)
		}
		if err != nil {
			return nil, fmt.Sprintf("invalid %s: want a date and time such as 20260131T080000", p.name)
		}
		list = append(list, t)
	}
	return list, ""
}

// instant returns the instant of a time. A floating time is in the zone floating.
func (t icalTime) instant(floating string) (time.Time, error) {
	location, err := schedule.LoadZone(cmp.Or(t.zone, floating))
	if err != nil {
		return time.Time{}, err
	}
	return localInstant(t.wall, location), nil
}

// in returns a time as a value for a schedule of a zone. floating is the zone of floating times.
func (t icalTime) in(zone, floating string) (string, error) {
	switch {
	case t.date:
		return t.wall.Format("20060102"), nil
	case zone == "UTC" && t.zone == "UTC":
		return t.wall.Format("20060102T150405Z"), nil
	case cmp.Or(t.zone, floating) == zone:
		return t.wall.Format("20060102T150405"), nil
	}
	at, err := t.instant(floating)
	return at.UTC().Format("20060102T150405Z"), err
}

// fileStem returns the name of a file without folders and extension.
func fileStem(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}
