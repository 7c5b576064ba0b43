package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/rollout"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// LoadPlan reads the plan of roll-outs of a job from YAML or JSON: what a job of a file has in
// rollout. The error is Faults, with the places in the text, whose name is display.
func LoadPlan(display string, raw []byte) (*rollout.Plan, error) {
	docs, fault := parseText(display, raw, true)
	if fault != nil {
		return nil, Faults{*fault}
	}
	if len(docs) != 1 || docs[0].kind != kindMap {
		return nil, Faults{{Place: Place{File: display}, Message: "want one mapping, such as {waves: [{name: canary, targets: 3}]}"}}
	}
	var b bytes.Buffer
	d := decoder{file: display}
	if !d.writeJSON(&b, docs[0], "") {
		return nil, d.faults
	}
	c := checker{object: Object{node: docs[0], Source: Place{File: display, Line: 1, Column: 1}}}
	plan := c.readPlan(b.String(), "")
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	return plan, nil
}

// PlanYAML returns a plan as YAML, without the members that have their defaults.
func PlanYAML(plan *rollout.Plan) string {
	var b strings.Builder
	docs, _ := parseJSON(plan.Short()) // the package wrote it
	writeMap(&b, docs[0], "")
	return b.String()
}

// Files have kinds only, because export writes what is stored: a translation at apply would make
// the file and the export differ. A field that is named as a form is refused, with the field to
// write in its place.

// isForm reports whether a name is that of a form of schedules.
func isForm(name string) bool { return slices.Contains(schedule.Forms(), schedule.Form(name)) }

// untranslated returns the fault of a field that is named as a form. zone is the field zone beside
// it; nil if there is none.
func untranslated(form string, value, zone *node) string {
	refused := fmt.Sprintf("%s is a language that is translated, and files have the translation", form)
	o := schedule.TranslateOptions{}
	if zone != nil {
		o.Zone = zone.text
	}
	t, err := schedule.Translate(schedule.Form(form), value.text, o)
	if err != nil {
		return fmt.Sprintf("%s; this text has none: %v", refused, err)
	}
	spec := t.Spec
	if !strings.HasPrefix(spec, "{") {
		if quoted, err := json.Marshal(spec); err == nil {
			spec = string(quoted)
		}
	}
	return fmt.Sprintf("%s: write %s: %s", refused, strings.ReplaceAll(string(t.Kind), "-", "_"), spec)
}
