package bench

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
)

// bounds are the parameters of `jobagent bench bounds`.
type bounds struct {
	small, large int
}

// newBoundsCommand returns `jobagent bench bounds`.
func newBoundsCommand(b *bench) *cobra.Command {
	n := bounds{}
	cmd := &cobra.Command{
		Use: "bounds", Short: "The time and the rows of a call, for few and for many targets",
		Long: `Do what changes all targets of a run, first with --small and then with --large targets: write the list
of a resolution, cancel a stopped run, end targets past their time limit, judge the ended runs for
alerts, and write the list of a rerun. Then let the targets wait that belong to 1,000 runs of as many
jobs, because their server is down: attempt 2,000 of them in calls of 100, and end all by their time
limit at once. Then delete a tenth as many runs of a history, and as many entries of the audit log.
Measure how long calls take, and the most rows that one call changes, which is at least what
its longest transaction changes. Neither may grow with the number of targets (bar: 1.5 times). The bar
for the time is about the medians of the calls that change the most rows, without the first call of
each work, which compiles plans: the longest one of 40 calls exceeds the longest one of 3 by chance.
The 90th percentile of these calls and the longest call of all are reported beside it, and the ratio of
the longest calls without the first one, also of those that change no row but read many. The rows are
counted in the tables after each call, outside of the measured time. The processor's time of a call
includes the embedded server, and depends less on what else the machine does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n.small < 1 || n.large < n.small || n.large > 10_000_000 {
				return b.Usagef("--small %d, --large %d: must be 1 to 10000000, and large not below small", n.small, n.large)
			}
			return b.bounds(cmd.Context(), n)
		},
	}
	cmd.Flags().IntVar(&n.small, "small", 10_000, "targets of the small run")
	cmd.Flags().IntVar(&n.large, "large", 500_000, "targets of the large run")
	return cmd
}

// boundsJob is the name of the job and its target group.
const boundsJob = "bench bounds"

// boundsCase is work on n rows that takes several calls.
type boundsCase struct {
	name string
	// begin prepares the work, without being measured.
	begin func(ctx context.Context, n int) error
	// call makes the next call, and returns whether more follow.
	call func(ctx context.Context) (more bool, err error)
	// done is a query that counts the rows that were changed so far.
	done string
	// rows returns how many rows that must be at the end; nil: n.
	rows func(n int) int
}

// boundsWork is what the cases share: a term, and the run at hand.
type boundsWork struct {
	*installation
	term controldb.Term
	run  uuid.UUID
	// jobs is the number of jobs of the outage that exist, and attempts how many attempts are left.
	jobs, attempts int
	// parts are calls that store the parts of a resolution, before passes write the list.
	parts []func(context.Context) error
}

// pass makes a pass that claims nothing.
func (w *boundsWork) pass(ctx context.Context) (more bool, err error) {
	res, err := w.store.Pass(ctx, controldb.PassRequest{Term: w.term.ID, MaxConcurrentTargets: 1})
	return res.More(), err
}

// lastTarget counts the targets that were ever created, by the last number. A count of all rows
// would take the processor's caches from the next call. IDENT_CURRENT of a new table is its seed.
const lastTarget = `SELECT CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.target_executions)
    THEN CAST(IDENT_CURRENT(N'jobs_internal.target_executions') AS BIGINT) ELSE 0 END;`

// cases returns the cases. Each one continues with the run of the one before it.
func (w *boundsWork) cases() []boundsCase {
	return []boundsCase{
		{name: "resolution", begin: w.resolve, call: w.write, done: lastTarget},
		{
			name: "stop", begin: func(ctx context.Context, _ int) error { return executions.On(w.store).Stop(ctx, w.run) }, call: w.pass,
			done: "SELECT COUNT(*) FROM jobs_internal.target_executions WHERE lifecycle = N'Canceled';",
		},
		{
			name: "time_limit", begin: w.expire, call: w.pass,
			done: "SELECT COUNT(*) FROM jobs_internal.target_executions WHERE lifecycle = N'TimedOut';",
		},
		{
			name: "alerts", begin: func(context.Context, int) error { return nil },
			call: func(ctx context.Context) (bool, error) { return alerting.On(w.store).Evaluate(ctx, 0) },
			done: "SELECT -COUNT(*) FROM jobs_internal.alert_runs;", rows: func(int) int { return 2 }, // stopped, and past its time
		},
		{name: "rerun", begin: w.rerun, call: w.pass, done: lastTarget},
		{name: "outage", begin: w.outage, call: w.attempt, done: lastTask, rows: outageAttempts},
		{name: "outage_end", begin: w.endOutage, call: w.pass, done: activeTargets},
		{
			name: "purge", begin: w.fillHistory, call: w.purge,
			done: "SELECT -COUNT(*) FROM jobs_internal.job_executions WHERE purged_at IS NULL;", rows: historyRuns,
		},
		{
			name: "audit", begin: w.fillAudit, call: w.deleteAudit,
			done: "SELECT -COUNT(*) FROM jobs_internal.audit_entries WHERE at < '2001-01-01';",
		},
	}
}

// historyRuns returns the number of runs whose history is purged: each has about ten rows.
func historyRuns(n int) int { return max(n/HistoryRowsOfRun, 1) }

// fillHistory adds runs that are older than the retention.
func (w *boundsWork) fillHistory(ctx context.Context, n int) error {
	if err := finish(ctx, func(ctx context.Context) (bool, error) { return alerting.On(w.store).Evaluate(ctx, 0) }); err != nil {
		return err
	}
	return w.fill(ctx, historyFill{oldest: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), spacing: time.Second,
		jobs: boundsJob, term: w.term.ID}, 0, historyRuns(n))
}

//go:embed audit.sql
var fillAudit string

// fillAudit adds entries to the audit log that are older than their retention, before all others.
func (w *boundsWork) fillAudit(ctx context.Context, n int) error {
	for first := 0; first < n; first += historyBatch {
		_, err := w.control.ExecContext(ctx, fillAudit, sql.Named("count", min(historyBatch, n-first)))
		if err != nil {
			return fmt.Errorf("fill the audit log: %w", err)
		}
	}
	return nil
}

// deleteAudit deletes one batch of audit entries. The retention job repeats that for two seconds at
// most, each time in a transaction of its own.
func (w *boundsWork) deleteAudit(ctx context.Context) (more bool, err error) {
	_, err = w.control.ExecContext(ctx, "EXECUTE jobs_internal.delete_audit_entries @until = NULL, @now = @now;",
		sql.Named("now", time.Now().UTC()))
	if err != nil {
		return false, fmt.Errorf("delete audit entries: %w", err)
	}
	// A batch also examines the entries that the calls of this measurement have made, so it may
	// delete fewer than 1,000.
	err = w.control.QueryRowContext(ctx, "SELECT CASE WHEN EXISTS (SELECT * FROM jobs_internal.audit_entries WHERE at < '2001-01-01') THEN 1 ELSE 0 END;").Scan(&more)
	if err != nil {
		return false, fmt.Errorf("look for audit entries: %w", err)
	}
	return more, nil
}

// purge makes one call of the retention job.
func (w *boundsWork) purge(ctx context.Context) (more bool, err error) {
	_, more, err = w.store.PurgeBatch(ctx, w.term.ID, historyPage)
	return more, err
}

// boundsTarget is a target in the argument of complete_resolution.
type boundsTarget struct {
	Ordinal  int    `json:"ordinal"`
	Server   string `json:"server_name"`
	Database string `json:"database_name"`
}

// resolve starts a run and prepares the calls that resolve its group into n databases.
func (w *boundsWork) resolve(ctx context.Context, n int) (err error) {
	if w.run, err = executions.On(w.store).StartJob(ctx, boundsJob, uuid.Nil); err != nil {
		return err
	}
	task, err := w.claim(ctx, controldb.PassRequest{Term: w.term.ID, MaxTasks: 1, MaxConcurrentTargets: 1})
	if err != nil {
		return err
	}
	for first := 0; first < n; first += controldb.TargetsPerCall {
		end := min(first+controldb.TargetsPerCall, n)
		list := make([]boundsTarget, 0, end-first)
		for i := first; i < end; i++ {
			list = append(list, boundsTarget{Ordinal: i + 1, Server: "bench.invalid", Database: fmt.Sprint("d", i)})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("write targets: %w", err)
		}
		w.parts = append(w.parts, func(ctx context.Context) error {
			// As Store.CompleteResolution does for all parts together.
			_, err := w.control.ExecContext(ctx, `EXECUTE jobs_internal.complete_resolution @term_id = @term, @task_id = @task,
    @attempt = @attempt, @targets = @targets, @part = @part, @more = @more;`,
				sql.Named("term", w.term.ID.Number), sql.Named("task", int64(task.ID)), sql.Named("attempt", task.Attempt),
				sql.Named("targets", string(text)), sql.Named("part", first/controldb.TargetsPerCall+1), sql.Named("more", end < n))
			return err
		})
	}
	return nil
}

// write makes the calls that resolve prepared, and then passes.
func (w *boundsWork) write(ctx context.Context) (more bool, err error) {
	if len(w.parts) > 0 {
		next := w.parts[0]
		w.parts = w.parts[1:]
		return true, next(ctx)
	}
	return w.pass(ctx)
}

// finish calls more until there is no more.
func finish(ctx context.Context, more func(context.Context) (bool, error)) error {
	for {
		if again, err := more(ctx); err != nil || !again {
			return err
		}
	}
}

// expire starts a run with n targets that have failed once, and whose time limit passes while they
// wait for a retry.
func (w *boundsWork) expire(ctx context.Context, n int) error {
	if err := w.resolve(ctx, n); err != nil {
		return err
	}
	if err := finish(ctx, w.write); err != nil {
		return err
	}
	_, err := w.control.ExecContext(ctx, `UPDATE t
SET t.lifecycle = N'WaitingForRetry', t.attempts = 1, t.deadline_at = DATEADD(SECOND, -1, t.next_attempt_at)
FROM jobs_internal.target_executions AS t
WHERE t.is_active = 1;`)
	if err != nil {
		return fmt.Errorf("set time limits: %w", err)
	}
	return nil
}

// rerun starts the rerun of the run at hand, all of whose targets exceeded their time limit.
func (w *boundsWork) rerun(ctx context.Context, _ int) (err error) {
	if w.run, err = executions.On(w.store).Rerun(ctx, executions.RerunRequest{Origin: w.run}); err != nil {
		return err
	}
	_, err = w.pass(ctx) // creates the step
	return err
}

// boundsFigures are the figures of one case.
type boundsFigures struct {
	calls   int
	longest time.Duration
	later   time.Duration   // longest of all calls but the first one, or the only one
	rows    int             // most rows of a call
	full    []time.Duration // of the calls with so many rows, in their order
	used    []time.Duration // processor's time of the same calls
}

// add adds a call that changed rows.
func (f *boundsFigures) add(took, used time.Duration, rows int) {
	f.calls++
	f.longest = max(f.longest, took)
	if f.calls <= 2 {
		f.later = took
	}
	f.later = max(f.later, took)
	if rows > f.rows {
		f.rows, f.full, f.used = rows, nil, nil
	}
	if rows == f.rows {
		f.full = append(f.full, took)
		f.used = append(f.used, used)
	}
}

// sorted returns times of the calls with the most rows in ascending order: of all but the first
// one, or of the only one.
func sorted(list []time.Duration) []time.Duration {
	list = slices.Clone(list)
	if len(list) > 1 {
		list = list[1:]
	}
	slices.Sort(list)
	return list
}

// measure carries out a case.
func (w *boundsWork) measure(ctx context.Context, c boundsCase, n int) (f boundsFigures, err error) {
	if err := c.begin(ctx, n); err != nil {
		return f, err
	}
	count := func() (rows int, err error) {
		err = w.control.QueryRowContext(ctx, c.done).Scan(&rows)
		return rows, err
	}
	before, err := count()
	if err != nil {
		return f, err
	}
	first := before
	for more := true; more; {
		began, usedBefore := time.Now(), cpuSeconds()
		if more, err = c.call(ctx); err != nil {
			return f, err
		}
		took := time.Since(began)
		used := time.Duration((cpuSeconds() - usedBefore) * float64(time.Second))
		after, err := count()
		if err != nil {
			return f, err
		}
		f.add(took, used, after-before)
		before = after
	}
	if c.rows != nil {
		n = c.rows(n)
	}
	if before-first != n {
		return f, fmt.Errorf("%d rows were changed, want %d", before-first, n)
	}
	return f, nil
}

// bounds implements `jobagent bench bounds`.
func (b *bench) bounds(ctx context.Context, p bounds) (err error) {
	s, err := b.startBench(ctx, "bounds", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.group(ctx, boundsJob, "d"); err != nil {
		return err
	}
	if err := s.job(ctx, model.JobSpec{Name: boundsJob}, boundsJob, "SELECT 1;"); err != nil {
		return err
	}
	job, ended := boundsJob, "Canceled, TimedOut"
	change := alerting.Change{JobName: &job, Lifecycles: &ended}
	if err := alerting.On(s.store).AddRule(ctx, "bench bounds", model.AlertRunEnded, change); err != nil {
		return err
	}
	w := &boundsWork{installation: s}
	if w.term, err = s.historyTerm(ctx); err != nil {
		return err
	}
	figures := map[string]*boundsFigures{}
	for _, n := range []int{p.small, p.large} {
		for _, c := range w.cases() {
			f, err := w.measure(ctx, c, n)
			if err != nil {
				return fmt.Errorf("%s of %d targets: %w", c.name, n, err)
			}
			if n == p.small && figures[c.name] == nil {
				figures[c.name] = &f
			}
			name := fmt.Sprintf("%s_%d", c.name, n)
			times := sorted(f.full)
			s.report.add(name+"_calls", float64(f.calls), "", "")
			s.report.add(name+"_call_p50", milliseconds(percentile(times, 500)), "ms", "")
			s.report.add(name+"_call_p90", milliseconds(percentile(times, 900)), "ms", "")
			s.report.add(name+"_call_cpu_p50", milliseconds(percentile(sorted(f.used), 500)), "ms", "")
			s.report.add(name+"_longest_call", milliseconds(f.longest), "ms", "")
			s.report.add(name+"_rows_of_a_call", float64(f.rows), "", "")
			if n == p.large {
				few := figures[c.name]
				s.report.add(c.name+"_call_ratio", float64(percentile(times, 500))/float64(max(percentile(sorted(few.full), 500), 1)), "", "<= 1.5")
				s.report.add(c.name+"_cpu_ratio", float64(percentile(sorted(f.used), 500))/float64(max(percentile(sorted(few.used), 500), 1)), "", "")
				s.report.add(c.name+"_longest_ratio", float64(f.later)/float64(max(few.later, 1)), "", "")
				s.report.add(c.name+"_rows_ratio", float64(f.rows)/float64(max(few.rows, 1)), "", "<= 1.5")
			}
		}
	}
	return b.Print(s.report)
}
