package sim

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// alone is a script of two minutes that fails if it already runs on its target.
const alone = `
DECLARE @lock INT;
EXECUTE @lock = sp_getapplock @Resource = N'alone', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
IF @lock < 0
    THROW 50000, N'the script runs twice', 1;
` + WriteLedger + `
WAITFOR DELAY '00:02:00';
EXECUTE sp_releaseapplock @Resource = N'alone', @LockOwner = N'Session';`

// gapWorld is a world whose server has a clock that can jump, and a disk that can be full.
type gapWorld struct {
	*World
	jump atomic.Int64 // difference of the clock, in nanoseconds
	full atomic.Bool
}

func newGapWorld(t *testing.T, n int) *gapWorld {
	t.Helper()
	g := &gapWorld{}
	g.World = newWorld(t, n, testenv.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(g.jump.Load())) },
		Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.BeforeCommit && g.full.Load() {
				return errors.New("no space left on device")
			}
			return nil
		},
	})
	return g
}

// twoAgents starts two agents, of which each can run one script, and a run of the job "long", whose
// script is alone, on two targets. It returns when both scripts run.
func (g *gapWorld) twoAgents(t *testing.T) (agents [2]*Agent, run uuid.UUID) {
	t.Helper()
	for i := range agents {
		agents[i] = g.StartAgent(t, agent.Config{MaxConcurrentTargets: 1, Prefetch: 1}, nil)
	}
	g.AddJob(t, "long", []string{alone}, Retries(3, 1))
	run = g.Start(t, "long")
	g.began(t, run)
	return agents, run
}

// began waits until the scripts of a run have begun on all targets.
func (g *gapWorld) began(t *testing.T, run uuid.UUID) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, database := range g.Targets {
			if g.Ledger(t, database, run, 1) != 1 {
				return false
			}
		}
		return true
	}, 10*time.Second, 100*time.Millisecond)
}

// undisturbed checks that a run has ended with one attempt on each target, and that no agent has
// lost its term.
func (g *gapWorld) undisturbed(t *testing.T, run uuid.UUID, agents ...*Agent) {
	t.Helper()
	root, ended := g.Ended(t, run, 5*time.Minute)
	require.True(t, ended)
	require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
	for _, e := range g.Run(t, run) {
		if e.Database != "" {
			require.Equal(t, 1, e.Attempts, e.LastMessage)
			require.Equal(t, 1, g.Ledger(t, e.Database, run, 1))
		}
	}
	for _, a := range agents {
		require.Len(t, a.Logs.FilterMessage("term started").All(), 1)
		require.Empty(t, a.Logs.FilterMessage("core failed, restarting").All())
	}
}

// The clock of the control database jumps ahead by more than a lease while scripts run. No term
// ends, and no script is stopped or started again. After that, the work of a killed agent is handed
// over as ever.
func TestClockJumpsAhead(t *testing.T) {
	testenv.Long(t)
	for _, by := range []time.Duration{20 * time.Second, 10 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				g.jump.Add(int64(by))
				g.undisturbed(t, run, agents[:]...)
				g.killOne(t, agents)
				g.Check(t, true)
			})
		})
	}
}

// killOne kills the first agent, and checks that the other one has its work within two leases.
func (g *gapWorld) killOne(t *testing.T, agents [2]*Agent) {
	t.Helper()
	run := g.Start(t, "long")
	g.began(t, run)
	agents[0].Kill()
	root, ended := g.Ended(t, run, 2*time.Minute+2*30*time.Second+2*time.Minute)
	require.True(t, ended)
	require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
	began := 0
	for _, database := range g.Targets {
		began += g.Ledger(t, database, run, 1)
	}
	require.Equal(t, 3, began, "the script that was running began again")
}

// The clock of the control database jumps back. What was due stays due, what waits for a retry
// waits as long as before, and the work of an agent that is killed then is handed over within two
// leases.
func TestClockJumpsBack(t *testing.T) {
	testenv.Long(t)
	for _, by := range []time.Duration{20 * time.Second, 10 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				// Both agents are busy, so the targets of this run wait.
				g.AddJob(t, "waiting", []string{WriteLedger})
				waiting := g.Start(t, "waiting")
				<-time.After(5 * time.Second)
				g.jump.Add(-int64(by))
				g.undisturbed(t, run, agents[:]...)
				root, ended := g.Ended(t, waiting, time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				g.killOne(t, agents)
				found, err := invariant.Find(t.Context(), g.DB(t, g.Control), true)
				require.NoError(t, err)
				require.Empty(t, found)
			})
		})
	}
}

// The clock jumps back while the only attempt of a run waits for its retry, and right after an
// agent was killed.
func TestClockJumpsBackWhileSomethingWaits(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		g := newGapWorld(t, 2)
		agents, _ := g.twoAgents(t)
		third := g.StartAgent(t, agent.Config{MaxConcurrentTargets: 2}, nil)
		g.AddJob(t, "failing", []string{WriteLedger + " THROW 50000, N'not yet', 1;"}, Retries(1, 20))
		failing := g.Start(t, "failing")
		require.Eventually(t, func() bool {
			list := g.Run(t, failing)
			return len(list) == 4 && list[2].Lifecycle == jobs.WaitingForRetry && list[3].Lifecycle == jobs.WaitingForRetry
		}, 10*time.Second, 100*time.Millisecond)
		agents[0].Kill()
		g.jump.Add(-int64(time.Hour))
		began := time.Now()
		_, ended := g.Ended(t, failing, time.Minute)
		require.True(t, ended)
		require.Greater(t, time.Since(began), 15*time.Second, "the wait before the retry is kept")
		require.Eventually(t, func() bool {
			rows, err := fleet.On(g.Store).List(t.Context())
			require.NoError(t, err)
			expired := 0
			for _, a := range rows {
				if a.EndReason == "Expired" {
					expired++
				}
			}
			return expired == 1
		}, 2*30*time.Second, 100*time.Millisecond, "the killed agent's term ends within two leases")
		require.NoError(t, third.Stop())
	})
}

// Nobody can write to the control database for longer than a lease. The agents see that it is so,
// no script is stopped, and each outcome is recorded afterwards.
func TestNobodyCanWrite(t *testing.T) {
	testenv.Long(t)
	for _, outage := range []time.Duration{20 * time.Second, 100 * time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGapWorld(t, 2)
				agents, run := g.twoAgents(t)
				<-time.After(7 * time.Second)
				g.full.Store(true)
				<-time.After(outage)
				g.full.Store(false)
				g.undisturbed(t, run, agents[:]...)
				g.killOne(t, agents)
				g.Check(t, true)
			})
		})
	}
}

// Nobody can write for longer than a lease, and one agent gets no answer either: it cannot know
// that its term lasts, so it stops its script. That one starts again after it has ended.
func TestNobodyCanWriteAndOneAgentIsSilent(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		g := newGapWorld(t, 2)
		agents, run := g.twoAgents(t)
		<-time.After(7 * time.Second)
		g.full.Store(true)
		agents[0].Control.Silence()
		<-time.After(50 * time.Second)
		g.full.Store(false)
		agents[0].Control.Heal()
		root, ended := g.Ended(t, run, 6*time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
		var attempts []int
		for _, e := range g.Run(t, run) {
			if e.Database != "" {
				attempts = append(attempts, e.Attempts)
				require.Equal(t, e.Attempts, g.Ledger(t, e.Database, run, 1), "each attempt got the lock")
			}
		}
		require.ElementsMatch(t, []int{1, 2}, attempts)
		require.Len(t, agents[0].Logs.FilterMessage("term started").All(), 2)
		require.Len(t, agents[1].Logs.FilterMessage("term started").All(), 1)
		g.Check(t, true)
	})
}
