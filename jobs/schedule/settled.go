package schedule

import (
	"strings"
	"time"
)

// Settled is a specification in which a time that is said relative to when the schedule was made (Options.Created) is the instant that
// it meant (D-S14): SAP's "2 hours from now", or a format without a day. Every other one is given back as it is.
func Settled(kind Kind, spec string, opts Options) string {
	p, err := newPlanner(kind, []byte(spec), opts)
	if err != nil || p.dialect.settle == nil {
		return spec
	}
	p.readCommon()
	settled := false
	var parts []string
	for _, m := range p.reader.object.members {
		raw := m.value.raw
		if at, relative := p.dialect.settle(p.parser, m.name, m.value); relative {
			raw, settled = quote(at.UTC().Format(time.RFC3339)), true
		}
		parts = append(parts, quote(m.name)+": "+raw)
	}
	if !settled {
		return spec
	}
	return "{" + strings.Join(parts, ", ") + "}"
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
