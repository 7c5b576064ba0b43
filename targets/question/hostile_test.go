package question_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
	"github.com/jobagent/jobagent/testenv/hostile"
)

// Whatever a target sends, its question ends within the time limit plus the wait for the
// acknowledgment, the other targets answer, and the error is one line.
func TestHostileTargets(t *testing.T) {
	t.Parallel()
	modes := hostile.Modes()
	whole := len(modes) // of those behind it, no answer can be used
	for _, stream := range hostile.Streams() {
		modes = append(modes, hostile.Of(stream))
	}
	const limit = 15 * time.Second
	for i, mode := range modes {
		t.Run(mode.Name, func(t *testing.T) {
			for _, asking := range []mssql.Asking{{ReadOnly: true}, {Admit: true}} {
				for _, text := range []string{"SELECT 1 AS n", "EXEC script"} {
					synctest.Test(t, func(t *testing.T) {
						server := hostile.New(mode)
						server.Pace = 500 * time.Millisecond
						defer server.Close()
						f := &fixture{}
						q := reading(t, text)
						q.Asking, q.Timeout, q.MaxRows = asking, limit, 1000
						began := time.Now()
						sum, err := q.Ask(t.Context(), f.dial(t, server), []targets.Target{targets.NewTarget("s", "d", "")}, &lines{})
						require.NoError(t, err)
						require.LessOrEqual(t, time.Since(began), limit+22*time.Second)
						require.LessOrEqual(t, sum.Rows, int64(1000))
						if i >= whole {
							require.Len(t, sum.Failures, 1)
						}
						for _, g := range question.GroupFailures(sum.Failures) {
							require.NotContains(t, g.Message, "\n")
							require.NotContains(t, g.Message, "secret")
						}
					})
				}
			}
		})
	}
}
