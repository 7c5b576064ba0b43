//go:build unix

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// A long run: go test ./cmd/jobagent -run TestStops -stops.duration=20m -timeout 30m -v
var (
	stopsDuration = flag.Duration("stops.duration", 0, "how long TestStops breaks processes, after one round without failures")
	stopsSeed     = flag.Uint64("stops.seed", 0, "seed of TestStops; 0: a new one")
)

const (
	stopsDatabase = "stops"
	// stopsScript does not respond to an attention, and does not end with its connection.
	stopsScript = `/* deaf */ SET NOCOUNT ON;
WAITFOR DELAY '00:00:20';
INSERT INTO dbo.finished (run) VALUES ($(job_execution_id));`
	stopsScriptTime           = 20 * time.Second
	stopsByHand, stopsByLimit = "stopped by hand", "stopped by its time limit"
)

// stopsServer is a server whose scripts cannot be canceled with an attention, and how it shows
// sessions to the agent.
type stopsServer struct {
	name    string
	cfg     tsqld.Config
	servers int // behind the one address
	// ends is what must be told of a script that was stopped: "ended", "unknown", or empty for
	// either. In each case it must be true.
	ends    string
	address string
	opened  []*sql.DB

	mu      sync.Mutex
	scripts []string // that have arrived
}

// runs reports whether the script of a run has arrived.
func (s *stopsServer) runs(run uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.scripts, func(text string) bool { return strings.Contains(strings.ToLower(text), run.String()) })
}

// TestStops stops scripts of agents that are processes, on servers that show their sessions in
// different ways. A script that was reported as ended must not have continued: its ledger must have
// no later row. With -stops.duration, agents and their connections fail during the test.
func TestStops(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	fleet := []*stopsServer{
		{name: "shows sessions", ends: "ended", servers: 1},
		{name: "shows 63 bytes of program_name", cfg: tsqld.Config{ProgramName: 63}, ends: "ended", servers: 1},
		{name: "shows 20 bytes of program_name", cfg: tsqld.Config{ProgramName: 20}, ends: "unknown", servers: 1},
		{name: "shows the own session only", cfg: tsqld.Config{OwnSessionsOnly: true}, ends: "unknown", servers: 1},
		{name: "one of two servers", servers: 2},
	}
	const password = "Only-4-tests"
	dir := t.TempDir()
	settings, err := json.Marshal(map[string]any{
		"targets":     map[string]any{"trust_server_certificate": true},
		"credentials": []config.Credential{{Name: "stops", Servers: []string{"*"}, User: "sa", Secret: "file:" + filepath.Join(dir, "password")}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte(password), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), settings, 0o600))
	c := newCrash(t, *stopsSeed, startDev(t, t.TempDir(), "127.0.0.1:0", "--config", filepath.Join(dir, "config.json")))
	c.dir = dir
	store := c.server.store(t)
	_, err = targetgroups.On(store).Add(t.Context(), "all")
	require.NoError(t, err)
	for _, s := range fleet {
		s.start(t, password)
		_, err := targetgroups.On(store).AddMember(t.Context(), "all", targets.Member{Membership: targets.Include,
			Kind: targets.SQLDatabase, Server: s.address, Database: stopsDatabase})
		require.NoError(t, err)
	}
	c.addJob(store, stopsByHand, 0, 1, stopsScript)
	c.addJob(store, stopsByLimit, 0, 1, stopsScript)
	step, limit, credential := 1, 2, "stops"
	for _, u := range []model.StepSpec{
		{JobName: stopsByHand, StepID: &step, Credential: &credential},
		{JobName: stopsByLimit, StepID: &step, Credential: &credential, Timeout: &limit},
	} {
		_, err = catalog.On(store).UpdateJobStep(t.Context(), u)
		require.NoError(t, err)
	}
	c.startAgents(2)

	for _, job := range []string{stopsByHand, stopsByLimit} {
		id, err := executions.On(store).StartJob(t.Context(), job, uuid.New())
		require.NoError(t, err)
		c.started = append(c.started, id)
	}
	eventually(t, time.Minute, "the scripts run", func() bool {
		return !slices.ContainsFunc(fleet, func(s *stopsServer) bool { return !s.runs(c.started[0]) })
	})
	running := time.Now()
	require.NoError(t, executions.On(store).Stop(t.Context(), c.started[0]))
	c.settle(store)
	pause(time.Until(running.Add(stopsScriptTime + time.Second))) // scripts that go on have ended then
	c.auditStops(fleet, true)

	if *stopsDuration == 0 {
		return
	}
	turn := 0
	c.breakThings(*stopsDuration, 5*time.Second, func() {
		turn++
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		switch turn % 40 {
		case 0:
			if id, err := executions.On(store).StartJob(ctx, []string{stopsByHand, stopsByLimit}[turn/40%2], uuid.New()); err == nil {
				c.started = append(c.started, id)
			}
		case 20:
			_ = executions.On(store).Stop(ctx, c.started[len(c.started)-1]) // refused if the run has ended
		}
	})
	c.settle(store)
	pause(stopsScriptTime + time.Second)
	c.auditStops(fleet, false)
	t.Logf("%d runs; events: %s", len(c.started), counted(c.counts))
}

// auditStops compares what the control database says of ended scripts with the ledgers. Without
// failures it also expects that the end of a script is known where the server shows it.
func (c *crash) auditStops(fleet []*stopsServer, quiet bool) {
	t := c.t
	control := c.server.open(t, embedded.ControlDatabase)
	found, err := invariant.Find(t.Context(), control, true)
	require.NoError(t, err)
	require.Empty(t, found)
	known, unknown := 0, 0
	for _, s := range fleet {
		finished := s.finished(t)
		rows, err := control.QueryContext(t.Context(), `
SELECT o.job_execution_id, o.lifecycle, o.outcome_unknown, e.last_message
FROM jobs.job_execution_outcomes AS o
INNER JOIN jobs.job_executions AS e ON e.job_execution_id = o.job_execution_id AND e.step_id = o.step_id AND e.target_id = o.target_id
WHERE e.target_server_name = @p1;`, s.address)
		require.NoError(t, err)
		for rows.Next() {
			var (
				run                mssqldb.UniqueIdentifier
				lifecycle, message string
				isUnknown          bool
			)
			require.NoError(t, rows.Scan(&run, &lifecycle, &isUnknown, &message))
			switch {
			case lifecycle == "Succeeded":
			case isUnknown:
				unknown++
			default:
				known++
				require.Zero(t, finished[uuid.UUID(run)], "%s: told as %s, and ran on: %s", s.name, lifecycle, message)
			}
			if quiet {
				require.Contains(t, []string{"Canceled", "TimedOut"}, lifecycle, message)
			}
			if quiet && s.ends != "" && !strings.Contains(message, "had not been sent") {
				require.Equal(t, s.ends == "unknown", isUnknown, "%s: %s: %s", s.name, lifecycle, message)
				if isUnknown {
					require.Contains(t, message, "did not find it, which proves nothing")
					require.Equal(t, 1, finished[uuid.UUID(run)], "%s: the script went on", s.name)
				}
			}
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	t.Logf("%d scripts were told to have ended, and of %d it was told that it is not known", known, unknown)
}

// finished counts the scripts that ran to their end, by run.
func (s *stopsServer) finished(t *testing.T) map[uuid.UUID]int {
	counts := map[uuid.UUID]int{}
	for _, db := range s.opened {
		rows, err := db.QueryContext(t.Context(), "SELECT run FROM dbo.finished;")
		require.NoError(t, err)
		for rows.Next() {
			var run mssqldb.UniqueIdentifier
			require.NoError(t, rows.Scan(&run))
			counts[uuid.UUID(run)]++
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	return counts
}

// start starts the servers and the address that leads to them, each connection to the next one.
func (s *stopsServer) start(t *testing.T, password string) {
	var addresses []string
	s.cfg.SAPassword = password
	s.cfg.Fault = func(p tsqld.Point) error {
		switch isScript := strings.Contains(p.Request, "/* deaf */"); {
		case isScript && p.Kind == tsqld.OnAttention:
			return errors.New("deaf")
		case isScript && p.Kind == tsqld.BeforeStatement:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.scripts = append(s.scripts, p.Request)
		}
		return nil
	}
	for range s.servers {
		server, err := tsqld.New(s.cfg)
		require.NoError(t, err)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		t.Cleanup(func() {
			require.NoError(t, server.Close(context.Background()))
			<-served
		})
		addresses = append(addresses, l.Addr().String())
		open := func(database string) *sql.DB {
			dsn := fmt.Sprintf("sqlserver://sa:%s@%s?database=%s&TrustServerCertificate=true", password, l.Addr(), database)
			db, err := sql.Open("sqlserver", dsn)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		}
		_, err = open("master").ExecContext(t.Context(), "CREATE DATABASE "+stopsDatabase+";")
		require.NoError(t, err)
		s.opened = append(s.opened, open(stopsDatabase))
		_, err = s.opened[len(s.opened)-1].ExecContext(t.Context(), "CREATE TABLE dbo.finished (run UNIQUEIDENTIFIER NOT NULL);")
		require.NoError(t, err)
	}
	s.address = strings.Replace(addresses[0], ":", ",", 1)
	if len(addresses) > 1 {
		s.address = strings.Replace(balance(t, addresses), ":", ",", 1)
	}
}

// balance returns an address that leads to all of the addresses in turn.
func balance(t *testing.T, addresses []string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-ended
	})
	var accepted atomic.Int64
	go func() {
		defer close(ended)
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addresses[int(accepted.Add(1))%len(addresses)])
			if err != nil {
				_ = client.Close()
				continue
			}
			copyTo := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // ends with either connection
				_, _ = to.Close(), from.Close()
			}
			go copyTo(server, client)
			go copyTo(client, server)
		}
	}()
	return l.Addr().String()
}
