package agent_test

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/hostile"
)

// hostileNetwork connects to hostile servers by their names, and to the healthy server by any other
// name.
type hostileNetwork struct {
	mssqldb.HostDialer
	servers map[string]*hostile.Server
}

func (n hostileNetwork) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(addr); err == nil && n.servers[host] != nil {
		return n.servers[host].DialContext(ctx, network, addr)
	}
	return n.HostDialer.DialContext(ctx, network, addr)
}

// liveBytes returns the size of the objects on the heap.
func liveBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// One agent runs a job on every hostile target and forty healthy ones at once. Each attempt ends
// within its time limit plus 22 s, the healthy targets end long before, and the agent keeps its
// term.
func TestHostileFleet(t *testing.T) {
	testenv.Long(t)
	const healthy, limit = 40, 15
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // garbage counts
	synctest.Test(t, func(t *testing.T) {
		modes := hostile.Modes()
		network := hostileNetwork{servers: map[string]*hostile.Server{}}
		for i, mode := range modes {
			s := hostile.New(mode)
			s.Pace = 5 * time.Second
			t.Cleanup(s.Close)
			network.servers[fmt.Sprintf("h%d", i)] = s
		}
		f := newFixture(t, testenv.Embedded(t, testenv.Options{Dialer: func(inner mssqldb.HostDialer) mssqldb.HostDialer {
			network.HostDialer = inner
			return network
		}}), healthy)
		for name := range network.servers {
			_, err := targetgroups.On(f.Store).AddMember(t.Context(), "all", targets.Member{
				Membership: targets.Include, Kind: targets.SQLDatabase, Server: name, Database: "d",
			})
			require.NoError(t, err)
		}
		f.startAgent(t, agent.Config{MaxConcurrentTargets: healthy + len(modes)})
		f.AddJob(t, "fleet", []string{"/* EXEC script */ SELECT 1 AS a;"}, timeout(limit), retries(0, 1))
		id := f.Start(t, "fleet")
		most := uint64(0)
		rows := f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
			most = max(most, liveBytes())
			return !rows[0].Active
		})
		ended := 0
		for _, e := range rows {
			if e.TargetType != "SqlDatabase" {
				continue
			}
			ended++
			took := e.EndTime.Sub(e.StartTime)
			if network.servers[e.Server] == nil {
				require.Equal(t, jobs.Succeeded, e.Lifecycle, e.LastMessage)
				require.Less(t, took, 3*time.Second)
				continue
			}
			require.LessOrEqual(t, took, (limit+22)*time.Second, "%s: %s", e.Server, e.LastMessage)
		}
		require.Equal(t, healthy+len(modes), ended)
		var terms int
		f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.terms;", &terms)
		require.Equal(t, 1, terms, "the agent has not lost its term")
		require.Less(t, most, uint64(200<<20), "of the whole process, which includes the embedded server")
		f.CheckInvariants(t, f.Control, false)
	})
}
