package agent_test

import (
	"flag"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// What idle agents cost: go test ./agent -run TestCrowdOfIdleAgents -v -crowd.agents 100
var crowdAgents = flag.Int("crowd.agents", 20, "agents in TestCrowdOfIdleAgents")

// calls counts the requests that a server gets, by the procedure that they call.
type calls struct {
	mu     sync.Mutex
	byName map[string]int
}

// count is a [testenv.Options.Fault].
func (c *calls) count(p tsqld.Point) error {
	if p.Kind == tsqld.BeforeStatement {
		name := "(batch)"
		if p.Call != nil {
			name = p.Request
		}
		c.mu.Lock()
		c.byName[name]++
		c.mu.Unlock()
	}
	return nil
}

// take returns the counts since the last call.
func (c *calls) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.byName
	c.byName = map[string]int{}
	return taken
}

// Many idle agents together make as many passes as ten do, and a run starts as soon as with one.
func TestCrowdOfIdleAgents(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		c := &calls{byName: map[string]int{}}
		f := newFixture(t, testenv.Embedded(t, testenv.Options{Fault: c.count}), 3)
		f.AddJob(t, "job", []string{"SELECT 1;"})
		for range *crowdAgents {
			f.startAgent(t, agent.Config{})
		}
		time.Sleep(20 * time.Second) // virtual time: all have renewed their terms
		synctest.Wait()
		c.take()
		const span = 15 * time.Second
		time.Sleep(span)
		synctest.Wait()
		made, all := c.take(), 0
		for _, name := range slices.Sorted(maps.Keys(made)) {
			all += made[name]
			t.Logf("%6.1f a second: %s", float64(made[name])/span.Seconds(), name)
		}
		t.Logf("%6.1f a second: all calls of %d agents", float64(all)/span.Seconds(), *crowdAgents)
		alone := int(span / (300 * time.Millisecond))
		require.InDelta(t, min(10, *crowdAgents)*alone, made["jobs_internal.controller_pass"], float64(2*alone), "passes")

		for range 5 {
			rows := f.ended(t, f.Start(t, "job"), time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
			require.Less(t, rows[0].EndTime.Sub(rows[0].CreateTime), 2*time.Second)
			time.Sleep(5 * time.Second)
		}
	})
}

// Many agents with running scripts make about as many passes by time as ten do.
func TestCrowdOfBusyAgents(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		const agents, each = 20, 2
		c := &calls{byName: map[string]int{}}
		f := newFixture(t, testenv.Embedded(t, testenv.Options{Fault: c.count}), agents*each)
		f.AddJob(t, "job", []string{"WAITFOR DELAY '00:00:05';"})
		for range agents {
			f.startAgent(t, agent.Config{MaxConcurrentTargets: each})
		}
		time.Sleep(20 * time.Second) // virtual time: all have renewed their terms
		id := f.Start(t, "job")
		time.Sleep(time.Second)
		synctest.Wait()
		c.take()
		const span = 1500 * time.Millisecond // within two seconds of the claims
		time.Sleep(span)
		synctest.Wait()
		ofTen := int(10 * span / (50 * time.Millisecond))
		require.InDelta(t, ofTen, c.take()["jobs_internal.controller_pass"], float64(ofTen/3), "passes")
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
	})
}
