package manifest

import (
	"bytes"
	"strings"

	"github.com/jobagent/jobagent/jobs/rollout"
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
