package sqlserver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/sqlserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// size is the amount of work of the tests. The embedded server has no row locks, so there the tests
// only prove that they run.
type size struct {
	schedules int
	firing    time.Duration // duration of the schedules test
	targets   int
	runs      int // of the deleted job
	limit     time.Duration
	median    time.Duration // limit for passes
}

var (
	full = size{schedules: 50, firing: time.Minute, targets: 10_000, runs: 5, limit: 5 * time.Minute, median: 500 * time.Millisecond}
	weak = size{schedules: 5, firing: 4 * time.Second, targets: 300, runs: 3, limit: 2 * time.Minute, median: time.Second}
)

// fixture is a server with the start time of the test.
type fixture struct {
	env   *testenv.Env
	size  size
	real  bool // not the embedded server, in this process or another
	since time.Time
	// store, control and db are an installed control database.
	store   *controldb.Store
	control string
	db      *sql.DB
}

// TestRowLocks checks on a real server, in this order: its T-SQL and messages are SQL Server's,
// there is no deadlock and no lock escalation, an open transaction does not block others, and
// characters keep their values. The list is section 3 of the review of sql/.
func TestRowLocks(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		for _, test := range []struct {
			name     string
			rcsi     string // on, off, or "" for the value of the environment
			rowLocks bool   // needs row locks
			fn       func(t *testing.T, f *fixture)
		}{
			{"install and verify", "", false, installAndVerify},
			{"percent in names", "", false, percentInNames},
			{"many schedules without row versions", "off", true, manySchedules},
			{"many schedules", "on", false, manySchedules},
			{"many targets", "", false, manyTargets},
			{"an open transaction", "", true, openTransaction},
			{"deletion of a big job", "", false, deleteBigJob},
			{"code pages", "", false, codePages},
		} {
			t.Run(test.name, func(t *testing.T) {
				if test.rowLocks {
					env.Requires(t, testenv.RowLocks)
				}
				if test.rcsi != "" {
					t.Setenv("JOBAGENT_TEST_RCSI", test.rcsi)
				}
				f := newFixture(t, env)
				test.fn(t, f)
				f.noEvents(t)
				if !t.Failed() {
					f.env.CheckInvariants(t, f.control, false)
				}
			})
		}
	})
}

// newFixture creates a control database and starts the watch.
func newFixture(t *testing.T, env *testenv.Env) *fixture {
	t.Helper()
	f := &fixture{env: env, size: weak}
	if env.Server != nil {
		f.env = testenv.Embedded(t, testenv.Options{}) // a new server, where no name is taken
	} else {
		master := env.DB(t, "master")
		err := sqlserver.Ensure(t.Context(), master)
		if f.real = !errors.Is(err, sqlserver.ErrNoEvents); f.real {
			require.NoError(t, err, "watch the server; the login needs ALTER ANY EVENT SESSION and VIEW SERVER STATE")
			f.size = full
			f.since, err = sqlserver.Now(t.Context(), master)
			require.NoError(t, err)
		} else {
			t.Log(err)
		}
	}
	f.store, f.control = f.env.Control(t)
	f.db = f.env.DB(t, f.control)
	return f
}

// noEvents fails the test for each deadlock and lock escalation since its start.
func (f *fixture) noEvents(t *testing.T) {
	t.Helper()
	if !f.real {
		return
	}
	<-time.After(sqlserver.SettleOwn)
	list, err := sqlserver.Events(t.Context(), f.env.DB(t, "master"), f.since)
	require.NoError(t, err)
	for _, e := range list {
		if e.Session != sqlserver.Own {
			continue // duplicates of SQL Server's own session; the command watch counts those
		}
		if e.Kind == sqlserver.Deadlock {
			t.Errorf("deadlock at %s:\n%s", e.At.Format(time.RFC3339Nano), e.XML)
		} else {
			t.Errorf("lock escalation at %s: %s", e.At.Format(time.RFC3339Nano), e.Summary)
		}
	}
}

// exec runs a batch that must succeed.
func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
}

// get reads one value.
func get[T any](t *testing.T, db *sql.DB, query string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&v), query)
	return v
}

// eventually calls ok every 100 ms until it is true, for at most limit. state describes the state
// after the limit.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool, state func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s; %s", limit, what, state())
		case <-tick.C:
		}
	}
}

// startAgent runs an agent until the test ends.
func (f *fixture) startAgent(t *testing.T) {
	t.Helper()
	hosting, err := agent.New(agent.Config{}, f.store, agents.Tools(t, f.env, f.store), nil, zap.NewNop())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hosting.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// group creates a target group of one database.
func (f *fixture) group(t *testing.T, name, database string) {
	t.Helper()
	_, err := targetgroups.On(f.store).Add(t.Context(), name)
	require.NoError(t, err)
	_, err = targetgroups.On(f.store).AddMember(t.Context(), name, targets.Member{
		Membership: targets.Include, Kind: targets.SQLDatabase, Server: f.env.ServerName, Database: database,
	})
	require.NoError(t, err)
}

// job creates a job of one step.
func (f *fixture) job(t *testing.T, name, command, group string) {
	t.Helper()
	_, err := catalog.On(f.store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	_, err = catalog.On(f.store).AddJobStep(t.Context(), model.StepSpec{JobName: name, Command: new(command), TargetGroup: new(group)})
	require.NoError(t, err)
}

// succeeds starts a run of a job and waits until it has succeeded.
func (f *fixture) succeeds(t *testing.T, job string, limit time.Duration) {
	t.Helper()
	id, err := executions.On(f.store).StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	var rows []executions.Execution
	eventually(t, limit, "the run of "+job+" has ended", func() bool {
		rows, err = executions.On(f.store).Rows(t.Context(), id)
		require.NoError(t, err)
		return len(rows) > 0 && !rows[0].Active
	}, func() string { return fmt.Sprintf("the run is %v", rows) })
	require.Equal(t, "Succeeded", string(rows[0].Lifecycle), rows[0].LastMessage)
}

// installAndVerify: `jobagent db verify` succeeds after `jobagent db install`, and the modules have
// the right options.
func installAndVerify(t *testing.T, f *fixture) {
	require.NoError(t, installed.On(f.store).Verify(t.Context()))
	differs, err := installed.On(f.store).Compare(t.Context())
	require.NoError(t, err)
	require.Empty(t, differs.Changed)
	require.Empty(t, differs.Missing)
	require.Zero(t, get[int](t, f.db, `SELECT COUNT(*) FROM sys.sql_modules WHERE uses_quoted_identifier = 0 OR uses_ansi_nulls = 0;`))
	require.NoError(t, deploy.On(f.store).Migrate(t.Context()), "a second deployment has nothing to do")
}

// percentInNames: THROW treats % as a format character, so messages double it.
func percentInNames(t *testing.T, f *fixture) {
	const name = `100%d of %s, 5%`
	f.group(t, "g", "nothing")
	f.job(t, "j", "SELECT 1;", "g")
	_, err := f.db.ExecContext(t.Context(), "EXEC jobs.sp_update_jobstep @job_name = N'j', @step_name = @p1, @command = N'SELECT 1;';", name)
	var e mssqldb.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, int32(50104), e.Number)
	require.Contains(t, e.Message, name)
	exec(t, f.db, "EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = @p1, @command = N'SELECT 1;', @target_group_name = N'g';", name)
	require.Equal(t, 1, get[int](t, f.db, "SELECT COUNT(*) FROM jobs.jobsteps WHERE step_name = @p1;", name))
}

// manySchedules: three agents, and schedules that are due every second.
func manySchedules(t *testing.T, f *fixture) {
	f.group(t, "one", f.env.CreateDatabase(t, "target"))
	for i := range f.size.schedules {
		job := fmt.Sprintf("job %02d", i)
		f.job(t, job, "SELECT 1;", "one")
		_, err := timetable.On(f.store).Add(t.Context(), timetable.Spec{JobName: job, Name: "every second", Kind: new("cron6"), Spec: new("* * * * * *")})
		require.NoError(t, err)
	}
	for range 3 {
		f.startAgent(t)
	}
	<-time.After(f.size.firing)
	const ended = `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL AND lifecycle = N'Succeeded';`
	const jobsEnded = `SELECT COUNT(DISTINCT job_name) FROM jobs.job_executions WHERE step_id IS NULL AND lifecycle = N'Succeeded';`
	eventually(t, f.size.limit, "every schedule has led to a run that succeeded", func() bool { return get[int](t, f.db, jobsEnded) == f.size.schedules },
		func() string { return fmt.Sprintf("%d of %d have", get[int](t, f.db, jobsEnded), f.size.schedules) })
	t.Logf("%d runs of %d schedules in %s", get[int](t, f.db, ended), f.size.schedules, f.size.firing)
	require.Zero(t, get[int](t, f.db, `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL AND lifecycle = N'Failed';`))
}

// ghost is an agent without workers: a term that claims tasks and reports that they have succeeded.
type ghost struct {
	f    *fixture
	term controldb.TermID
	// passes are the durations of the passes.
	passes []time.Duration
}

// newGhost starts a term.
func (f *fixture) newGhost(t *testing.T) *ghost {
	t.Helper()
	term, err := f.store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "test", Version: "test", MaxConcurrentTargets: 500}, time.Hour)
	require.NoError(t, err)
	return &ghost{f: f, term: term.ID}
}

// work makes one pass and completes the tasks that it claims. It returns the number of tasks.
func (g *ghost) work(ctx context.Context, list []targets.Target) (int, error) {
	began := time.Now()
	pass, err := g.f.store.Pass(ctx, controldb.PassRequest{Term: g.term, MaxTasks: 500, MaxConcurrentTargets: 500})
	if err != nil {
		return 0, err
	}
	g.passes = append(g.passes, time.Since(began))
	var outcomes []controldb.Outcome
	for _, task := range pass.Tasks {
		if task.Kind == controldb.TaskResolve {
			if err := g.f.store.CompleteResolution(ctx, g.term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}); err != nil {
				return 0, err
			}
			continue
		}
		outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded})
	}
	if len(outcomes) == 0 {
		return len(pass.Tasks), nil
	}
	refused, err := g.f.store.CompleteTasks(ctx, g.term, outcomes)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("outcome of task %d was refused: %s", refused[0].Task, refused[0].Reason)
	}
	return len(pass.Tasks), err
}

// list returns n targets that are never connected to.
func list(n int) []targets.Target {
	out := make([]targets.Target, n)
	for i := range out {
		out[i] = targets.Target{ID: uuid.New(), Server: "nowhere", Database: fmt.Sprintf("db%d", i)}
	}
	return out
}

// ghosts completes runs of a job on many targets with three terms at the same time.
func (f *fixture) ghosts(t *testing.T, job string, runs int) {
	t.Helper()
	for range runs {
		_, err := executions.On(f.store).StartJob(t.Context(), job, uuid.New())
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), f.size.limit)
	defer cancel()
	all := list(f.size.targets)
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		g := f.newGhost(t)
		wg.Go(func() {
			for active := 1; active > 0 && errs[i] == nil; {
				if _, errs[i] = g.work(ctx, all); errs[i] == nil {
					errs[i] = f.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE is_active = 1;`).Scan(&active)
				}
			}
			errs[i] = errors.Join(errs[i], f.store.EndTerm(context.WithoutCancel(ctx), g.term))
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// manyTargets: runs on as many targets as a large fleet has, shared by three agents; a stop
// request; a retention that deletes all of it.
func manyTargets(t *testing.T, f *fixture) {
	f.group(t, "all", "nothing")
	f.job(t, "wide", "SELECT 1;", "all")
	f.ghosts(t, "wide", 1)
	require.Equal(t, f.size.targets, get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.target_executions;`))

	id, err := executions.On(f.store).StartJob(t.Context(), "wide", uuid.New())
	require.NoError(t, err)
	g := f.newGhost(t)
	for n := 0; n == 0; { // until its targets exist
		_, err := g.work(t.Context(), list(f.size.targets))
		require.NoError(t, err)
		n = get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.target_executions AS t INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id WHERE e.is_active = 1;`)
	}
	exec(t, f.db, `EXEC jobs.sp_stop_job @p1;`, id.String())
	eventually(t, f.size.limit, "the run is canceled", func() bool {
		_, err := g.work(t.Context(), nil)
		require.NoError(t, err)
		return get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE is_active = 1;`) == 0
	}, func() string { return "it is active" })
	exec(t, f.db, `EXEC jobs.sp_purge_jobhistory N'wide';`)
	f.deleteLeftovers(t)
	require.NoError(t, f.store.EndTerm(t.Context(), g.term))
}

// deleteLeftovers deletes what purges and deletions of jobs leave, as agents do.
func (f *fixture) deleteLeftovers(t *testing.T) {
	t.Helper()
	eventually(t, f.size.limit, "no target of a run is left", func() bool {
		_, _, err := f.store.DeleteLeftovers(t.Context())
		require.NoError(t, err)
		return get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.target_executions;`) == 0
	}, func() string {
		return fmt.Sprintf("%d are", get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.target_executions;`))
	})
}

// openTransaction: a transaction in a query window has paused a schedule and stays open. Only this
// schedule waits.
func openTransaction(t *testing.T, f *fixture) {
	f.group(t, "one", f.env.CreateDatabase(t, "target"))
	f.job(t, "held", "SELECT 1;", "one")
	f.job(t, "other", "SELECT 1;", "one")
	_, err := timetable.On(f.store).Add(t.Context(), timetable.Spec{JobName: "held", Name: "every second", Kind: new("cron6"), Spec: new("* * * * * *")})
	require.NoError(t, err)
	_, err = timetable.On(f.store).Add(t.Context(), timetable.Spec{JobName: "other", Name: "every second", Kind: new("cron6"), Spec: new("* * * * * *")})
	require.NoError(t, err)
	for range 2 {
		f.startAgent(t)
	}
	ended := func(job string) int {
		return get[int](t, f.db, `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL AND job_name = @p1 AND lifecycle = N'Succeeded';`, job)
	}
	state := func() string {
		return fmt.Sprintf("held: %d runs, other: %d runs have succeeded", ended("held"), ended("other"))
	}
	eventually(t, time.Minute, "both schedules run", func() bool { return ended("held") > 1 && ended("other") > 1 }, state)

	window, err := f.db.Conn(t.Context())
	require.NoError(t, err)
	defer window.Close()
	_, err = window.ExecContext(t.Context(), "BEGIN TRANSACTION; EXEC jobs.sp_pause_schedule N'held', N'every second', 1, N'lunch';")
	require.NoError(t, err)
	before := ended("other")
	eventually(t, 30*time.Second, "the other schedule goes on while the transaction is open", func() bool { return ended("other") >= before+5 }, state)
	f.job(t, "new", "SELECT 1;", "one")
	f.succeeds(t, "new", 30*time.Second)
	_, err = window.ExecContext(t.Context(), "ROLLBACK TRANSACTION;")
	require.NoError(t, err)
	before = ended("held")
	eventually(t, time.Minute, "the held schedule goes on after the transaction", func() bool { return ended("held") > before }, state)
}

// deleteBigJob: the deletion of a job's history does not slow down the passes of other jobs.
func deleteBigJob(t *testing.T, f *fixture) {
	f.group(t, "all", "nothing")
	f.job(t, "big", "SELECT 1;", "all")
	for range f.size.runs { // one after the other, because a job has one active run
		f.ghosts(t, "big", 1)
	}
	f.job(t, "other", "SELECT 1;", "all")
	g := f.newGhost(t)
	deleted := make(chan error, 1)
	go func() {
		if err := catalog.On(f.store).DeleteJob(t.Context(), "big", true); err != nil {
			deleted <- err
			return
		}
		for { // as the agent's cleaner does at the request of a pass
			_, remaining, err := f.store.DeleteLeftovers(t.Context())
			if err != nil || !remaining {
				deleted <- err
				return
			}
		}
	}()
	during := 0
	for done := false; !done; {
		_, err := executions.On(f.store).StartJob(t.Context(), "other", uuid.New())
		require.NoError(t, err)
		for active := 1; active > 0; {
			_, err := g.work(t.Context(), list(10))
			require.NoError(t, err)
			active = get[int](t, f.db, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE is_active = 1;`)
		}
		select {
		case err := <-deleted:
			require.NoError(t, err)
			done = true
		default:
			during++
		}
	}
	slices.Sort(g.passes)
	median, longest := g.passes[len(g.passes)/2], g.passes[len(g.passes)-1]
	t.Logf("%d runs of another job during the deletion; %d passes: median %s, longest %s", during, len(g.passes), median, longest)
	require.Less(t, median, f.size.median)
	exec(t, f.db, `EXEC jobs.sp_delete_job N'other';`)
	f.deleteLeftovers(t)
	require.NoError(t, f.store.EndTerm(t.Context(), g.term))
}

// codePages: an output table keeps characters of its own code page that the code page of tempdb
// lacks.
func codePages(t *testing.T, f *fixture) {
	collation, text := "", "Grüße, 50 €"
	target := f.env.CreateDatabase(t, "target")
	if f.real { // the embedded server has only the code page 1252 and UTF-8
		collation, text = " COLLATE Cyrillic_General_CI_AS", "Привет, мир"
		tempdb := get[int](t, f.db, `SELECT CONVERT(INT, COLLATIONPROPERTY(CONVERT(NVARCHAR(128), DATABASEPROPERTYEX(N'tempdb', 'Collation')), 'CodePage'));`)
		require.NotEqual(t, 1251, tempdb, "the server's own code page must be another than 1251 for this test")
	}
	exec(t, f.env.DB(t, target), "CREATE TABLE dbo.out_table (internal_execution_id UNIQUEIDENTIFIER NULL, v VARCHAR(50)"+collation+" NULL, c CHAR(20)"+collation+" NULL, t TEXT"+collation+" NULL);")
	f.group(t, "one", target)
	_, err := catalog.On(f.store).AddJob(t.Context(), model.JobSpec{Name: "output"})
	require.NoError(t, err)
	kind, schema, table := "SqlDatabase", "dbo", "out_table"
	_, err = catalog.On(f.store).AddJobStep(t.Context(), model.StepSpec{
		JobName: "output", TargetGroup: new("one"),
		Command: new("SELECT v = N'" + text + "', c = N'" + text + "', t = N'" + text + "';"),
		Output:  &model.OutputSpec{Type: &kind, Server: &f.env.ServerName, Database: &target, Schema: &schema, Table: &table},
	})
	require.NoError(t, err)
	f.startAgent(t)
	f.succeeds(t, "output", time.Minute)
	for _, column := range []string{"v", "c", "CONVERT(NVARCHAR(MAX), t)"} {
		got := get[string](t, f.env.DB(t, target), "SELECT CONVERT(NVARCHAR(100), "+column+") FROM dbo.out_table;")
		require.Equal(t, text, strings.TrimRight(got, " "), "column %s", column)
	}
}
