package testenv_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/fleet"
)

// openFleet returns the agent's runner and resolver on a fleet. A nil dialer connects by TCP.
func openFleet(t *testing.T, dialer mssqldb.HostDialer) (*mssql.Runner, *mssql.Resolver) {
	t.Helper()
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "jobs", "secret", "*"))
	require.NoError(t, err)
	control := mssql.Instance{Server: "elsewhere", Database: "control"}
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: dialer, Control: control})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return mssql.NewRunner(servers, targets.Limits{}), mssql.NewResolver(servers, control)
}

// on returns an attempt of a script on a database of a server.
func on(server, database string) mssql.Attempt {
	return mssql.Attempt{Attempt: targets.Attempt{
		Target: targets.NewTarget(server, database, ""), Command: "UPDATE dbo.t SET n = 1;", Session: "run 1, step 1, job",
	}}
}

// closing returns a fleet that is closed when the test ends.
func closing(t *testing.T, cfg fleet.Config) *fleet.Fleet {
	t.Helper()
	f := fleet.New(cfg)
	t.Cleanup(f.Close)
	return f
}

// The agent lists the databases of each server and runs a script on each once.
func TestFleetAgentsClient(t *testing.T) {
	t.Parallel()
	const each = 300
	var mu sync.Mutex
	ran := map[string]int{}
	f := closing(t, fleet.Config{Databases: each, OnScript: func(database string, failed bool) {
		mu.Lock()
		defer mu.Unlock()
		require.False(t, failed)
		ran[database]++
	}})
	runner, resolver := openFleet(t, nil)
	var members []targets.Member
	for range 2 {
		server, err := f.Listen(t.Context())
		require.NoError(t, err)
		members = append(members, targets.Member{Membership: targets.Include, Kind: targets.SQLServer, Server: server})
	}
	list, err := resolver.Resolve(t.Context(), members)
	require.NoError(t, err)
	require.Len(t, list, 2*each)
	for _, target := range list[:3] {
		res := runner.Run(t.Context(), on(target.Server, target.Database))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Error)
	}
	require.Equal(t, map[string]int{fleet.Name(0): 1, fleet.Name(1): 1, fleet.Name(2): 1}, ran)
	require.Equal(t, 3, f.Counts().Scripts)
	// Sessions end with their scripts. One pool for each list is left.
	require.LessOrEqual(t, f.Counts().Most, 4)
}

func TestFleetDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(fleet.Config{Delay: time.Minute})
		defer f.Close()
		runner, _ := openFleet(t, f)
		first := time.Now()
		const n = 50
		for i := range n {
			began := time.Now()
			require.Equal(t, targets.Succeeded, runner.Run(t.Context(), on("s", fleet.Name(i))).Outcome)
			require.GreaterOrEqual(t, time.Since(began), 30*time.Second)
			require.LessOrEqual(t, time.Since(began), 90*time.Second+time.Millisecond)
		}
		require.InDelta(t, time.Minute, time.Since(first)/n, float64(8*time.Second), "the average of many")
	})
}

func TestFleetFailuresAndRefusals(t *testing.T) {
	t.Parallel()
	f := closing(t, fleet.Config{Failures: 0.25, Refusals: 0.25, Seed: 7})
	runner, _ := openFleet(t, f)
	const n = 400
	count := map[targets.Outcome]int{}
	for i := range n {
		count[runner.Run(t.Context(), on("s", fleet.Name(i))).Outcome]++
	}
	c := f.Counts()
	require.Equal(t, count[targets.Failed], c.Failed+c.Refused)
	require.Equal(t, n, c.Scripts+c.Refused)
	require.InDelta(t, n/4, c.Refused, 40)
	require.InDelta(t, c.Scripts/4, c.Failed, 40)
}

// A stop request ends a script by an attention.
func TestFleetAttention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(fleet.Config{Delay: time.Hour, OnScript: func(string, bool) { t.Error("the script ended") }})
		defer f.Close()
		runner, _ := openFleet(t, f)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(time.Minute, func() { cancel(targets.ErrStopRequested) })
		defer stop.Stop()
		began := time.Now()
		res := runner.Run(ctx, on("s", "d"))
		require.Equal(t, targets.Canceled, res.Outcome, res.Error)
		require.Less(t, time.Since(began), time.Minute+time.Second)
		require.Equal(t, fleet.Counts{Attentions: 1, Most: 1}, f.Counts())
	})
}

// Close ends connections whose scripts run.
func TestFleetClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(fleet.Config{Delay: time.Hour})
		runner, _ := openFleet(t, f)
		ended := make(chan targets.Result, 1)
		go func() { ended <- runner.Run(t.Context(), on("s", "d")) }()
		time.Sleep(time.Minute) // virtual time: the script runs
		f.Close()
		require.Equal(t, targets.Unknown, (<-ended).Outcome)
		res := runner.Run(t.Context(), on("s", "d"))
		require.Equal(t, targets.Failed, res.Outcome)
		_, err := f.Listen(t.Context())
		require.Error(t, err)
	})
}
