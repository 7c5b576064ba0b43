package agent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// Many idle agents together make as many passes as ten do, and a run starts as soon as with one.
func TestCrowdOfIdleAgents(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 3)
		f.AddJob(t, "job", []string{"SELECT 1;"})
		var passes atomic.Int64
		for range 20 {
			f.startAgent(t, agent.Config{Lease: 10 * time.Second, Alive: func() { passes.Add(1) }})
		}
		time.Sleep(10 * time.Second) // virtual time: all have renewed their terms
		synctest.Wait()
		before := passes.Load()
		const span = 15 * time.Second
		time.Sleep(span)
		synctest.Wait()
		alone := int64(span / (300 * time.Millisecond))
		require.InDelta(t, 10*alone, passes.Load()-before, float64(2*alone), "passes of 20 agents")

		for range 5 {
			rows := f.ended(t, f.Start(t, "job"), time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
			require.Less(t, rows[0].EndTime.Sub(rows[0].CreateTime), 2*time.Second)
			time.Sleep(5 * time.Second)
		}
	})
}
