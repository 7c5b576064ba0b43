package doctor

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	sqlfs "github.com/jobagent/jobagent/sql"
)

// TestAgentCalls: the examination tries every object that the role jobs_agent may use.
func TestAgentCalls(t *testing.T) {
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	var granted, tried []string
	for _, o := range objects {
		if o.Name == "jobs_agent" {
			for _, m := range regexp.MustCompile(`ON OBJECT::(\S+) TO`).FindAllStringSubmatch(o.Text, -1) {
				granted = append(granted, m[1])
			}
		}
	}
	require.NotEmpty(t, granted)
	for _, a := range agentCalls {
		tried = append(tried, a.object)
	}
	require.ElementsMatch(t, granted, tried)
}
