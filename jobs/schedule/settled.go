package schedule

import (
	"strings"
	"time"
)

// Settled is a specification in which a time that is said relative to when the schedule was made (Options.Created) is the instant that
// it meant (D-S14): SAP's "2 hours from now", or a format without a day. Every other one is given back as it is.
func Settled(kind Kind, spec string, opts Options) string {
	opts.Created = opts.Created.Truncate(time.Second)
	p := parser{kind: kind, opts: opts, faults: &faults{}, plan: &Plan{Kind: kind}, created: opts.Created, activated: opts.Activated}
	if kind != KindSAP || p.open([]byte(spec)) != nil {
		return spec
	}
	p.beside()
	settled := false
	var parts []string
	for _, m := range p.reader.object.members {
		raw := m.value.raw
		if m.name == "time" {
			if at, relative := p.relativeTime(m.value); relative {
				raw, settled = quote(at.UTC().Format(time.RFC3339)), true
			}
		}
		parts = append(parts, quote(m.name)+": "+raw)
	}
	if !settled {
		return spec
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// relativeTime is the instant of a time that depends on when it was said; false for one that does not, or cannot be read.
func (p *parser) relativeTime(v *value) (time.Time, bool) {
	if v.kind == '"' {
		if _, err := parseDate(v.text); err == nil {
			return time.Time{}, false
		}
		return p.readableTime(v, v.text)
	}
	if v.kind != '{' {
		return time.Time{}, false
	}
	m, ok := p.dateObject(v)
	if !ok {
		return time.Time{}, false
	}
	created := p.created
	p.created = created.AddDate(-1, -1, -1)
	other, _ := p.dateObject(v)
	p.created = created
	at := m.in(p.zone)
	return at, !at.Equal(other.in(p.zone))
}

// CalendarNames are the calendars that a specification names.
func CalendarNames(spec string) []string {
	v, err := readValue([]byte(spec))
	if err != nil {
		return nil
	}
	var names []string
	member := func(v *value, name string) *value {
		for _, m := range v.members {
			if m.name == name {
				return m.value
			}
		}
		return &value{}
	}
	list := member(member(v, "blackouts"), "calendars")
	for _, item := range append([]*value{list}, list.items...) {
		if item.kind == '"' {
			names = append(names, item.text)
		}
	}
	return names
}
