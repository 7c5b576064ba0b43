package agent_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// transientOnly restricts the retries of a step to transient errors.
func transientOnly(s *model.StepSpec) { s.RetryErrors = ptr("Transient") }

// The class of an error decides whether another attempt follows: errors of a real script, a lock
// that another session holds, and a connection that breaks before the script is sent.
func TestRetriesByClassOfError(t *testing.T) {
	all := func(*model.StepSpec) {}
	const broken = "SELECT 1 / 0;"
	for name, c := range map[string]struct {
		script    string
		step      func(*model.StepSpec)
		refuses   bool // the first connections of attempts break
		lifecycle jobs.Lifecycle
		attempts  int
		message   string
	}{
		"permanent, all": {broken, all, false, jobs.Failed, 3, "Divide by zero error encountered."},
		"permanent": {broken, transientOnly, false, jobs.Failed, 1,
			"Divide by zero error encountered. Not retried: the error 8134 is not transient (@retry_errors)."},
		"lock":       {"SET LOCK_TIMEOUT 0;\nUPDATE dbo.t SET n = 2;", transientOnly, false, jobs.Succeeded, 2, ""},
		"connection": {"SELECT 1;", transientOnly, true, jobs.Succeeded, 2, ""},
		"raised": {"THROW 50000, N'no', 1;", transientOnly, false, jobs.Failed, 1,
			"no. Not retried: the error 50000 is not transient (@retry_errors)."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cut atomic.Bool
				env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
					if c.refuses && strings.Contains(p.App, " run=") && cut.CompareAndSwap(false, true) {
						return tsqld.ErrClose // before anything of the script was sent
					}
					return nil
				}})
				f := newFixture(t, env, 1)
				f.exec(t, f.Targets[0], "CREATE TABLE dbo.t (n INT); INSERT INTO dbo.t (n) VALUES (1);")
				holder, err := f.DB(t, f.Targets[0]).BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = holder.ExecContext(t.Context(), "UPDATE dbo.t SET n = 3;")
				require.NoError(t, err)
				f.AddJob(t, "j", []string{c.script}, retries(2, 20), c.step)
				f.startAgent(t, slowPolling)
				id := f.Start(t, "j")
				f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
					return len(rows) > 2 && rows[2].Attempts == 1 && rows[2].Lifecycle != jobs.InProgress
				})
				require.NoError(t, holder.Rollback())
				rows := f.ended(t, id, 2*time.Minute)
				require.Equal(t, c.lifecycle, rows[2].Lifecycle, rows[2].LastMessage)
				require.Equal(t, c.attempts, rows[2].Attempts)
				require.Contains(t, rows[2].LastMessage, c.message)
			})
		})
	}
}

// An action has the classes of its kind: an answer that says "later" is transient, a body that does
// not count as success is not.
func TestRetriesByClassOfAnswer(t *testing.T) {
	busy := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	actionBubble(t, 0, busy, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "busy", "", `{"url": "http://api.example.com:8080/busy", "allow_http": true}`, retries(2, 1), transientOnly)
		f.addAction(t, "empty", "", `{"url": "http://api.example.com:8080/", "allow_http": true, "success": {"body_matches": "done"}}`, retries(2, 1), transientOnly)
		rows := f.ended(t, f.startWith(t, "busy", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[2].Lifecycle)
		require.Equal(t, 3, rows[2].Attempts)
		require.NotContains(t, rows[2].LastMessage, "Not retried")
		rows = f.ended(t, f.startWith(t, "empty", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[2].Lifecycle)
		require.Equal(t, 1, rows[2].Attempts)
		require.Contains(t, rows[2].LastMessage, "is not transient")
	})
}
