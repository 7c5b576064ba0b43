package definitions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/triggers"
)

// A job that several jobs start is below each of them, and what it starts is shown once.
func TestGraphOfTriggers(t *testing.T) {
	roots := graphOfTriggers([]triggers.Trigger{
		{JobName: "d", Name: "t4", Upstreams: []string{"c"}},
		{JobName: "b", Name: "t1", Upstreams: []string{"a"}},
		{JobName: "c", Name: "t2", Upstreams: []string{"a", "b"}},
		{JobName: "z", Name: "t3", Upstreams: []string{"x"}},
	}, func(job string) string { return "/" + job })
	var lines []string
	var walk func(list []*triggerNode, indent string)
	walk = func(list []*triggerNode, indent string) {
		for _, n := range list {
			line := indent + n.Job
			if n.Trigger != nil {
				line += " " + n.Trigger.Name
			}
			if n.Above {
				line += " above"
			}
			lines = append(lines, line)
			walk(n.Then, indent+" ")
		}
	}
	walk(roots, "")
	require.Equal(t, []string{"a", " b t1", "  c t2", "   d t4", " c t2 above", "x", " z t3"}, lines)
	require.Equal(t, "/b", roots[0].Then[0].Href)
	require.Empty(t, graphOfTriggers(nil, nil))
}
