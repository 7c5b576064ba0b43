package schedule

import (
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// Settled replaces a time relative to the creation of the schedule (Options.Created) by the instant
// that it means (D-S14), and returns the new specification. Such times are SAP's "2 hours from
// now", or a format without a day. Any other specification is returned unchanged.
func Settled(kind Kind, spec string, opts Options) string {
	p, err := newPlanner(kind, []byte(spec), opts)
	if err != nil || p.dialect.Settle == nil {
		return spec
	}
	p.readCommon()
	settled := false
	var parts []string
	for _, m := range p.Reader.Object.Members {
		raw := m.JSON()
		if at, relative := p.dialect.Settle(p.Parser, m.Name, m); relative {
			raw, settled = syntax.Quote(at.UTC().Format(time.RFC3339)), true
		}
		parts = append(parts, syntax.Quote(m.Name)+": "+raw)
	}
	if !settled {
		return spec
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// CalendarNames returns the names of the calendars that a specification refers to.
func CalendarNames(spec string) []string {
	v, err := syntax.ReadValue([]byte(spec))
	if err != nil {
		return nil
	}
	list := v.Get("blackouts")
	if list != nil {
		list = list.Get("calendars")
	}
	if list == nil {
		return nil
	}
	var names []string
	for _, item := range append([]*syntax.Value{list}, list.Items...) {
		if item.Kind == '"' {
			names = append(names, item.Text)
		}
	}
	return names
}
