//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
	"github.com/jobagent/jobagent/testenv/sim"
)

// A long run: go test ./cmd/jobagent -run TestRestores -restores.duration=20m -restores.pause=10s
// -timeout 60m -v
var (
	restoresDuration = flag.Duration("restores.duration", 2*time.Second, "how long TestRestores breaks processes")
	restoresPause    = flag.Duration("restores.pause", time.Second, "average time between two backups or restores of TestRestores")
	restoresSeed     = flag.Uint64("restores.seed", 0, "seed of TestRestores; 0: a new one")
)

// Kinds of a restore.
const (
	// byRunbook: all agents are stopped, and db after-restore runs before they start.
	byRunbook = "restored by the runbook"
	// forgotten: the agents continue, and nobody runs db after-restore before they reach the
	// database.
	forgotten = "restored under agents"
	// failover: the last transactions are lost, and the agents go on. Nothing shows it to the
	// database.
	failover = "failed over with loss"
)

// restoreTime limits the time in which agents notice that their terms have ended.
const restoreTime = 30 * time.Second

// mostBackups is the number of backups that the harness keeps.
const mostBackups = 4

// restores is one run of the harness of backups and restores. Its control database is not the one
// of the server's own agent.
type restores struct {
	*crash
	store   *controldb.Store
	control *sql.DB
	names   []string           // of the target databases
	ledgers map[string]*sql.DB // by the names of the target databases
	file    string             // of the control database
	backups []*controlBackup
	// extra and lost are what an audit gets; see [sim.Audit].
	extra, lost map[sim.Work]int
	forgotten   map[sim.Work]bool
	// last is the last restore; nil before the first one.
	last *restored
	// incarnations are those that the control database has had.
	incarnations map[uuid.UUID]bool
}

// controlBackup is a copy of the control database's files, and what the test knew at its time.
type controlBackup struct {
	at           time.Time
	files        map[string][]byte // by suffix
	started      []uuid.UUID
	ledger       map[sim.Work]int
	extra        map[sim.Work]int
	laterRelease bool
	older        bool // its schema needs a migration
}

// restored is what holds after a restore.
type restored struct {
	// asked is the time of db after-restore, resumed that of the resume; skipUntil was its
	// argument.
	asked, resumed, skipUntil time.Time
	// ledger is that of the time before the resume, and runs those of the control database.
	ledger map[sim.Work]int
	runs   map[uuid.UUID]bool
	// told is the answer of db after-restore.
	told identity.Restored
}

// TestRestores runs a server and agents as processes under load, and causes failures as TestCrash
// does. It takes backups of the control database and restores them, by the runbook, and also under
// running agents. The audit knows what each restore has lost, and tolerates no other loss.
func TestRestores(t *testing.T) {
	testenv.Long(t)
	r := newRestores(t, *restoresSeed)
	r.run("db", "install")
	r.begin()
	r.defineAll()
	r.startAgents(2)
	taken := 0
	next := time.Now().Add(*restoresPause)
	r.breakThings(*restoresDuration, *crashPause, func() {
		if time.Now().After(next) {
			if len(r.backups) == 0 || r.rng.IntN(2) == 0 {
				r.backup()
			} else {
				r.restore(r.kind())
				taken++
			}
			next = time.Now().Add(time.Duration((0.5 + r.rng.Float64()) * float64(*restoresPause)))
		}
		r.startRun(r.store)
	})
	if taken == 0 {
		if len(r.backups) == 0 {
			r.backup()
		}
		r.restore(r.kind())
	}
	r.finish()
}

// newRestores prepares a harness with an empty control database.
func newRestores(t *testing.T, seed uint64) *restores {
	r := &restores{crash: newCrash(t, seed, nil), forgotten: map[sim.Work]bool{}, incarnations: map[uuid.UUID]bool{}}
	r.crash.control, r.often = "control", 2*time.Second
	master := r.server.open(t, "master")
	r.server.create(t, master, r.crash.control)
	_, err := master.ExecContext(t.Context(), "ALTER DATABASE "+r.crash.control+" SET READ_COMMITTED_SNAPSHOT ON;")
	require.NoError(t, err)
	// The server gives the targets' login all new databases, and no script runs with a login that
	// can enter the control database.
	_, err = r.server.open(t, r.crash.control).ExecContext(t.Context(), "DROP USER "+embedded.TargetLogin+";")
	require.NoError(t, err)
	var id int
	require.NoError(t, master.QueryRowContext(t.Context(), "SELECT DB_ID(@p1);", r.crash.control).Scan(&id))
	r.file = filepath.Join(r.data, "databases", fmt.Sprintf("d%d.sqlite", id))
	return r
}

// begin opens the control database.
func (r *restores) begin() {
	r.store = r.server.storeOf(r.t, r.crash.control)
	r.control = r.open(r.crash.control)
}

// open opens a database without a pool: the connections of a pool end with the server, and the next
// call would fail.
func (r *restores) open(database string) *sql.DB {
	db := r.server.open(r.t, database)
	db.SetMaxIdleConns(-1)
	return db
}

// defineAll creates targets, jobs and schedules.
func (r *restores) defineAll() {
	r.names = r.define(r.store)
	r.ledgers = map[string]*sql.DB{}
	for _, name := range r.names {
		r.ledgers[name] = r.open(name)
	}
}

// finish waits until all runs have ended, and audits.
func (r *restores) finish() {
	r.endSchedules(r.store)
	r.settle(r.store)
	r.checkLast()
	r.auditAfter(r.names, sim.Audit{Extra: r.extra, Lost: r.lost, Forgotten: r.forgotten})
	r.t.Logf("events: %s; %d runs started by hand and not lost", counted(r.counts), len(r.started))
}

// freeze stops all agents, and returns what continues them.
func (r *restores) freeze() (thaw func()) {
	list := r.processes()
	for _, p := range list {
		_ = p.Signal(syscall.SIGSTOP) // the process may have ended
	}
	return func() {
		for _, p := range list {
			_ = p.Signal(syscall.SIGCONT)
		}
	}
}

// killAll kills all agents, or ends them in order.
func (r *restores) killAll() {
	for i, a := range r.agents {
		if r.rng.IntN(2) == 0 {
			_ = a.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
			<-a.ended
		}
		r.kill(i)
	}
}

// startAll starts all agents.
func (r *restores) startAll() {
	for i := range r.agents {
		r.startAgent(i)
	}
}

// suffixes are the suffixes of the files of a database. The third file can be created again.
var suffixes = []string{"", "-wal"}

// backup kills the server, copies the control database, and starts the server. The agents are
// frozen during the copy, so that the test's records are of the same time.
func (r *restores) backup() {
	r.mend(true)
	thaw := r.freeze()
	defer thaw()
	r.server.kill()
	b := &controlBackup{at: time.Now(), files: map[string][]byte{}, started: slices.Clone(r.started), extra: r.extra, laterRelease: r.laterRelease}
	for _, suffix := range suffixes {
		text, err := os.ReadFile(r.file + suffix)
		if suffix == "" || !errors.Is(err, fs.ErrNotExist) {
			require.NoError(r.t, err)
			b.files[suffix] = text
		}
	}
	r.server = r.server.restart(r.t)
	b.ledger = sim.ReadLedgers(r.t, r.ledgers)
	if r.backups = append(r.backups, b); len(r.backups) > mostBackups {
		r.backups = r.backups[1:]
	}
	r.counts["backup taken"]++
}

// put puts the files of a backup in the place of those of the control database. With inPlace, the
// first one stays the same file.
func (r *restores) put(b *controlBackup, inPlace bool) {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(r.file + suffix); !errors.Is(err, fs.ErrNotExist) {
			require.NoError(r.t, err)
		}
	}
	for suffix, text := range b.files {
		path := r.file + suffix
		if suffix == "" && !inPlace {
			path += ".new"
		}
		require.NoError(r.t, os.WriteFile(path, text, 0o600))
	}
	if !inPlace {
		require.NoError(r.t, os.Rename(r.file+".new", r.file))
	}
}

// kind draws the kind of the next restore, and b is the backup for it.
func (r *restores) kind() (kind string, b *controlBackup) {
	b = r.backups[r.rng.IntN(len(r.backups))]
	kind = []string{byRunbook, forgotten, failover}[r.rng.IntN(3)]
	// A state of less than five seconds ago is not noticed (sql/DESIGN.md, "Gaps").
	if kind == forgotten && time.Since(b.at) < 6*time.Second {
		kind = byRunbook
	}
	return kind, b
}

// restore puts a backup back while agents and clients work, makes the database safe, checks that
// nothing happens before the resume, and resumes.
func (r *restores) restore(kind string, b *controlBackup) {
	t := r.t
	r.counts[kind]++
	r.mend(true)
	thaw := func() {}
	if kind == byRunbook {
		r.killAll()
	} else {
		thaw = r.freeze()
	}
	defer thaw()
	r.checkLast()
	r.server.kill()
	// What has run has run before this time.
	next := &restored{skipUntil: time.Now().Truncate(time.Second).Add(time.Second)}
	r.put(b, kind == failover)
	r.server = r.server.restart(t)
	r.started, r.laterRelease = slices.Clone(b.started), b.laterRelease

	before := r.rowCounts()
	thaw()
	switch kind {
	case forgotten:
		var i identity.Identity
		eventually(t, restoreTime, "the control database pauses itself", func() (paused bool) {
			var err error
			i, err = identity.On(r.store).Read(t.Context())
			return err == nil && i.Paused()
		})
		require.Contains(t, i.PauseReason, "recovery fork")
		r.killAll()
		require.Equal(t, before, r.rowCounts(), "something was started or claimed before the database paused itself")
	case failover: // agents and clients do not notice it
		for range r.rng.IntN(15) {
			r.startRun(r.store)
			pause(100 * time.Millisecond)
		}
		r.run("db", "pause", "--reason", "failover")
		r.run("db", "after-restore", "--yes")
		r.killAll()
	}

	if b.older {
		var version int
		eventually(t, restoreTime, "the server answers", func() (ok bool) { // pooled connections ended with the server before
			var err error
			version, err = installed.On(r.store).Version(t.Context())
			return err == nil
		})
		if version <= earlier.Version28 {
			out, err := r.command("db", "after-restore", "--yes").CombinedOutput()
			require.Error(t, err, "a schema without incarnations has no such procedure")
			require.Contains(t, string(out), `run "jobagent db migrate"`)
		}
		r.run("db", "migrate")
	}
	next.asked = time.Now().UTC()
	require.NoError(t, json.Unmarshal(r.run("db", "after-restore", "--yes", "-o", "json"), &next.told))
	require.False(t, r.incarnations[next.told.Incarnation], "the incarnation is a new one")
	require.Len(t, next.told.Runs, next.told.ActiveRuns)
	require.Len(t, next.told.Due, next.told.DueSchedules)
	r.incarnations[next.told.Incarnation] = true
	// No agent lives, so nothing changes.
	next.ledger, next.runs = sim.ReadLedgers(t, r.ledgers), r.knownRuns()
	r.extra, r.lost = maps.Clone(b.extra), map[sim.Work]int{}
	if r.extra == nil {
		r.extra = map[sim.Work]int{}
	}
	has := r.knownTargets()
	for key, n := range next.ledger {
		if b.older && !has[key] {
			r.forgotten[key] = true
		}
		r.extra[key] += n - b.ledger[key]
		if !next.runs[key.Run] {
			r.lost[key] = n
		}
	}

	r.startAll()
	before = r.rowCounts()
	eventually(t, restoreTime, "an agent is back", func() bool {
		n, err := fleet.On(r.store).Live(t.Context())
		return err == nil && n > 0
	})
	eventually(t, restoreTime, "a start is refused", func() bool { // a call fails whose connection ended with the server
		_, err := executions.On(r.store).StartJob(t.Context(), crashJob(0), uuid.New())
		require.Error(t, err)
		return errors.Is(err, dberror.ErrPaused)
	})
	pause(time.Second) // several passes
	require.Equal(t, before, r.rowCounts(), "something was started or claimed during the pause")
	require.Equal(t, next.ledger, sim.ReadLedgers(t, r.ledgers), "a script ran during the pause")
	next.resumed = time.Now().UTC()
	r.run("db", "resume", "--skip-until", next.skipUntil.UTC().Format(time.RFC3339))
	r.last = next
}

// checkLast checks what the last restore has promised: only runs and schedules that it told of go
// on, and no instant before the restore has fired since the resume.
func (r *restores) checkLast() {
	if r.last == nil {
		return
	}
	t := r.t
	told := map[uuid.UUID]bool{}
	for _, run := range r.last.told.Runs {
		told[run.ID] = true
	}
	for key, n := range sim.ReadLedgers(t, r.ledgers) {
		if had := r.last.ledger[key]; n != had && r.last.runs[key.Run] && !told[key.Run] {
			t.Errorf("repeated work: %s has %d rows and had %d before the resume, and db after-restore did not tell of its run", key, n, had)
		}
	}
	due := map[string]bool{}
	for _, s := range r.last.told.Due {
		due[s.JobName] = true
	}
	rows, err := r.control.QueryContext(t.Context(), `
SELECT j.name, e.due_at, e.create_time
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE e.due_at < @p1 AND e.create_time > @p1;`, r.last.resumed)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var at, created time.Time
		require.NoError(t, rows.Scan(&name, &at, &created))
		if at.Before(r.last.skipUntil) {
			t.Errorf("the instant %s of job %q fired at %s, and was to be skipped until %s", at, name, created, r.last.skipUntil)
		}
		if at.Before(r.last.asked) && !due[name] {
			t.Errorf("the instant %s of job %q fired at %s, and db after-restore did not tell of its schedule", at, name, created)
		}
	}
	require.NoError(t, rows.Err())
}

// rowCounts counts what agents start and claim: runs, attempts and skipped instants. A pass may
// still make the targets of a list that was resolved before.
func (r *restores) rowCounts() (n [3]int) {
	require.NoError(r.t, r.control.QueryRowContext(r.t.Context(), `
SELECT
    (SELECT COUNT(*) FROM jobs_internal.job_executions),
    (SELECT COUNT(*) FROM jobs_internal.task_executions),
    (SELECT COUNT(*) FROM jobs_internal.schedule_skips);`).Scan(&n[0], &n[1], &n[2]))
	return n
}

// knownRuns returns the runs of the control database.
func (r *restores) knownRuns() map[uuid.UUID]bool {
	rows, err := r.control.QueryContext(r.t.Context(), "SELECT job_execution_id FROM jobs_internal.job_executions;")
	require.NoError(r.t, err)
	defer rows.Close()
	runs := map[uuid.UUID]bool{}
	for rows.Next() {
		var id mssqldb.UniqueIdentifier
		require.NoError(r.t, rows.Scan(&id))
		runs[uuid.UUID(id)] = true
	}
	require.NoError(r.t, rows.Err())
	return runs
}

// knownTargets returns the targets of the control database's runs.
func (r *restores) knownTargets() map[sim.Work]bool {
	rows, err := r.control.QueryContext(r.t.Context(), `
SELECT e.job_execution_id, t.step_id, t.database_name
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id;`)
	require.NoError(r.t, err)
	defer rows.Close()
	known := map[sim.Work]bool{}
	for rows.Next() {
		var key sim.Work
		var id mssqldb.UniqueIdentifier
		require.NoError(r.t, rows.Scan(&id, &key.Step, &key.Database))
		key.Run = uuid.UUID(id)
		known[key] = true
	}
	require.NoError(r.t, rows.Err())
	return known
}

// command returns a command of jobagent on the control database that has not started.
func (c *crash) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+c.server.dsn(c.control))
	return cmd
}

// run runs a command of jobagent on the control database, and returns what it wrote to stdout. Half
// of the commands are killed first, and then repeated.
func (c *crash) run(args ...string) []byte {
	for {
		cmd := c.command(args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		ctx, cancel := context.WithCancel(c.t.Context())
		killed := c.rng.IntN(2) == 0
		require.NoError(c.t, cmd.Start())
		if killed {
			timer := time.AfterFunc(time.Duration(c.rng.Int64N(int64(commandTime))), func() { _ = cmd.Process.Kill() })
			context.AfterFunc(ctx, func() { timer.Stop() })
		}
		err := cmd.Wait()
		cancel()
		var exited *exec.ExitError
		if killed && errors.As(err, &exited) && !exited.Exited() {
			c.counts["command killed"]++
			continue
		}
		require.NoError(c.t, err, "%v: %s", args, stderr.String())
		return stdout.Bytes()
	}
}

// commandTime is about the duration of a command that makes a change.
const commandTime = 400 * time.Millisecond
