package foreign

import (
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/wording"
)

// The names of the kinds of package schedule that translations use.
const (
	kindElastic        = "elastic"
	kindAzureScheduler = "azure-scheduler"
	kindSAP            = "sap"
	kindCron5          = "cron5"
	kindCron6          = "cron6"
	kindQuartz         = "quartz"
	kindRRule          = "rrule"
)

// Result is a translated text.
type Result struct {
	// Kind is the name of the kind, and Spec is the text of this kind.
	Kind, Spec string
	// Zone is the IANA name of the zone that the text names; empty if it names none. Spec has the
	// zone too, unless it is UTC.
	Zone string
	// CatchUp is the policy for missed runs that the text asks for, or empty. Spec has it too.
	CatchUp string
	// Anchored reports whether the start in Spec is only the beginning of a count, which the text
	// does not name.
	Anchored bool
	// Notes are differences to the meaning in the other system, one sentence each.
	Notes []string
}

// Form is the language of another system.
type Form struct {
	// Name is the name of the form, and Title names the language in a sentence.
	Name, Title string
	// Example is a valid text.
	Example string
	// translate translates a text without surrounding spaces.
	translate func(r *reader)
}

// Forms are all forms.
var Forms = []*Form{&systemd, &eventBridge, &groc, &airflow, &iso8601}

// reader translates one text. The functions of a form add faults, or set the target.
type reader struct {
	syntax.Faults
	form *Form
	text string
	// zone is the zone of clock times: that of the text or else the given one. It is nil if neither
	// is known.
	zone *time.Location
	// named is the zone that the text names; nil if it names none.
	named  *time.Location
	target target
	notes  []string
	// anchored is Result.Anchored.
	anchored bool
}

// Translate translates a text. zone is the zone in which the text is read if it names none; nil
// means UTC. The error is a *syntax.Error with all faults of the text.
func (f *Form) Translate(text string, zone *time.Location) (Result, error) {
	r := &reader{form: f, text: strings.TrimSpace(text), zone: zone}
	switch {
	case len(r.text) > maxText:
		r.fault("", wording.Clip(r.text, 20, wording.Bytes), "a text of at most 16 KiB", "")
	case r.text == "":
		r.fault("", "", f.Title+" such as "+f.Example, "")
	default:
		f.translate(r)
	}
	if err := r.Err(); err != nil {
		return Result{}, err
	}
	out := Result{Kind: r.target.kind, Notes: r.notes, CatchUp: r.target.catchUp, Anchored: r.anchored}
	if r.named != nil {
		out.Zone = r.named.String()
		if r.named != time.UTC {
			r.target.text("timeZone", out.Zone)
		}
	}
	if t := &r.target; t.gap != "" && changes(r.zone) {
		t.text("gap", t.gap)
		t.text("overlap", t.overlap)
	}
	if r.target.catchUp != "" {
		r.target.text("catchUp", r.target.catchUp)
	}
	out.Spec = r.target.spec()
	return out, nil
}

// maxText is the largest size of a text in bytes. The longest one is a timer unit with comments.
const maxText = 16 << 10

// fault records a fault. part is the invalid part of the text, under its name in the form; empty
// means the whole text.
func (r *reader) fault(part, value, allowed, nearest string) {
	path := r.form.Name
	if part != "" {
		path += "." + part
	}
	r.Add(path, syntax.Quote(value), allowed, nearest)
}

// note adds a note.
func (r *reader) note(text string) { r.notes = append(r.notes, text) }

// readZone sets the zone that the text names.
func (r *reader) readZone(part, name string) {
	zone, err := syntax.LoadZone(name)
	if err != nil {
		fault := err.(*syntax.Error).Faults[0] //nolint:errorlint // LoadZone returns no other type
		r.fault(part, name, fault.Allowed, fault.Nearest)
		return
	}
	if r.zone != nil && r.zone.String() != zone.String() {
		r.fault(part, name, "the same zone as the given one, "+r.zone.String(), "")
		return
	}
	r.zone, r.named = zone, zone
}

// changes reports whether clocks change in a zone. nil is UTC.
func changes(zone *time.Location) bool {
	return zone != nil && zone != time.UTC && zone.String() != "UTC" && !strings.HasPrefix(zone.String(), "Etc/")
}

// target is the translated schedule while it is put together.
type target struct {
	kind    string
	members []member
	// gap and overlap are the rules of the other system at changes of clocks. They become part of
	// the text if the clocks of the zone change.
	gap, overlap string
	catchUp      string
}

// member is an element of a specification; value is JSON text.
type member struct{ name, value string }

// text adds an element with a text.
func (t *target) text(name, value string) { t.raw(name, syntax.Quote(value)) }

// raw adds an element with a JSON value.
func (t *target) raw(name, value string) { t.members = append(t.members, member{name, value}) }

// line sets the kind and the element of a kind with a line.
func (t *target) line(kind, line string) {
	t.kind = kind
	name := "cron"
	if kind == kindRRule {
		name = "rrule"
	}
	t.text(name, line)
}

// spec returns the text of the specification: the bare line if the kind accepts it, else JSON.
func (t *target) spec() string {
	switch t.kind {
	case kindCron5, kindCron6, kindQuartz, kindRRule:
		if len(t.members) == 1 {
			v, err := syntax.ReadValue([]byte(t.members[0].value))
			if err == nil {
				return v.Text
			}
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range t.members {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(syntax.Quote(m.name) + ": " + m.value)
	}
	b.WriteByte('}')
	return b.String()
}
