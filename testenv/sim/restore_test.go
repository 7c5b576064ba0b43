package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// backups takes and restores backups of a database of a world, as files of the embedded server.
type backups struct {
	w    *World
	dir  string
	path string // of the control database's file
}

func newBackups(t *testing.T, n int) *backups {
	t.Helper()
	b := &backups{dir: t.TempDir()}
	b.w = newWorld(t, n, testenv.Options{Dir: b.dir})
	b.path = b.file(t, b.w.Control)
	return b
}

// file returns the path of a database's file.
func (b *backups) file(t *testing.T, database string) string {
	t.Helper()
	var id int
	require.NoError(t, b.w.DB(t, "master").QueryRowContext(t.Context(), "SELECT DB_ID(@p1);", database).Scan(&id))
	return filepath.Join(b.dir, fmt.Sprintf("d%d.sqlite", id))
}

// take restarts the server, and returns the control database as it is.
func (b *backups) take(t *testing.T) (backup []byte) {
	t.Helper()
	b.w.Restart(t, func() {
		wal, err := os.Stat(b.path + "-wal")
		require.True(t, errors.Is(err, fs.ErrNotExist) || wal.Size() == 0, "a server that has ended leaves no log")
		backup, err = os.ReadFile(b.path)
		require.NoError(t, err)
	})
	return backup
}

// restore restarts the server with a backup in place of a database. The file is another one, so
// that the database has another recovery fork; with inPlace it is the same one, as after a failover
// that has lost the last transactions.
func (b *backups) restore(t *testing.T, path string, backup []byte, inPlace bool) {
	t.Helper()
	b.w.Restart(t, func() {
		for _, suffix := range []string{"-wal", "-shm"} {
			if err := os.Remove(path + suffix); !errors.Is(err, fs.ErrNotExist) {
				require.NoError(t, err)
			}
		}
		if inPlace {
			require.NoError(t, os.WriteFile(path, backup, 0o600))
			return
		}
		require.NoError(t, os.WriteFile(path+".new", backup, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	})
}

// ledger returns the number of rows in the ledger of a target.
func (b *backups) ledger(t *testing.T, database string) (rows int) {
	t.Helper()
	require.NoError(t, b.w.DB(t, database).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.ledger;").Scan(&rows))
	return rows
}

// everyMinute adds a job with a schedule, all of whose instants run.
func everyMinute(t *testing.T, w *World) {
	t.Helper()
	w.AddJob(t, "j", []string{WriteLedger})
	all, buffer := "All", "BufferAll"
	_, err := timetable.On(w.Store).Add(t.Context(), timetable.Spec{JobName: "j", Name: "s", Kind: new("cron5"), Spec: new("* * * * *"), CatchUp: &all, Overlap: &buffer})
	require.NoError(t, err)
}

// The control database is restored to an earlier state while two agents run. It pauses itself.
// After the procedure of the run book no script has run twice for an instant, and no instant is
// lost.
func TestRestoreWhileAgentsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 2)
		everyMinute(t, b.w)
		for range 2 { // at a pace that suffices for a run each minute
			b.w.StartAgent(t, agent.Config{PollIdle: 3 * time.Second, PollActive: time.Second}, nil)
		}
		<-time.After(3*time.Minute + 10*time.Second)
		backup := b.take(t)
		<-time.After(5 * time.Minute)
		before := b.ledger(t, b.w.Targets[0])
		require.GreaterOrEqual(t, before, 7)
		b.restore(t, b.path, backup, false)
		<-time.After(3 * time.Minute)
		i, err := identity.On(b.w.Store).Read(t.Context())
		require.NoError(t, err)
		require.True(t, i.Paused(), "it has paused itself")
		require.Contains(t, i.PauseReason, "recovery fork")
		require.Equal(t, before, b.ledger(t, b.w.Targets[0]), "no script runs")

		r, err := identity.On(b.w.Store).AfterRestore(t.Context(), 10)
		require.NoError(t, err)
		require.NotEqual(t, i.Incarnation, r.Incarnation)
		require.Equal(t, 1, r.DueSchedules)
		restored := time.Now().Add(-3 * time.Minute)
		require.NoError(t, identity.On(b.w.Store).Resume(t.Context(), restored))
		<-time.After(5 * time.Minute)
		require.NoError(t, identity.On(b.w.Store).Pause(t.Context(), "the end"))
		<-time.After(time.Minute)

		// Each instant has run once, or is recorded as skipped because it ran before the restore.
		minutes := int(time.Since(restored)/time.Minute) - 1 // of the last one nothing started
		after := b.ledger(t, b.w.Targets[0])
		require.InDelta(t, before+minutes, after, 1)
		var doubled int
		for _, database := range b.w.Targets {
			require.Equal(t, after, b.ledger(t, database))
			require.NoError(t, b.w.DB(t, database).QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM (SELECT run FROM dbo.ledger GROUP BY run HAVING COUNT(*) > 1) AS d;").Scan(&doubled))
			require.Zero(t, doubled, "no run has run twice")
			require.NoError(t, b.w.DB(t, database).QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM (SELECT DATEDIFF(MINUTE, '2000-01-01', at) AS m FROM dbo.ledger WHERE at < @p1 GROUP BY DATEDIFF(MINUTE, '2000-01-01', at) HAVING COUNT(*) > 1) AS d;",
				restored).Scan(&doubled))
			require.Zero(t, doubled, "no instant has run twice")
		}
		var skipped int
		require.NoError(t, b.w.DB(t, b.w.Control).QueryRowContext(t.Context(),
			"SELECT SUM(k.skipped) FROM jobs_internal.schedule_skips AS k WHERE k.cause = N'Paused';").Scan(&skipped))
		require.InDelta(t, 5, skipped, 1, "the instants between the backup and the restore")
		b.w.Check(t, true)
	})
}

// A run is in the backup, and its targets are not: they were found and run afterwards. After the
// restore they are found again, and a step with at_most_once does not run on them again.
func TestRestoreOfARunWithoutTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 2)
		b.w.AddJob(t, "once", []string{WriteLedger, WriteLedger})
		yes := true
		for step := 1; step <= 2; step++ {
			_, err := catalog.On(b.w.Store).UpdateJobStep(t.Context(), jobmodel.StepSpec{JobName: "once", StepID: &step, AtMostOnce: &yes})
			require.NoError(t, err)
		}
		run := b.w.Start(t, "once")
		backup := b.take(t)
		a := b.w.StartAgent(t, agent.Config{}, nil)
		_, ended := b.w.Ended(t, run, time.Minute)
		require.True(t, ended)
		require.NoError(t, a.Stop())
		b.restore(t, b.path, backup, false)
		r, err := identity.On(b.w.Store).AfterRestore(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []any{run, 0}, []any{r.Runs[0].ID, r.Runs[0].Targets})
		require.NoError(t, identity.On(b.w.Store).Resume(t.Context(), time.Time{}))
		b.w.StartAgent(t, agent.Config{}, nil)
		root, ended := b.w.Ended(t, run, time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle)
		for _, database := range b.w.Targets {
			for step := 1; step <= 2; step++ {
				require.Equal(t, 1, b.w.Ledger(t, database, run, step))
			}
		}
		b.w.Check(t, true)
	})
}

// A backup that is younger than a lease brings its terms along, so that agents go on without a new
// one. Firings and passes find the restore by the gap, before anything fires again.
func TestRestoreOfAYoungBackup(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 1)
		everyMinute(t, b.w)
		a := b.w.StartAgent(t, agent.Config{Lease: 5 * time.Minute}, nil)
		<-time.After(3*time.Minute - 10*time.Second)
		kept := b.ledger(t, b.w.Targets[0])
		backup := b.take(t)
		<-time.After(30 * time.Second)
		before := b.ledger(t, b.w.Targets[0])
		require.Equal(t, kept+1, before)
		b.restore(t, b.path, backup, false)
		<-time.After(3 * time.Minute)
		i, err := identity.On(b.w.Store).Read(t.Context())
		require.NoError(t, err)
		require.True(t, i.Paused(), "it has paused itself")
		require.Contains(t, i.PauseReason, "recovery fork")
		require.Len(t, a.Logs.FilterMessage("term started").All(), 1)
		require.Equal(t, before, b.ledger(t, b.w.Targets[0]), "no script runs")
		var runs int
		require.NoError(t, b.w.DB(t, b.w.Control).QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id WHERE j.name = N'j';").Scan(&runs))
		require.Equal(t, kept, runs, "the lost instant has not fired again")
	})
}

// After a failover that has lost the last transactions, numbers are given again: a run of another
// job gets those of a run that is in flight. No outcome is booked to the other run.
func TestLossyFailoverBooksNothingElsewhere(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 2)
		b.w.AddJob(t, "lost", []string{WriteLedger + " WAITFOR DELAY '00:00:10';"}, Retries(0, 1))
		b.w.AddJob(t, "kept", []string{WriteLedger + " RAISERROR('kept fails', 16, 1);"}, Retries(0, 1))
		for range 2 {
			b.w.StartAgent(t, agent.Config{}, nil)
		}
		<-time.After(10 * time.Second)
		backup := b.take(t)
		<-time.After(5 * time.Second)
		lost := b.w.Start(t, "lost")
		number := func(id any) (n int64) {
			require.NoError(t, b.w.DB(t, b.w.Control).QueryRowContext(t.Context(),
				"SELECT MIN(e.execution_id) FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id WHERE j.name = @p1;", id).Scan(&n))
			return n
		}
		first := number("lost")
		<-time.After(5 * time.Second)
		require.Equal(t, 1, b.w.Ledger(t, b.w.Targets[0], lost, 1), "the script is in flight")
		b.restore(t, b.path, backup, true)
		kept := b.w.Start(t, "kept")
		require.Equal(t, first, number("kept"), "the number is given again")
		root, ended := b.w.Ended(t, kept, 10*time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Failed, root.Lifecycle)
		<-time.After(time.Minute) // outcomes of the lost run have come, and are refused
		for _, e := range b.w.Run(t, kept) {
			require.Equal(t, jobs.Failed, e.Lifecycle)
			if e.Database != "" {
				require.Contains(t, e.LastMessage, "kept fails")
				require.Equal(t, 1, b.w.Ledger(t, e.Database, kept, 1))
				require.LessOrEqual(t, b.w.Ledger(t, e.Database, lost, 1), 1)
			}
		}
		i, err := identity.On(b.w.Store).Read(t.Context())
		require.NoError(t, err)
		require.False(t, i.Paused(), "a failover does not pause")
		b.w.Check(t, true)
	})
}

// After a failover that has lost the last transactions, a term gets the task of another run with
// the number of the one that it held. The outcome of the lost task is refused.
func TestLossyFailoverRefusesOutcomesOfLostClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 1)
		b.w.AddJob(t, "lost", []string{"SELECT 1;"})
		b.w.AddJob(t, "kept", []string{"SELECT 2;"})
		ctx := t.Context()
		term, err := b.w.Store.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}, time.Hour)
		require.NoError(t, err)
		backup := b.take(t)
		claim := func() controldb.Task {
			for range 5 {
				p, err := b.w.Store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
				require.NoError(t, err)
				for _, task := range p.Tasks {
					if task.Kind == controldb.TaskRun {
						return task
					}
					require.NoError(t, b.w.Store.CompleteResolution(ctx, term.ID, task.ID, controldb.Resolution{
						Attempt: task.Attempt, Claim: task.Claim, Targets: []targets.Target{targets.NewTarget("tsqld", b.w.Targets[0], "")},
					}))
				}
			}
			t.Fatal("no task was claimed")
			return controldb.Task{}
		}
		b.w.Start(t, "lost")
		lost := claim()
		b.restore(t, b.path, backup, true)
		run := b.w.Start(t, "kept")
		kept := claim()
		require.Equal(t, []any{lost.ID, lost.Attempt}, []any{kept.ID, kept.Attempt}, "the number is given again")
		refused, err := b.w.Store.CompleteTasks(ctx, term.ID, []controldb.Outcome{{Task: lost.ID, Attempt: lost.Attempt, Claim: lost.Claim, Outcome: targets.Succeeded}})
		require.NoError(t, err)
		require.Len(t, refused, 1)
		require.True(t, b.w.Root(t, run).Active)
		refused, err = b.w.Store.CompleteTasks(ctx, term.ID, []controldb.Outcome{{Task: kept.ID, Attempt: kept.Attempt, Claim: kept.Claim, Outcome: targets.Succeeded}})
		require.NoError(t, err)
		require.Empty(t, refused)
	})
}

// A copy of the control database under another name fires nothing and claims nothing, and the
// original goes on.
func TestCopyBesideTheOriginal(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBackups(t, 1)
		everyMinute(t, b.w)
		b.w.StartAgent(t, agent.Config{}, nil)
		<-time.After(2*time.Minute + 10*time.Second)
		// The embedded server keeps the name of a database in its file, and the number of the
		// database in the name of the file: so the copy is on a second server of the same name.
		master := b.w.DB(t, "master")
		_, err := master.ExecContext(t.Context(), "ALTER DATABASE ["+b.w.Control+"] MODIFY NAME = beside;")
		require.NoError(t, err)
		backup := b.take(t)
		_, err = master.ExecContext(t.Context(), "ALTER DATABASE beside MODIFY NAME = ["+b.w.Control+"];")
		require.NoError(t, err)
		second := &backups{dir: t.TempDir()}
		second.w = &World{Installation: &testenv.Installation{Env: testenv.Embedded(t, testenv.Options{Dir: second.dir}), Control: "beside"}}
		second.w.CreateDatabase(t, "beside")
		path := second.file(t, "beside")
		require.Equal(t, filepath.Base(b.path), filepath.Base(path))
		second.restore(t, path, backup, false)
		other := second.w
		other.Store = other.OpenControl(t, "beside")
		started, err := executions.On(other.Store).StartJob(t.Context(), "j", uuid.Nil)
		require.NoError(t, err, "nobody has looked at the copy yet")
		a := other.StartAgent(t, agent.Config{}, nil)
		<-time.After(5 * time.Minute)
		require.Zero(t, a.Targets.Calls(), "the agent of the copy asks no target")
		require.True(t, other.Root(t, started).Active)
		i, err := identity.On(other.Store).Read(t.Context())
		require.NoError(t, err)
		require.True(t, i.Paused())
		require.Contains(t, i.PauseReason, "its name was "+b.w.Control+" and is beside")
		_, err = executions.On(other.Store).StartJob(t.Context(), "j", uuid.Nil)
		require.ErrorIs(t, err, dberror.ErrPaused)
		require.NoError(t, a.Stop())
		require.NoError(t, identity.On(b.w.Store).Pause(t.Context(), "the end"))
		<-time.After(time.Minute)

		// Each row of the ledger is of a run of the original.
		runs := map[string]bool{}
		list, err := executions.On(b.w.Store).List(t.Context(), executions.Query{System: true}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		for _, e := range list {
			runs[e.ID.String()] = true
		}
		rows, err := b.w.DB(t, b.w.Targets[0]).QueryContext(t.Context(), "SELECT CONVERT(NVARCHAR(36), run) FROM dbo.ledger;")
		require.NoError(t, err)
		defer rows.Close()
		n := 0
		for rows.Next() {
			var run string
			require.NoError(t, rows.Scan(&run))
			require.True(t, runs[strings.ToLower(run)], run)
			n++
		}
		require.NoError(t, rows.Err())
		require.GreaterOrEqual(t, n, 6)
		b.w.Check(t, true)
	})
}
