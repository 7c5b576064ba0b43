//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// The full proof:
//
//	go test ./cmd/jobagent -run TestAccountsSurviveKills -accounts.count=1000 -v
var (
	accountsCount = flag.Int("accounts.count", 8, "creations and deletions of accounts, each, in TestAccountsSurviveKills")
	accountsPause = flag.Duration("accounts.pause", 400*time.Millisecond, "average time between two kills of TestAccountsSurviveKills")
	accountsSeed  = flag.Uint64("accounts.seed", 0, "seed of TestAccountsSurviveKills; 0: a new one")
)

const (
	accountDatabases = 4
	accountFronts    = 2
	accountAgents    = 2
	accountsSub      = "00000000-1111-2222-3333-444444444444"
	accountsServer   = "/subscriptions/" + accountsSub + "/resourceGroups/rg1/providers/Microsoft.Sql/servers/server1"
	accountsVersion  = "?api-version=2020-11-01-preview"
)

// accountCrash is one run of the harness.
type accountCrash struct {
	t         *testing.T
	dir       string
	server    *devProcess
	token     string
	addresses [accountFronts]string
	http      *http.Client
	// args start each process: the fronts, then the agents.
	args [][]string

	mu        sync.Mutex
	processes []*crashAgent

	retries, accepted, canceled atomic.Int64
}

// TestAccountsSurviveKills creates and deletes accounts through REST, while fronts and agents are
// killed at random (kill -9). In the end every account is Ready or gone, and none is half made.
func TestAccountsSurviveKills(t *testing.T) {
	testenv.Long(t)
	seed := *accountsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	c := newAccountCrash(t)
	var workers sync.WaitGroup
	var left, created, deleted atomic.Int64
	left.Store(int64(*accountsCount))
	stores := make([]*controldb.Store, accountDatabases)
	for i := range stores {
		stores[i] = c.store(i)
	}
	started := time.Now()
	stop := c.killAtRandom(rand.New(rand.NewPCG(seed, 1)))
	for i, store := range stores {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)+2))
			defined := false
			for n := 0; left.Add(-1) >= 0; n++ {
				name := fmt.Sprintf("account%d-%d", i, n%3)
				c.settle(rng, http.MethodPut, i, name)
				created.Add(1)
				if !defined {
					defined = c.define(store, i)
				}
				if defined && rng.IntN(4) == 0 {
					c.startRun(store)
				}
				if left.Load() > 0 || i%2 == 0 { // some accounts are left
					c.settle(rng, http.MethodDelete, i, name)
					deleted.Add(1)
				}
			}
		})
	}
	workers.Wait()
	kills := stop()
	t.Logf("%d creations and %d deletions in %s; %d kills, %d requests repeated, %d answers 202, %d runs canceled by deletions",
		created.Load(), deleted.Load(), time.Since(started).Round(time.Second), kills, c.retries.Load(), c.accepted.Load(), c.canceled.Load())
	for i, store := range stores {
		c.audit(store, i)
	}
}

// newAccountCrash starts a server, fronts and agents.
func newAccountCrash(t *testing.T) *accountCrash {
	c := &accountCrash{t: t, dir: t.TempDir(), http: &http.Client{Timeout: 40 * time.Second}}
	data := t.TempDir()
	c.server = startDev(t, data, "127.0.0.1:0")
	master := c.server.open(t, "master")
	var databases []map[string]any
	for i := range accountDatabases {
		c.server.create(t, master, accountDatabase(i))
		c.server.create(t, master, fmt.Sprintf("target%d", i))
		databases = append(databases, map[string]any{
			"name": accountDatabase(i), "dsn": c.server.dsn(accountDatabase(i)), "subscription": accountsSub, "resource_group": "rg1",
			"server": "server1", "location": "onprem", "install": true, "implicit_agent": "",
		})
	}
	tokens := filepath.Join(c.dir, "tokens.json")
	c.token = c.createToken(tokens)
	file := map[string]any{
		"control_databases": databases,
		"rest":              map[string]any{"token_file": tokens, "limits": map[string]any{"off": true}},
		"targets":           map[string]any{"default_credential": embedded.TargetLogin, "trust_server_certificate": true},
		"credentials": []config.Credential{{
			Name: embedded.TargetLogin, Servers: []string{"*"}, User: embedded.TargetLogin,
			Secret: "file:" + filepath.Join(data, embedded.TargetPasswordFile),
		}},
		"agent": map[string]any{"lease": "3s", "grace": "1s", "max_concurrent_targets": "8"},
	}
	text, err := json.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(c.dir, "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	for i := range c.addresses {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		c.addresses[i] = l.Addr().String()
		require.NoError(t, l.Close())
		c.args = append(c.args, []string{"serve", "--insecure-http", "--listen", c.addresses[i], "--config", path})
	}
	for range accountAgents {
		c.args = append(c.args, []string{"run", "--config", path})
	}
	c.processes = make([]*crashAgent, len(c.args))
	for i := range c.args {
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.args {
			c.kill(i)
		}
		c.http.CloseIdleConnections()
		if t.Failed() {
			logs, err := filepath.Glob(filepath.Join(c.dir, "*.log"))
			require.NoError(t, err)
			for _, name := range logs {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				t.Logf("%s: …%s", filepath.Base(name), text[max(0, len(text)-4000):])
			}
		}
	})
	return c
}

// accountDatabase returns the name of a control database.
func accountDatabase(i int) string { return fmt.Sprintf("account%d", i) }

// command returns a process of the command.
func (c *accountCrash) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"=", config.EnvConfig+"=")
	return cmd
}

// createToken makes the token of an administrator.
func (c *accountCrash) createToken(file string) string {
	var made struct {
		Token string `json:"token"`
	}
	out, err := c.command("token", "create", "admin", "--role", "admin", "--scope", "/", "--file", file, "-o", "json").Output()
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(out, &made))
	require.NotEmpty(c.t, made.Token)
	return made.Token
}

// start starts process i.
func (c *accountCrash) start(i int) {
	log, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("%s%d.log", c.args[i][0], i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(c.t, err)
	defer log.Close()
	cmd := c.command(c.args[i]...)
	cmd.Stderr = log
	require.NoError(c.t, cmd.Start())
	p := &crashAgent{cmd: cmd, ended: make(chan struct{})}
	go func() { // ends with the process; kill waits for it
		defer close(p.ended)
		_ = cmd.Wait() // the process was killed
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[i] = p
}

// kill kills process i and waits for its end.
func (c *accountCrash) kill(i int) {
	c.mu.Lock()
	p := c.processes[i]
	c.mu.Unlock()
	_ = p.cmd.Process.Kill() // the process may have ended
	<-p.ended
}

// killAtRandom kills a process from time to time and starts it again, until the returned function
// is called, which returns the number of kills.
func (c *accountCrash) killAtRandom(rng *rand.Rand) (stop func() int) {
	ctx, cancel := context.WithCancel(c.t.Context())
	kills := make(chan int)
	go func() { // ends with ctx; stop waits for it
		n := 0
		defer func() { kills <- n }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(rng.ExpFloat64() * float64(*accountsPause))):
			}
			i := rng.IntN(len(c.args))
			c.kill(i)
			n++
			pause(time.Duration(rng.Int64N(int64(*accountsPause)/2 + 1)))
			c.start(i)
		}
	}()
	return func() int {
		cancel()
		return <-kills
	}
}

// store opens the store of a control database until the test ends.
func (c *accountCrash) store(i int) *controldb.Store {
	store, err := controldb.New(controldb.Config{DSN: c.server.dsn(accountDatabase(i))})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, store.Close()) })
	return store
}

// send sends a request to some front. status is 0 without an answer.
func (c *accountCrash) send(rng *rand.Rand, method, path, body string) (status int, code string, header http.Header) {
	url := path
	if strings.HasPrefix(path, "/") {
		url = "http://" + c.addresses[rng.IntN(accountFronts)] + path
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, url, bytes.NewReader([]byte(body)))
	require.NoError(c.t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", nil
	}
	var answer struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
		Properties struct {
			State string `json:"state"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(text, &answer) // the status alone tells that the answer is none of ours
	if answer.Error.Code == "" {
		answer.Error.Code = answer.Properties.State
	}
	return res.StatusCode, answer.Error.Code, res.Header
}

// settle creates (PUT) or deletes (DELETE) an account as a client with retries does, until it is
// Ready or gone.
func (c *accountCrash) settle(rng *rand.Rand, method string, i int, name string) {
	path := accountsServer + "/jobAgents/" + name + accountsVersion
	body := ""
	if method == http.MethodPut {
		body = fmt.Sprintf(`{"location":"onprem","sku":{"name":"JA%d"},"properties":{"databaseId":"%s/databases/%s"}}`,
			1+rng.IntN(50), accountsServer, accountDatabase(i))
	}
	deadline := time.Now().Add(3 * time.Minute)
	for try := 0; ; try++ {
		if time.Now().After(deadline) {
			c.t.Errorf("%s of %s has not ended", method, name)
			return
		}
		status, code, _ := c.send(rng, method, path, body)
		switch {
		case status == 200 || status == 201 || status == 204:
			return
		case status == 202:
			c.accepted.Add(1)
			if c.follow(rng, path, method, deadline) {
				return
			}
		case status == 0 || status >= 500 || status == 409 && code == "OperationInterrupted":
		default:
			c.t.Errorf("%s of %s: status %d, code %s", method, name, status, code)
			return
		}
		c.retries.Add(1)
		pause(time.Duration(20+rng.IntN(80)) * time.Millisecond)
	}
}

// follow polls an account until the operation on it has ended. It reports whether it has succeeded.
func (c *accountCrash) follow(rng *rand.Rand, path, method string, deadline time.Time) bool {
	for time.Now().Before(deadline) {
		status, state, _ := c.send(rng, http.MethodGet, path, "")
		switch {
		case status == 404:
			return method == http.MethodDelete
		case status == 200 && state == "Ready":
			return method == http.MethodPut
		}
		pause(50 * time.Millisecond)
	}
	return false
}

// define defines a job in a control database whose account is Ready. It reports whether that has
// worked.
func (c *accountCrash) define(store *controldb.Store, i int) bool {
	ctx := c.t.Context()
	if _, err := targetgroups.On(store).Add(ctx, "g"); err != nil {
		c.t.Errorf("target group: %v", err)
		return false
	}
	_, err := targetgroups.On(store).AddMember(ctx, "g", targets.Member{
		Membership: targets.Include, Kind: targets.SQLDatabase, Server: strings.Replace(c.server.address, ":", ",", 1),
		Database: fmt.Sprintf("target%d", i),
	})
	if err == nil {
		_, err = catalog.On(store).AddJob(ctx, model.JobSpec{Name: "j"})
	}
	if err == nil {
		name := "s"
		_, err = catalog.On(store).AddJobStep(ctx, model.StepSpec{JobName: "j", StepName: &name, Command: new("WAITFOR DELAY '00:00:01';"), TargetGroup: new("g")})
	}
	if err != nil {
		c.t.Errorf("define a job: %v", err)
	}
	return err == nil
}

// startRun starts a run that the deletion of the account has to stop.
func (c *accountCrash) startRun(store *controldb.Store) {
	if _, err := executions.On(store).StartJob(c.t.Context(), "j", uuid.Nil); err != nil {
		c.t.Errorf("start a run: %v", err)
		return
	}
	c.canceled.Add(1)
}

// audit checks that the account of a control database is Ready or gone, and that nothing of an
// operation is left.
func (c *accountCrash) audit(store *controldb.Store, i int) {
	t, ctx := c.t, c.t.Context()
	agent, err := account.On(store).Read(ctx)
	require.NoError(t, err)
	limits, err := settings.On(store).Limits(ctx)
	require.NoError(t, err)
	db := c.server.open(t, accountDatabase(i))
	var inProgress, failed, active, terms int
	require.NoError(t, db.QueryRowContext(ctx, `SELECT
    (SELECT COUNT(*) FROM jobs_internal.job_agent_operations WHERE status = N'InProgress' OR holder IS NOT NULL),
    (SELECT COUNT(*) FROM jobs_internal.job_agent_operations WHERE status = N'Failed'),
    (SELECT COUNT(*) FROM jobs_internal.job_executions WHERE is_active = 1),
    (SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NULL);`).Scan(&inProgress, &failed, &active, &terms))
	require.Zero(t, inProgress, "operations in progress")
	require.Zero(t, failed, "failed operations")
	switch agent.State {
	case account.AgentReady:
		require.Len(t, limits, 1)
		require.Equal(t, agent.Capacity, limits[0].Max)
	case account.AgentDeleted:
		require.Empty(t, limits)
		require.Zero(t, active, "active runs of a deleted account")
		require.Zero(t, terms, "terms of a deleted account")
	default:
		t.Errorf("the account of %s is %s", accountDatabase(i), agent.State)
	}
	require.NoError(t, installed.On(store).Verify(ctx))
	found, err := invariant.Find(ctx, db, false)
	require.NoError(t, err)
	require.Empty(t, found)
	t.Logf("%s: %s %s", accountDatabase(i), agent.State, agent.Name)
}
