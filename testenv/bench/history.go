package bench

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

//go:embed history.sql
var fillHistory string

// Sizes of the history that fillHistory creates.
const (
	HistoryRowsOfRun = 10   // rows of jobs.job_executions
	historyBatch     = 1000 // maximum number of runs in one call
	historyJobs      = 10   // number of jobs
	historyAge       = 40 * 24 * time.Hour
)

// historyPage is the number of rows of a measured query, and of runs that one purge deletes.
const historyPage = 20

// historyReads is the number of short calls that are measured per purge. A short call takes about
// 0.1 ms, so that single measurements are noisy.
const historyReads = 30

// HistoryFirst is the number of runs of the short history: a page for each job, and the runs for
// the purges.
const HistoryFirst = 2 * historyJobs * historyPage

// history are the parameters of `jobagent bench history`.
type history struct {
	executions, rounds int
}

// newHistoryCommand returns `jobagent bench history`.
func newHistoryCommand(b *bench) *cobra.Command {
	h := history{}
	cmd := &cobra.Command{
		Use: "history", Short: "Effect of a long history on the agent, the monitoring queries and the purge",
		Long: fmt.Sprintf(`Measure the calls of runs with an empty history, and queries and purges with %d finished runs; then
grow the history to the given number of rows of jobs.job_executions, and measure the same again.
Figures are medians in milliseconds.`, HistoryFirst),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case h.executions < HistoryFirst*HistoryRowsOfRun || h.executions > 100_000_000:
				return b.Usagef("--executions %d: must be %d to 100000000", h.executions, HistoryFirst*HistoryRowsOfRun)
			case h.rounds < 1 || h.rounds >= HistoryFirst/historyPage:
				return b.Usagef("--rounds %d: must be 1 to %d", h.rounds, HistoryFirst/historyPage-1)
			}
			return b.history(cmd.Context(), h)
		},
	}
	cmd.Flags().IntVar(&h.executions, "executions", 1_000_000, "rows of jobs.job_executions in the long history")
	cmd.Flags().IntVar(&h.rounds, "rounds", 10, "purges; runs are measured 3 times as often, and other calls 30 times")
	return cmd
}

// historyFigures has medians by name, and the names in the order of the measurements.
type historyFigures struct {
	names  []string
	values map[string]time.Duration
}

// record stores the median of durations.
func (f *historyFigures) record(name string, list []time.Duration) {
	slices.Sort(list)
	f.names = append(f.names, name)
	f.values[name] = percentile(list, 500)
}

// history implements `jobagent bench history`.
func (b *bench) history(ctx context.Context, h history) (err error) {
	s, err := b.startBench(ctx, "history", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	databases, err := s.createTargets(ctx, "bench history", 1)
	if err != nil {
		return err
	}
	for i := range historyJobs {
		spec := model.JobSpec{Name: historyJob(i)}
		if err := s.job(ctx, spec, "bench history", "SELECT 1;"); err != nil {
			return err
		}
		second := "second"
		if _, err := catalog.On(s.store).AddJobStep(ctx, model.StepSpec{JobName: spec.Name, StepName: &second, Command: new("SELECT 2;"),
			TargetGroup: new("bench history")}); err != nil {
			return err
		}
	}
	warm := historyFigures{values: map[string]time.Duration{}}
	if err := s.measureRuns(ctx, databases[0], 3, &warm); err != nil {
		return err
	}
	short := historyFigures{values: map[string]time.Duration{}}
	if err := s.measureRuns(ctx, databases[0], 3*h.rounds, &short); err != nil {
		return err
	}
	runs := h.executions / HistoryRowsOfRun
	fill := historyFill{jobs: "bench history", oldest: time.Now().UTC().Add(-historyAge),
		spacing: min(historyAge/time.Duration(runs+1), 30*time.Minute)}
	if fill.term, err = s.endedTerm(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, fill, 0, HistoryFirst); err != nil {
		return err
	}
	if err := s.measureHistory(ctx, h.rounds, &short); err != nil {
		return err
	}
	began := time.Now()
	if err := s.fill(ctx, fill, HistoryFirst, runs+(h.rounds+1)*(historyPage+1)); err != nil { // replaces the purged runs
		return err
	}
	s.report.add("fill", time.Since(began).Seconds(), "s", "")
	var rows int
	if err := s.control.QueryRowContext(ctx, "SELECT COUNT(*) FROM jobs.job_executions;").Scan(&rows); err != nil {
		return fmt.Errorf("count the history: %w", err)
	}
	s.report.add("executions", float64(rows), "", "")
	long := historyFigures{values: map[string]time.Duration{}}
	if err := s.measureRuns(ctx, databases[0], 3, &warm); err != nil {
		return err
	}
	if err := s.measureRuns(ctx, databases[0], 3*h.rounds, &long); err != nil {
		return err
	}
	if err := s.measureHistory(ctx, h.rounds, &long); err != nil {
		return err
	}
	// What the summaries of failures and of recent runs read depends on the runs of the last days,
	// of which the short history has none.
	if err := s.measurePeriods(ctx, h.rounds, &long); err != nil {
		return err
	}
	for _, name := range HistoryPeriods {
		s.report.add(name, milliseconds(long.values[name]), "ms", "")
	}
	for _, name := range short.names {
		s.report.add(name+"_short", milliseconds(short.values[name]), "ms", "")
		s.report.add(name+"_long", milliseconds(long.values[name]), "ms", "")
		s.report.add(name+"_ratio", float64(long.values[name])/float64(max(short.values[name], 1)), "", "<= 2")
	}
	return b.Print(s.report)
}

// historyJob returns the name of a job with a history.
func historyJob(i int) string { return fmt.Sprintf("bench history %d", i) }

// historyFill has the parameters of fillHistory.
type historyFill struct {
	jobs    string // prefix of their names
	oldest  time.Time
	spacing time.Duration
	term    controldb.TermID
}

// historyTerm starts a term of the benchmark's agent. All terms belong to one agent, so that the
// list of agents does not grow.
func (s *installation) historyTerm(ctx context.Context) (controldb.Term, error) {
	who := controldb.Agent{ID: uuid.NewSHA1(uuid.Nil, []byte("bench history")), Host: "bench",
		Version: version, MaxConcurrentTargets: 1}
	return s.store.StartTerm(ctx, who, time.Hour)
}

// endedTerm returns a term that has ended.
func (s *installation) endedTerm(ctx context.Context) (controldb.TermID, error) {
	term, err := s.historyTerm(ctx)
	if err != nil {
		return controldb.TermID{}, err
	}
	return term.ID, s.store.EndTerm(ctx, term.ID)
}

// fill adds the runs with the numbers from <= n < to.
func (s *installation) fill(ctx context.Context, f historyFill, from, to int) error {
	for ; from < to; from += historyBatch {
		_, err := s.control.ExecContext(ctx, fillHistory, sql.Named("first", from),
			sql.Named("count", min(historyBatch, to-from)),
			sql.Named("oldest", f.oldest), sql.Named("spacing", f.spacing.Milliseconds()), sql.Named("jobs", f.jobs),
			sql.Named("term_id", f.term.Number))
		if err != nil {
			return fmt.Errorf("fill the history: %w", err)
		}
	}
	return nil
}

// HistoryCalls names the calls that measureRuns measures: a pass without work, the start of a run
// and the pass that claims its resolution, a pass that claims a target, an outcome, the pass that
// starts the next step, and the pass that ends the run.
var HistoryCalls = [...]string{"pass_idle", "start_to_claim", "pass_claiming", "complete", "pass_next_step",
	"pass_ending"}

// measureRuns executes runs with one target and measures the calls of the agent.
func (s *installation) measureRuns(ctx context.Context, database string, rounds int, f *historyFigures) error {
	term, err := s.historyTerm(ctx)
	if err != nil {
		return err
	}
	pass := controldb.PassRequest{Term: term.ID, MaxTasks: 1, MaxConcurrentTargets: 1}
	durations := map[string][]time.Duration{}
	timed := func(name string, call func() error) error {
		began := time.Now()
		err := call()
		durations[name] = append(durations[name], time.Since(began))
		return err
	}
	for range rounds {
		if err := timed(HistoryCalls[0], func() error { _, err := s.store.Pass(ctx, pass); return err }); err != nil {
			return err
		}
		var task controldb.Task
		var err error
		claim := func() error { task, err = s.claim(ctx, pass); return err }
		err = timed(HistoryCalls[1], func() error {
			if _, err := executions.On(s.store).StartJob(ctx, historyJob(historyJobs-1), uuid.Nil); err != nil {
				return err
			}
			return claim()
		})
		if err != nil {
			return err
		}
		for step := range 2 {
			if step > 0 {
				if err := timed(HistoryCalls[4], claim); err != nil { // the first step ends, and the second one begins
					return err
				}
			}
			id, err := uuid.NewRandom()
			if err != nil {
				return err
			}
			list := []targets.Target{{ID: id, Server: s.serverName, Database: database}}
			if err := s.store.CompleteResolution(ctx, term.ID, task.ID,
				controldb.Resolution{Attempt: task.Attempt, Targets: list}); err != nil {
				return err
			}
			if err := timed(HistoryCalls[2], claim); err != nil {
				return err
			}
			err = timed(HistoryCalls[3], func() error {
				refused, err := s.store.CompleteTasks(ctx, term.ID, []controldb.Outcome{{Task: task.ID, Attempt: task.Attempt,
					Outcome: targets.Succeeded}})
				if len(refused) > 0 {
					return fmt.Errorf("outcome of task %d was refused: %s", refused[0].Task, refused[0].Reason)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := timed(HistoryCalls[5], func() error { _, err := s.store.Pass(ctx, pass); return err }); err != nil {
			return err
		}
	}
	for _, name := range HistoryCalls {
		f.record(name, durations[name])
	}
	return s.store.EndTerm(ctx, term.ID)
}

// claim makes passes until one claims a task. A pass that creates the step may not claim its
// resolution yet.
func (s *installation) claim(ctx context.Context, pass controldb.PassRequest) (controldb.Task, error) {
	for range 3 {
		result, err := s.store.Pass(ctx, pass)
		if err != nil {
			return controldb.Task{}, err
		}
		if len(result.Tasks) > 0 {
			return result.Tasks[0], nil
		}
	}
	return controldb.Task{}, errors.New("the started run has no task")
}

// historyQuery is a query for monitoring, as in the documentation.
type historyQuery struct {
	name, text string
}

// historyQueries have the parameters @job (a job's name), @run (a run's ID) and @page (number of
// rows).
var historyQueries = []historyQuery{
	{"query_runs_of_job", "SELECT TOP (@page) * FROM jobs.job_executions WHERE job_name = @job AND step_id IS NULL ORDER BY start_time DESC;"},
	{"query_runs", "SELECT TOP (@page) * FROM jobs.job_executions WHERE step_id IS NULL ORDER BY start_time DESC;"},
	{"query_active", "SELECT * FROM jobs.job_executions WHERE is_active = 1 ORDER BY start_time DESC;"},
	{"query_active_of_job", "SELECT * FROM jobs.job_executions WHERE is_active = 1 AND job_name = @job ORDER BY start_time DESC;"},
	{"query_run", "SELECT * FROM jobs.job_executions WHERE job_execution_id = @run ORDER BY step_id, target_database_name;"},
	{"query_top", "SELECT TOP (@page) * FROM jobs.job_executions;"},
	{"query_messages_of_run", "SELECT * FROM jobs.job_execution_messages WHERE job_execution_id = @run;"},
}

// measureHistory measures queries and purges of the history.
func (s *installation) measureHistory(ctx context.Context, rounds int, f *historyFigures) error {
	var run mssqldb.UniqueIdentifier
	err := s.control.QueryRowContext(ctx, "SELECT TOP (1) e.job_execution_id FROM jobs_internal.job_executions AS e WHERE e.lifecycle = N'Failed' ORDER BY e.start_time DESC;").Scan(&run)
	if err != nil {
		return fmt.Errorf("choose a run: %w", err)
	}
	job := historyJob(0)
	active, err := executions.On(s.store).StartJob(ctx, job, uuid.Nil)
	if err != nil {
		return err
	}
	for _, q := range historyQueries {
		call := func() error {
			rows, err := s.control.QueryContext(ctx, q.text, sql.Named("job", job), sql.Named("run", run),
				sql.Named("page", historyPage))
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		}
		if err := f.repeat(q.name, historyReads*rounds, call); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		name  string
		query executions.Query
	}{
		{"list_runs_of_job", executions.Query{JobName: job}},
		{"list_runs", executions.Query{System: true}},
		{"list_active", executions.Query{System: true, Filter: executions.Filter{Active: new(true)}}},
		{"list_active_of_job", executions.Query{JobName: job, Filter: executions.Filter{Active: new(true)}}},
		{"list_run", executions.Query{ID: uuid.UUID(run)}},
	} {
		if err := f.repeat(q.name, historyReads*rounds, func() error {
			if q.query.ID != uuid.Nil {
				_, err := executions.On(s.store).Rows(ctx, q.query.ID)
				return err
			}
			_, err := executions.On(s.store).List(ctx, q.query, controldb.Page[executions.Key]{Top: historyPage})
			return err
		}); err != nil {
			return err
		}
	}
	if err := executions.On(s.store).Stop(ctx, active); err != nil {
		return err
	}
	if err := s.measureManagement(ctx, rounds, f); err != nil {
		return err
	}
	if err := s.measureJobPurge(ctx, historyJob(1), rounds, f); err != nil {
		return err
	}
	return f.repeat("purge", rounds, func() error {
		_, err := s.control.ExecContext(ctx, "EXECUTE jobs_internal.purge_history @batch_size = @page, @retention_days = 30;", sql.Named("page", historyPage))
		return err
	})
}

// measureManagement measures procedures that do not belong to a run.
func (s *installation) measureManagement(ctx context.Context, rounds int, f *historyFigures) error {
	for _, m := range []struct {
		name string
		call func() error
	}{
		{"term", func() error { _, err := s.endedTerm(ctx); return err }},
		{"due_schedules", func() error { _, err := s.store.DueSchedules(ctx, historyPage); return err }},
		{"list_jobs", func() error { _, err := catalog.On(s.store).Jobs(ctx, ""); return err }},
		{"list_agents", func() error { _, err := fleet.On(s.store).List(ctx); return err }},
		{"overview", func() error { _, err := summary.On(s.store).Overview(ctx, historyPage); return err }},
		{"limits", func() error { _, err := summary.On(s.store).LimitUse(ctx, historyPage); return err }},
		{"add_and_delete_job", func() error {
			const name = "bench history, for a moment" // a job without history
			if err := s.job(ctx, model.JobSpec{Name: name}, "bench history", "SELECT 1;"); err != nil {
				return err
			}
			return catalog.On(s.store).DeleteJob(ctx, name, false)
		}},
	} {
		if err := f.repeat(m.name, historyReads*rounds, m.call); err != nil {
			return err
		}
	}
	return nil
}

// HistoryPeriods names the calls that measurePeriods measures: the failures of the last 24 hours,
// and the runs of the last week.
var HistoryPeriods = [...]string{"failures", "recent_runs"}

// measurePeriods measures summaries of the last days.
func (s *installation) measurePeriods(ctx context.Context, rounds int, f *historyFigures) error {
	if err := f.repeat(HistoryPeriods[0], rounds, func() error { _, err := summary.On(s.store).Failures(ctx, 24); return err }); err != nil {
		return err
	}
	return f.repeat(HistoryPeriods[1], rounds, func() error { _, err := summary.On(s.store).RecentRuns(ctx, 7, 30, 30); return err })
}

// measureJobPurge measures the purge of a job's oldest run.
func (s *installation) measureJobPurge(ctx context.Context, job string, rounds int, f *historyFigures) error {
	rows, err := s.control.QueryContext(ctx, `SELECT TOP (@n) e.create_time FROM jobs.job_executions AS e
WHERE e.job_name = @job AND e.step_id IS NULL ORDER BY e.create_time;`, sql.Named("n", rounds+2), sql.Named("job", job))
	if err != nil {
		return fmt.Errorf("find the oldest runs: %w", err)
	}
	defer rows.Close()
	var created []time.Time
	for rows.Next() {
		var at time.Time
		if err := rows.Scan(&at); err != nil {
			return fmt.Errorf("find the oldest runs: %w", err)
		}
		created = append(created, at)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find the oldest runs: %w", err)
	}
	if len(created) < rounds+2 {
		return fmt.Errorf("the job %q has %d runs left, too few to purge", job, len(created))
	}
	created = created[1:]
	return f.repeat("purge_of_job", rounds, func() error {
		oldest := created[0]
		created = created[1:]
		return executions.On(s.store).Purge(ctx, executions.PurgeRequest{JobName: job, Oldest: oldest})
	})
}

// repeat measures a call after one unmeasured call.
func (f *historyFigures) repeat(name string, rounds int, call func() error) error {
	list := make([]time.Duration, 0, rounds)
	for i := range rounds + 1 {
		began := time.Now()
		if err := call(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 {
			list = append(list, time.Since(began))
		}
	}
	f.record(name, list)
	return nil
}
