package agent_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// The full size: go test ./agent -run TestFleetNoAccountStarvesAnother -fleet.targets=10000
var fleetTargets = flag.Int("fleet.targets", 60, "targets of the large account in TestFleetNoAccountStarvesAnother")

// runFleet runs a fleet over fixtures until the returned function is called or the test ends.
func runFleet(t *testing.T, cfg agent.Config, members ...agent.Member) (stop func()) {
	t.Helper()
	fleet, err := agent.NewFleet(cfg, members, nil, nil, zaptest.NewLogger(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- fleet.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return stop
}

// member makes a fixture a member of a fleet.
func (f *fixture) member(t *testing.T, name string) agent.Member {
	t.Helper()
	return agent.Member{Name: name, Store: f.Store, OpenTools: func(context.Context) (agent.Tools, func(), error) {
		return agents.Tools(t, f.Env, f.Store), func() {}, nil
	}}
}

// One account has many long targets; another one starts a short job: it does not wait for them. A
// third database fails all the time.
func TestFleetNoAccountStarvesAnother(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		big, small := newFixture(t, env, 60), newFixture(t, testenv.Embedded(t, testenv.Options{}), 3)
		for i := range *fleetTargets - 60 { // they wait behind the others, so they need not exist
			_, err := targetgroups.On(big.Store).AddMember(t.Context(), testenv.Group, targets.Member{
				Membership: targets.Include, Kind: targets.SQLDatabase, Server: env.ServerName, Database: fmt.Sprintf("later%05d", i),
			})
			require.NoError(t, err)
		}
		big.AddJob(t, "big", []string{"WAITFOR DELAY '00:10:00';"})
		small.AddJob(t, "small", []string{"WAITFOR DELAY '00:00:01';"})
		away := agent.Member{Name: "away", Store: big.Store, OpenTools: func(context.Context) (agent.Tools, func(), error) {
			return agent.Tools{}, nil, errors.New("the database is away")
		}}
		runFleet(t, agent.Config{MaxConcurrentTargets: 12}, big.member(t, "big"), small.member(t, "small"), away)

		run := big.Start(t, "big")
		running := func() (n int) {
			for _, l := range lifecycles(big.Run(t, run), 1) {
				if l == jobs.InProgress {
					n++
				}
			}
			return n
		}
		big.until(t, run, time.Minute, func(rows []executions.Execution) bool { return running() >= 9 })
		time.Sleep(5 * time.Second) // virtual time
		require.Equal(t, 9, running(), "its floor of 3, and all 6 that are lent; the other floor is kept")
		for i := range 3 {
			id := small.Start(t, "small")
			rows := small.ended(t, id, time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
			took := rows[0].EndTime.Sub(rows[0].CreateTime)
			require.Less(t, took, 5*time.Second, "run %d of the small account", i)
			t.Logf("a run of 1 s of the small account took %s", took)
		}
		require.NoError(t, executions.On(big.Store).Stop(t.Context(), run))
		big.ended(t, run, time.Minute)
	})
}

// Agents work while the job agent is Ready: they stop when it is disabled, start again when it is
// enabled, and end its runs when it is deleted. Operations that others have begun are carried out.
func TestAgentFollowsTheJobAgent(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		ctx := t.Context()
		m := f.member(t, "one")
		m.AccountRequired = true
		var alive heartbeat
		runFleet(t, agent.Config{MaxConcurrentTargets: 4, Alive: alive.beat}, m)
		f.AddJob(t, "short", []string{"SELECT 1;"})
		f.AddJob(t, "long", []string{"WAITFOR DELAY '00:30:00';"})
		state := func(want account.State) {
			t.Helper()
			deadline := time.Now().Add(2 * time.Minute)
			for {
				a, err := account.On(f.Store).Read(ctx)
				require.NoError(t, err)
				if a.State == want {
					return
				}
				require.True(t, time.Now().Before(deadline), "the job agent is %s, want %s", a.State, want)
				time.Sleep(100 * time.Millisecond) // virtual time
			}
		}
		live := func(want int) {
			t.Helper()
			deadline := time.Now().Add(2 * time.Minute)
			for {
				n, err := fleet.On(f.Store).Live(ctx)
				require.NoError(t, err)
				if n == want {
					return
				}
				require.True(t, time.Now().Before(deadline), "%d agents are live, want %d", n, want)
				time.Sleep(100 * time.Millisecond) // virtual time
			}
		}
		id := f.Start(t, "short")
		time.Sleep(time.Minute) // virtual time
		require.Equal(t, jobs.Created, f.Run(t, id)[0].Lifecycle, "the account is required, and there is none")

		_, _, err := account.On(f.Store).Set(ctx, account.Change{Name: "a1"})
		require.NoError(t, err)
		state(account.AgentReady)
		require.Equal(t, jobs.Succeeded, f.ended(t, id, time.Minute)[0].Lifecycle)

		require.NoError(t, account.On(f.Store).Disable(ctx, "repairs"))
		live(0)
		require.NoError(t, account.On(f.Store).Enable(ctx))
		live(1)

		id = f.Start(t, "long")
		f.until(t, id, time.Minute, func(rows []executions.Execution) bool { return len(lifecycles(rows, 1)) == 2 })
		_, err = account.On(f.Store).Delete(ctx, "a1", uuid.Nil)
		require.NoError(t, err)
		state(account.AgentDeleted)
		require.Equal(t, jobs.Canceled, f.Run(t, id)[0].Lifecycle)
		live(0)
		time.Sleep(time.Minute) // virtual time: the agent waits for the next job agent
		_, _, err = account.On(f.Store).Set(ctx, account.Change{Name: "a2"})
		require.NoError(t, err)
		live(1)
		require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "short"), time.Minute)[0].Lifecycle)
		alive.require(t, time.Minute)
	})
}

// An agent whose control database is away says that it is alive, and works when the database is
// back.
func TestAgentIsAliveDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{Dir: t.TempDir()})
		f := newFixture(t, env, 1)
		f.AddJob(t, "short", []string{"SELECT 1;"})
		var alive heartbeat
		f.startAgent(t, agent.Config{Alive: alive.beat})
		require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "short"), time.Minute)[0].Lifecycle)
		env.Restart(t, func() { time.Sleep(time.Hour) }) // virtual time
		require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "short"), 2*time.Minute)[0].Lifecycle)
		alive.require(t, 2*time.Minute)
	})
}

// heartbeat is what calls [agent.Config.Alive].
type heartbeat struct {
	mu      sync.Mutex
	last    time.Time     // of the last call
	longest time.Duration // between two calls
}

func (h *heartbeat) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if !h.last.IsZero() {
		h.longest = max(h.longest, now.Sub(h.last))
	}
	h.last = now
}

// require requires that there never was a longer time than limit without a call.
func (h *heartbeat) require(t *testing.T, limit time.Duration) {
	t.Helper()
	h.beat()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.LessOrEqual(t, h.longest, limit)
}

func TestFleetRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	_, err := agent.NewFleet(agent.Config{MaxConcurrentTargets: -1}, nil, nil, nil, zaptest.NewLogger(t))
	require.ErrorContains(t, err, fmt.Sprintf("invalid max concurrent targets %d", -1))
}
