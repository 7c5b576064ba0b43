package sim

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

var (
	sweepFull = flag.Bool("sim.full", false, "sweep every call instead of a sample")
	sweepCall = flag.Int("sim.call", 0, "sweep only the call with this number")
)

// sweepScripts are the scripts of two steps. The first one fails once on db2.
var sweepScripts = []string{
	WriteLedger + `
IF DB_NAME() = N'db2' AND (SELECT COUNT(*) FROM dbo.ledger WHERE run = $(job_execution_id) AND step = 1) = 1
    THROW 50001, N'not yet', 1;`,
	WriteLedger,
}

// sweepLimit is how long a run with one fault may take: a call that is never answered, the expiry
// of a term, the hand-over, and the retries.
const sweepLimit = 3 * time.Minute

// sweepConfig has a short lease.
var sweepConfig = agent.Config{MaxConcurrentTargets: 4, Lease: 10 * time.Second, Grace: 5 * time.Second}

// runOnce starts an agent, runs the job once, and stops the agent. It returns the number of
// control-database calls.
func runOnce(t *testing.T, w *World, what string, plan func(fault.Call) fault.Kind) int {
	t.Helper()
	a := w.StartAgent(t, sweepConfig, plan)
	id := w.Start(t, "sweep")
	root, ended := w.Ended(t, id, sweepLimit)
	if !ended {
		for _, e := range a.Logs.All() {
			t.Logf("%s %s %v", e.Time.Format("15:04:05.000"), e.Message, e.ContextMap())
		}
		t.Fatalf("%s: the run is %s after %s", what, root.Lifecycle, sweepLimit)
	}
	calls := a.Control.Calls()
	require.NoError(t, a.Stop(), what)
	require.Equal(t, jobs.Succeeded, root.Lifecycle, "%s: %s", what, root.LastMessage)
	for _, database := range w.Targets {
		for step := 1; step <= 2; step++ {
			want := 1
			if database == "db2" && step == 1 {
				want = 2
			}
			// An attempt whose outcome is unknown (I8) is repeated, so there may be more rows, but
			// never fewer.
			require.GreaterOrEqual(t, w.Ledger(t, database, id, step), want, "%s: step %d on %s", what, step, database)
		}
	}
	w.Check(t, true)
	return calls
}

// TestSweep makes every control-database call of an agent fail once, in each way. Each run must
// succeed, and no work may be lost.
func TestSweep(t *testing.T) {
	testenv.Long(t)
	for _, kind := range fault.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 3)
				w.AddJob(t, "sweep", sweepScripts, Retries(5, 1))
				calls := runOnce(t, w, "without a fault", nil)
				t.Logf("%d control-database calls", calls)
				step := max(1, calls/5)
				if *sweepFull {
					step = 1
				}
				first, last := 1, calls+calls/4 // a fault adds calls, and the number of calls varies
				if *sweepCall > 0 {
					first, last = *sweepCall, *sweepCall
				}
				for n := first; n <= last && !t.Failed(); n += step {
					name := "(not reached)"
					runOnce(t, w, fmt.Sprintf("call %d, %s", n, kind), func(c fault.Call) fault.Kind {
						if c.N != n {
							return fault.None
						}
						name = c.Name
						return kind
					})
					t.Logf("call %d was %s", n, name)
				}
			})
		})
	}
}

// TestStorm makes every seventh call fail, in a random way. Retries may be used up, but every run
// must end, and no script may run more often than its attempts were counted.
func TestStorm(t *testing.T) {
	seed := *daysSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with -sim.seed=%d", seed)
	lives := 8
	if *sweepFull {
		lives = 200
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(seed, 1))
		w := NewWorld(t, 3)
		w.AddJob(t, "sweep", sweepScripts, Retries(10, 1))
		for range lives {
			start := func() *Agent {
				return w.StartAgent(t, sweepConfig, func(fault.Call) fault.Kind {
					mu.Lock()
					defer mu.Unlock()
					if rng.IntN(7) > 0 {
						return fault.None
					}
					return fault.Kinds[rng.IntN(len(fault.Kinds))]
				})
			}
			a := start()
			id := w.Start(t, "sweep")
			_, ended := w.Ended(t, id, time.Hour)
			require.True(t, ended)
			a.Kill()
			require.NoError(t, a.Stop())
			w.Check(t, false)
		}
		ledgers := map[string]*sql.DB{}
		for _, name := range w.Targets {
			ledgers[name] = w.DB(t, name)
		}
		var audit Audit
		AuditLedgers(t, &audit, w.DB(t, w.Control), ledgers)
		t.Logf("audit: %s", audit)
	})
}
