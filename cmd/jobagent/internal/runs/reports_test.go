package runs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
)

// TestPlanFile: each target and batch has a file of its own, with a name for every file system.
func TestPlanFile(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^step\d+_[A-Za-z0-9._-]{1,150}\.sqlplan$`)
	seen := map[string]bool{}
	for _, server := range []string{"s", "s\\i", "s/i", "tcp:s,1433", "..", "CON", "ß", strings.Repeat("s", 200)} {
		for _, database := range []string{"d", "a/b", "a\\b", "a:b", "x\x00", "../../etc", "D ", strings.Repeat("d", 128) + "1", strings.Repeat("d", 128) + "2"} {
			for batch := 1; batch <= 2; batch++ {
				for n := range 2 {
					var m executions.ExecutionMessage
					m.StepID, m.Server, m.Database = 1, server, database
					name := planFile(m, batch, n)
					require.Regexp(t, safe, name)
					require.False(t, seen[name], name)
					seen[name] = true
				}
			}
		}
	}
}
