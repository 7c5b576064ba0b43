package sqlfs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessagesNameParameters: a message names a parameter by @ and its exact name, so that the
// command line can put its own word in place of it. In messages that authors see, it is a parameter
// of a public procedure, also where an internal procedure throws.
func TestMessagesNameParameters(t *testing.T) {
	all, err := DescribeAll()
	require.NoError(t, err)
	public := map[string]bool{}
	for _, d := range all {
		if d.Kind == KindProcedure && !strings.HasPrefix(d.Name, "jobs_internal.") {
			for _, p := range d.Parameters {
				public[p.Name] = true
			}
		}
	}
	require.Greater(t, len(public), 100)
	literal := regexp.MustCompile(`N'((?:[^']|'')*)'`)
	name := regexp.MustCompile(`@\w+`)
	for _, d := range all {
		if d.Kind != KindProcedure {
			continue
		}
		own := map[string]bool{}
		for _, p := range d.Parameters {
			own[p.Name] = true
		}
		for _, m := range literal.FindAllStringSubmatch(code(d.Object), -1) {
			for _, p := range name.FindAllString(m[1], -1) {
				forAgents := own[p] && strings.HasPrefix(d.Name, "jobs_internal.") // agents read their own messages
				require.True(t, public[p] || forAgents, "%s: %q names no parameter of a public procedure: %s", d.File, p, m[1])
			}
		}
	}
}
