package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/invariant"
)

const devPassword = "Kill-me-9"

// devProcess is a running `jobagent dev`.
type devProcess struct {
	cmd     *exec.Cmd
	dir     string   // its data
	flags   []string // beside those for data and address
	address string
	pin     string      // of its certificate
	rest    string      // address of its front
	token   string      // of an administrator of the front
	trusted string      // path of its certificate
	log     *processLog // stderr

	// Of an external server, for which cmd and log are nil.
	base   *url.URL // connection string, without a database
	prefix string   // of the databases that the test creates
}

// processLog is what a process has written so far. Safe for concurrent use.
type processLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *processLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String implements fmt.Stringer.
func (l *processLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startDev starts `jobagent dev` as a process and waits until it is ready.
func startDev(t *testing.T, dir, listen string, flags ...string) *devProcess {
	t.Helper()
	p := &devProcess{dir: dir, flags: flags, cmd: exec.Command(os.Args[0], append([]string{"dev", "--listen", listen, "--data", dir, "-o", "json"}, flags...)...),
		log: &processLog{}}
	p.cmd.Env = append(os.Environ(), envBeCommand+"=1", dev.EnvSAPassword+"="+devPassword)
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.kill() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		p.kill()
		t.Fatalf("dev ended before it was ready: %v\n%s", err, p.log)
	}
	var ready struct {
		Address         string `json:"address"`
		ControlDatabase string `json:"control_database"`
		Certificate     string `json:"certificate"`
		Pin             string `json:"certificate_sha256"`
		REST            string `json:"rest"`
		RESTTokenFile   string `json:"rest_token_file"`
		Dashboard       string `json:"dashboard"`
	}
	require.NoError(t, json.Unmarshal(line, &ready))
	require.Equal(t, embedded.ControlDatabase, ready.ControlDatabase)
	require.FileExists(t, ready.Certificate)
	require.Equal(t, ready.REST+"/ui/", ready.Dashboard)
	p.address, p.pin, p.rest, p.trusted = ready.Address, ready.Pin, ready.REST, ready.Certificate
	token, err := os.ReadFile(ready.RESTTokenFile)
	require.NoError(t, err)
	p.token = strings.TrimSpace(string(token))
	go io.Copy(io.Discard, stdout) // until the process ends
	return p
}

// restart starts a process that has ended again, with the same data, address and flags.
func (p *devProcess) restart(t *testing.T) *devProcess {
	t.Helper()
	return startDev(t, p.dir, p.address, p.flags...)
}

// stop stops the process, and kills it if it has not ended within limit.
func (p *devProcess) stop(limit time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	timer := time.AfterFunc(limit, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
}

// kill kills the process and waits for its end.
func (p *devProcess) kill() {
	if p.external() {
		return
	}
	_ = p.cmd.Process.Kill() // the process may have ended
	_ = p.cmd.Wait()
}

// external reports whether the server is not a process of the test.
func (p *devProcess) external() bool { return p.base != nil }

// externalServer returns the server of JOBAGENT_TEST_DSN (sqlserver://login:password@host:port?…)
// with a new control database, or nil if the variable is not set.
func externalServer(t *testing.T) *devProcess {
	t.Helper()
	dsn := os.Getenv("JOBAGENT_TEST_DSN")
	if dsn == "" {
		return nil
	}
	base, err := url.Parse(dsn)
	if err != nil || base.Scheme != "sqlserver" || base.Port() == "" {
		t.Fatal("JOBAGENT_TEST_DSN must be sqlserver://login:password@host:port?…") // the value is not printed, because it has the password
	}
	p := &devProcess{address: base.Host, base: base, prefix: "crash_" + rand.Text()[:8] + "_"}
	master := p.open(t, "master")
	p.create(t, master, p.prefix+embedded.ControlDatabase)
	installer, err := controldb.Open(t.Context(), controldb.Config{DSN: p.dsn(embedded.ControlDatabase)})
	require.NoError(t, err)
	require.NoError(t, errors.Join(deploy.On(installer).Install(t.Context()), installer.Close()))
	setSnapshot(t, master, p.prefix+embedded.ControlDatabase) // the server's model may have enabled it
	return p
}

// setSnapshot sets READ_COMMITTED_SNAPSHOT of a database as JOBAGENT_TEST_RCSI says. No other
// session may use the database.
func setSnapshot(t *testing.T, master *sql.DB, database string) {
	t.Helper()
	if state := strings.ToUpper(os.Getenv("JOBAGENT_TEST_RCSI")); state == "ON" || state == "OFF" {
		_, err := master.ExecContext(t.Context(), "ALTER DATABASE "+database+" SET READ_COMMITTED_SNAPSHOT "+state+" WITH ROLLBACK IMMEDIATE;")
		require.NoError(t, err)
	}
}

// create creates a database. On an external server, it is dropped if the test passes, and named in
// the log otherwise.
func (p *devProcess) create(t *testing.T, master *sql.DB, name string) {
	t.Helper()
	_, err := master.ExecContext(t.Context(), "CREATE DATABASE "+name+";")
	require.NoError(t, err)
	if !p.external() {
		return
	}
	setSnapshot(t, master, name)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kept database %s", name)
			return
		}
		_, err := master.ExecContext(context.WithoutCancel(t.Context()),
			"ALTER DATABASE "+name+" SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE "+name+";")
		require.NoError(t, err)
	})
}

// dsn returns the connection string of a database.
func (p *devProcess) dsn(database string) string {
	if p.external() {
		if database == embedded.ControlDatabase {
			database = p.prefix + database
		}
		u := *p.base
		q := u.Query()
		q.Set("database", database)
		u.RawQuery = q.Encode()
		return u.String()
	}
	return fmt.Sprintf("sqlserver://sa:%s@%s?database=%s&certificate_sha256=%s", devPassword, p.address, database, p.pin)
}

// open opens a connection pool on a database.
func (p *devProcess) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	return openDSN(t, p.dsn(database))
}

// openDSN opens a connection pool.
func openDSN(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector(dsn, nil)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// store opens the control database.
func (p *devProcess) store(t *testing.T) *controldb.Store {
	t.Helper()
	return p.storeOf(t, embedded.ControlDatabase)
}

// storeOf opens a control database.
func (p *devProcess) storeOf(t *testing.T, database string) *controldb.Store {
	t.Helper()
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: p.dsn(database)})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

// eventually polls ok every 50 ms, for at most limit.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, limit, 50*time.Millisecond, what)
}

// A server that is killed during a run and restarted on its data ends the run, with one accepted
// outcome per target.
func TestDevSurvivesKill(t *testing.T) {
	t.Parallel()
	const n = 6
	dir := t.TempDir()
	p := startDev(t, dir, "127.0.0.1:0")
	store := p.store(t)
	server := strings.Replace(p.address, ":", ",", 1) // the name in target groups, which must be the same after the restart
	master := p.open(t, "master")
	_, err := targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	for i := range n {
		name := fmt.Sprintf("victim%d", i)
		_, err := master.ExecContext(t.Context(), "CREATE DATABASE "+name+";")
		require.NoError(t, err)
		_, err = p.open(t, name).ExecContext(t.Context(),
			"CREATE TABLE dbo.ledger (attempt INT IDENTITY, at DATETIME2 DEFAULT SYSUTCDATETIME(), run UNIQUEIDENTIFIER);")
		require.NoError(t, err)
		_, err = targetgroups.On(store).AddMember(t.Context(), "g", targets.Member{Kind: targets.SQLDatabase, Server: server,
			Database: name, Membership: targets.Include})
		require.NoError(t, err)
	}
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{
		JobName: "j", TargetGroup: new("g"), Command: new("WAITFOR DELAY '00:00:02'; INSERT INTO dbo.ledger (run) VALUES ($(job_execution_id));"),
	})
	require.NoError(t, err)
	id, err := executions.On(store).StartJob(t.Context(), "j", uuid.Nil)
	require.NoError(t, err)
	eventually(t, 20*time.Second, "attempts run", func() bool {
		run, err := executions.On(store).Get(t.Context(), id, executions.States)
		return err == nil && run.Counts().Running >= n
	})
	p.kill()

	p = startDev(t, dir, p.address)
	store = p.store(t)
	eventually(t, 60*time.Second, "the run ends", func() bool {
		rows, err := executions.On(store).List(t.Context(), executions.Query{ID: id}, controldb.Page[executions.Key]{})
		return err == nil && len(rows) == 1 && !rows[0].Active
	})
	rows, err := executions.On(store).Rows(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
	found, err := invariant.Find(t.Context(), p.open(t, embedded.ControlDatabase), true)
	require.NoError(t, err)
	require.Empty(t, found)
	for i := range n {
		var runs int
		require.NoError(t, p.open(t, fmt.Sprintf("victim%d", i)).QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM dbo.ledger;").Scan(&runs))
		require.GreaterOrEqual(t, runs, 1)
	}
}

// TestDevIsProtected expects the protection of `jobagent run`: dev runs processes, too. Its limit
// of core files shows that, because root may read everything of a process that is not dumpable.
func TestDevIsProtected(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the test reads /proc; other systems than Linux have no such protection (THREATS.md)")
	}
	p := startDev(t, t.TempDir(), "127.0.0.1:0")
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Max core file size +0 +0 `, string(limits))
}

// A signal stops dev in order, with exit code 0.
func TestDevStopsOnSignal(t *testing.T) {
	t.Parallel()
	p := startDev(t, t.TempDir(), "127.0.0.1:0")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait(), p.log.String())
	require.NotContains(t, p.log.String(), devPassword)
}

// The first signal says what dev waits for, the second one cancels it.
func TestDevSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	p := startDev(t, t.TempDir(), "127.0.0.1:0", "--rest-listen", "127.0.0.1:0")
	store := p.store(t)
	server := strings.Replace(p.address, ":", ",", 1)
	_, err := p.open(t, "master").ExecContext(t.Context(), "CREATE DATABASE Tenant1;")
	require.NoError(t, err)
	tenant := p.open(t, "Tenant1")
	_, err = tenant.ExecContext(t.Context(), "CREATE TABLE dbo.begun (n INT NOT NULL);")
	require.NoError(t, err)
	_, err = targetgroups.On(store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = targetgroups.On(store).AddMember(t.Context(), "g", targets.Member{
		Kind: targets.SQLDatabase, Server: server, Database: "Tenant1", Membership: targets.Include,
	})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJob(t.Context(), model.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(store).AddJobStep(t.Context(), model.StepSpec{JobName: "j", TargetGroup: new("g"),
		Command: new("INSERT INTO dbo.begun (n) VALUES (1); WAITFOR DELAY '00:01:00';")})
	require.NoError(t, err)
	_, err = executions.On(store).StartJob(t.Context(), "j", uuid.Nil)
	require.NoError(t, err)
	// A run in progress has no script yet: its first task resolves the target group.
	eventually(t, 20*time.Second, "the script runs", func() bool {
		var begun int
		return tenant.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.begun;").Scan(&begun) == nil && begun == 1
	})
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	const waiting = "waiting for 1 script on %s/Tenant1; Ctrl-C again cancels it"
	eventually(t, 20*time.Second, "dev says what it waits for", func() bool {
		return strings.Contains(p.log.String(), fmt.Sprintf(waiting, server))
	})
	again := time.Now()
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, p.cmd.Wait(), p.log.String())
	require.Less(t, time.Since(again), 20*time.Second)
	require.Contains(t, p.log.String(), "canceling running tasks")
}
