package schedule

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// formList returns the names of all forms for a sentence.
func formList() string {
	var names []string
	for _, f := range schedule.Forms() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// lineFlags returns the names of the flags that hold a definition.
func lineFlags() []string {
	var names []string
	for _, l := range lineKinds {
		names = append(names, string(l.kind))
	}
	for _, f := range schedule.Forms() {
		names = append(names, string(f))
	}
	return names
}

// translated translates a definition if kind is the name of a form. Otherwise it returns the
// definition, and no translation. zone is the zone that is given beside the definition.
func translated(kind schedule.Kind, spec, zone string) (schedule.Kind, string, *schedule.Translation, error) {
	isForm := func(f schedule.Form) bool { return strings.EqualFold(string(f), string(kind)) }
	i := slices.IndexFunc(schedule.Forms(), isForm)
	if i < 0 {
		return kind, spec, nil, nil
	}
	t, err := schedule.Translate(schedule.Forms()[i], spec, schedule.TranslateOptions{Zone: zone})
	return t.Kind, t.Spec, &t, err
}

// translate sets the kind and the text of a definition.
func (d *definition) translate(kind schedule.Kind, spec string) (err error) {
	d.kind, d.spec, d.translation, err = translated(kind, spec, d.zone)
	return err
}

// overlapOf returns the policy that is given, or else that of a translation. nil means the default
// of the kind.
func overlapOf(given *string, t *schedule.Translation) *string {
	if t != nil && t.Overlap != "" && given == nil {
		return &t.Overlap
	}
	return given
}

// defined returns the result of a command that stored a definition.
func defined(job, name string, id int64, t *schedule.Translation) output.DefinedSchedule {
	v := output.DefinedSchedule{Job: job, Name: name, ID: id}
	if t != nil {
		v.TranslatedFrom, v.Kind, v.Spec, v.TranslationNotes = string(t.Form), string(t.Kind), t.Spec, t.Notes
	}
	return v
}

// printTranslation prints what a definition was translated to, and what differs.
func printTranslation(w io.Writer, t *schedule.Translation) {
	fmt.Fprintf(w, "Translated from %s: kind %s, %s\n", t.Form, t.Kind, output.OneLine(t.Spec))
	for _, note := range t.Notes {
		fmt.Fprintln(w, output.OneLine(note))
	}
}
