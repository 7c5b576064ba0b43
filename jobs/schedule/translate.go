package schedule

import (
	"errors"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/foreign"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Form is the language of another system in which a schedule can be given. A form is not stored:
// its text is translated to a text of a kind, which is shown and stored. FORMS.md describes all
// forms.
type Form string

// The forms, by name.
const (
	// FormSystemd is a calendar event of systemd (OnCalendar=), or the section [Timer] of a unit.
	FormSystemd Form = "systemd"
	// FormEventBridge is a schedule expression of AWS EventBridge: cron(...), rate(...) or at(...).
	FormEventBridge Form = "eventbridge"
	// FormGroc is a schedule of cron.yaml of Google App Engine.
	FormGroc Form = "groc"
	// FormAirflow is the argument schedule of a DAG of Apache Airflow.
	FormAirflow Form = "airflow"
	// FormISO8601 is a repeating interval of ISO 8601, or its length alone.
	FormISO8601 Form = "iso8601"
)

// Forms returns every form.
func Forms() []Form {
	var all []Form
	for _, f := range foreign.Forms {
		all = append(all, Form(f.Name))
	}
	return all
}

// Example returns a valid text of a form; empty for an unknown form.
func (f Form) Example() string {
	if found := formOf(string(f)); found != nil {
		return found.Example
	}
	return ""
}

// formOf returns the form of a name in any case, or nil.
func formOf(name string) *foreign.Form {
	for _, f := range foreign.Forms {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// TranslateOptions holds values that the text of a form may omit.
type TranslateOptions struct {
	// Zone is the name of the zone in which the text is read if it names none. Empty means UTC.
	Zone string
}

// Translation is a text of a form as a text of a kind. Both have the same due instants.
type Translation struct {
	// Form is the form of the text.
	Form Form
	// Kind and Spec are the translation. Spec is complete: it also has the zone that the text
	// names, the rules for changes of clocks and the policies. The zone of TranslateOptions is not
	// in it.
	Kind Kind
	Spec string
	// Zone is the IANA name of the zone that the text names; empty if it names none.
	Zone string
	// CatchUp is the policy for missed runs that the text asks for; empty if it asks for none. Spec
	// has it too.
	CatchUp string
	// Overlap is the policy while an earlier run is active, where the kind has another default than
	// the cron kinds; else it is empty. It is not in Spec, which has no element for it.
	Overlap string
	// Notes are differences to the meaning in the other system that the reader must know, one
	// sentence each.
	Notes []string

	// anchored reports whether a start in Spec is only the beginning of a count.
	anchored bool
}

// Translate translates a text of a form to the text of a kind. The form refuses a text that no kind
// expresses exactly. The error is a *Error with every fault of the text.
func Translate(form Form, text string, o TranslateOptions) (Translation, error) {
	f := formOf(string(form))
	if f == nil {
		faults := &syntax.Faults{}
		var names []string
		for _, f := range Forms() {
			names = append(names, string(f))
		}
		faults.Add("form", syntax.Quote(string(form)), "one of "+strings.Join(names, ", "), suggest.Nearest(string(form), names))
		return Translation{}, faults.Err()
	}
	var zone *time.Location
	if o.Zone != "" {
		var err error
		if zone, err = LoadZone(o.Zone); err != nil {
			return Translation{}, err
		}
	}
	r, err := f.Translate(text, zone)
	if err != nil {
		return Translation{}, err
	}
	t := Translation{Form: Form(f.Name), Kind: Kind(r.Kind), Spec: r.Spec, Zone: r.Zone, CatchUp: r.CatchUp, Notes: r.Notes, anchored: r.Anchored}
	if t.Kind == KindSAP {
		t.Overlap = "Skip" // SAP's own default starts a run beside the active one
	}
	if _, err := Parse(t.Kind, []byte(t.Spec), Options{Zone: o.Zone, Uncounted: true, assumed: assumedCreation, probing: true}); err != nil {
		return Translation{}, untranslated(f, text, t, err)
	}
	return t, nil
}

// assumedCreation is the creation for which a translation is parsed. Its instants are not used.
var assumedCreation = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// untranslated returns the error for a text whose translation is refused: it is never due, or it is
// beyond a limit of the kind.
func untranslated(f *foreign.Form, text string, t Translation, err error) error {
	faults := &syntax.Faults{}
	var all *Error
	if !errors.As(err, &all) {
		faults.Merge(f.Name, err)
		return faults.Err()
	}
	for _, fault := range all.Faults {
		if part, ok := strings.CutPrefix(fault.Path, "cron."); ok {
			faults.Add(f.Name+"."+part, fault.Value, fault.Allowed, fault.Nearest) // a field as it was given
		}
	}
	if len(faults.List) == 0 {
		faults.Add(f.Name, syntax.Quote(text), "a text that the kind "+string(t.Kind)+" accepts; its translation "+t.Spec+" is refused ("+all.Faults[0].Allowed+")", "")
	}
	return faults.Err()
}
