package runs

import (
	"cmp"
	"slices"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// GroupErrors groups the targets that did not succeed by step and message, and sorts the groups of
// a step by their size. It removes the names of server and database from the message, so that the
// same error on many targets is one group; the error of a single target stays whole.
func GroupErrors(rows []executions.Execution) []output.ErrorGroup {
	type key struct {
		step           int
		state, message string
	}
	groups := map[key]*output.ErrorGroup{}
	var order []*output.ErrorGroup
	resolved := map[int]bool{} // steps with targets; the rows of these steps repeat their targets' errors
	for _, e := range rows {
		if e.IsTarget() {
			resolved[*e.StepID] = true
		}
	}
	for _, e := range rows {
		bad := e.Lifecycle.IsFailure() || e.Lifecycle == jobs.Canceled ||
			e.Lifecycle == jobs.WaitingForRetry
		if e.TargetType == "" || !bad || e.TargetType == "TargetGroup" && resolved[*e.StepID] {
			continue
		}
		target, message := e.TargetGroup, e.LastMessage
		if e.IsTarget() {
			target = e.Place()
			message = targets.WithoutNames(message, e.Server, e.Database)
		}
		k := key{*e.StepID, string(e.Lifecycle), message}
		g := groups[k]
		if g != nil {
			g.Message = message
		} else {
			g = &output.ErrorGroup{StepID: k.step, State: k.state, Message: e.LastMessage}
			groups[k] = g
			order = append(order, g)
		}
		g.Count++
		g.Targets = append(g.Targets, target)
	}
	slices.SortStableFunc(order, func(x, y *output.ErrorGroup) int {
		return cmp.Or(cmp.Compare(x.StepID, y.StepID), -cmp.Compare(x.Count, y.Count))
	})
	return output.Each(order, func(g *output.ErrorGroup) output.ErrorGroup { return *g })
}
