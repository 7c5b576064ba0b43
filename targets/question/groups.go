package question

import (
	"cmp"
	"errors"
	"slices"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Group is one error, and the targets on which it occurred.
type Group struct {
	// Class is the kind of the error.
	Class targets.Class
	// Message is the error: without the names of server and database if there are several targets.
	Message string
	// Targets are the targets as server/database, in the order of the failures.
	Targets []string
}

// GroupFailures groups failures by their message, the largest group first. Names of a target's
// server and database make no difference.
func GroupFailures(list []Failure) []Group {
	groups := map[string]*Group{}
	var order []*Group
	for _, f := range list {
		d := mssql.Describe(f.Err)
		var unreached *UnreachableError
		if errors.As(f.Err, &unreached) {
			d.Text = unreached.Error()
		}
		whole := d.String()
		message := targets.WithoutNames(whole, f.Target.Server, f.Target.Database)
		g := groups[message]
		if g == nil {
			g = &Group{Class: d.Class, Message: whole}
			groups[message] = g
			order = append(order, g)
		} else {
			g.Message = message
		}
		g.Targets = append(g.Targets, f.Target.String())
	}
	slices.SortStableFunc(order, func(x, y *Group) int { return -cmp.Compare(len(x.Targets), len(y.Targets)) })
	all := make([]Group, len(order))
	for i, g := range order {
		all[i] = *g
	}
	return all
}
