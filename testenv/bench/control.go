package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// control are the parameters of `jobagent bench control`.
type control struct {
	tasks, batch, connections, updates, rounds int
	queuedFew, queuedMany                      int
	compare                                    compared
}

// newControlCommand returns `jobagent bench control`.
func newControlCommand(b *bench) *cobra.Command {
	c := control{}
	cmd := &cobra.Command{
		Use: "control", Short: "Tasks per second in the control database, compared with single-row UPDATEs, and memory",
		Long: `Claim and complete tasks with the two procedures of an agent, without work in between. For
comparison, run single-row UPDATEs by primary key, each in a transaction of its own, on the same
number of connections to the same database. Both alternate, and each figure is the median of the
rounds. Then compare the process's memory (live heap after a collection, embedded server included)
while an agent works on few and on many queued targets.

With --compare, the calls alternate between a client without and one with metrics or traces, and the
figures are the cost of those.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.tasks < 1 || c.tasks > 1_000_000:
				return b.Usagef("--tasks %d: must be 1 to 1000000", c.tasks)
			case c.batch < 1 || c.batch > 10_000:
				return b.Usagef("--batch %d: must be 1 to 10000", c.batch)
			case c.connections < 1 || c.connections > 64:
				return b.Usagef("--connections %d: must be 1 to 64", c.connections)
			case c.updates < 1:
				return b.Usagef("--updates %d: must be at least 1", c.updates)
			case c.rounds < 1 || c.rounds > 100:
				return b.Usagef("--rounds %d: must be 1 to 100", c.rounds)
			case c.queuedFew < 1 || c.queuedMany < 1:
				return b.Usagef("--queued-few and --queued-many must be at least 1")
			}
			return b.control(cmd.Context(), c)
		},
	}
	cmd.Flags().IntVar(&c.tasks, "tasks", 20_000, "tasks to claim and complete")
	cmd.Flags().IntVar(&c.batch, "batch", 1000, "tasks per call; agents deliver at most 1000 outcomes per call")
	cmd.Flags().IntVar(&c.connections, "connections", 2,
		"concurrent terms, each with its own connection")
	cmd.Flags().IntVar(&c.updates, "updates", 5000, "UPDATEs for comparison")
	cmd.Flags().IntVar(&c.rounds, "rounds", 5, "measurements of each kind")
	addCompareFlag(cmd, &c.compare)
	cmd.Flags().IntVar(&c.queuedFew, "queued-few", 1000, "queued targets of the first memory measurement")
	cmd.Flags().IntVar(&c.queuedMany, "queued-many", 50_000, "queued targets of the second one")
	return cmd
}

// control implements `jobagent bench control`.
func (b *bench) control(ctx context.Context, c control) (err error) {
	s, err := b.startBench(ctx, "control", c.connections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	databases, err := s.createTargets(ctx, "bench control", 1)
	if err != nil {
		return err
	}
	if err := s.job(ctx, model.JobSpec{Name: "bench control"}, "bench control", "SELECT 1;"); err != nil {
		return err
	}
	if c.compare.on() {
		return b.compareControl(ctx, s, c, databases[0])
	}
	if _, err := s.noopTasks(ctx, control{tasks: min(c.tasks, 2*c.batch), batch: c.batch, connections: c.connections},
		databases[0]); err != nil {
		return err // these warm up
	}
	if _, err := s.bareUpdates(ctx, control{updates: min(c.updates, 500), connections: c.connections}); err != nil {
		return err
	}
	var taskRates, updateRates []float64
	for range c.rounds {
		bare, err := s.bareUpdates(ctx, c)
		if err != nil {
			return err
		}
		elapsed, err := s.noopTasks(ctx, c, databases[0])
		if err != nil {
			return err
		}
		taskRates = append(taskRates, float64(c.tasks)/elapsed.Seconds())
		updateRates = append(updateRates, float64(c.updates)/bare.Seconds())
	}
	few, err := b.queuedMemory(ctx, s, "bench memory few", databases[0], c.queuedFew)
	if err != nil {
		return err
	}
	many, err := b.queuedMemory(ctx, s, "bench memory many", databases[0], c.queuedMany)
	if err != nil {
		return err
	}
	taskRate, updateRate := median(taskRates), median(updateRates)
	s.report.add("tasks", float64(c.tasks), "", "")
	s.report.add("batch", float64(c.batch), "", "")
	s.report.add("connections", float64(c.connections), "", "")
	s.report.add("task_rate", taskRate, "tasks/s", "")
	s.report.add("bare_update_rate", updateRate, "updates/s", "")
	s.report.add("ratio", taskRate/updateRate, "", ">= 2")
	s.report.add(fmt.Sprintf("memory_%d_queued", c.queuedFew), float64(few), "bytes", "")
	s.report.add(fmt.Sprintf("memory_%d_queued", c.queuedMany), float64(many), "bytes", "")
	s.report.add("memory_ratio", float64(many)/float64(few), "", "<= 1.5")
	return b.Print(s.report)
}

// parallel runs fn once per connection, all at the same time. It returns the duration and the first
// error.
func parallel(ctx context.Context, connections int, fn func(context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	began := time.Now()
	for range connections {
		workers.Go(func() {
			if err := fn(ctx); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	return time.Since(began), context.Cause(ctx)
}

// bareUpdates measures single-row UPDATEs.
func (s *installation) bareUpdates(ctx context.Context, c control) (time.Duration, error) {
	const rows = 1000
	for _, text := range []string{
		"DROP TABLE IF EXISTS dbo.bench_rows;",
		"CREATE TABLE dbo.bench_rows (id INT NOT NULL PRIMARY KEY, value INT NOT NULL, changed_at DATETIME2(7) NULL);",
		fmt.Sprintf("DECLARE @i INT = 1; WHILE @i <= %d BEGIN INSERT INTO dbo.bench_rows (id, value) VALUES (@i, 0); SET @i += 1; END;", rows),
	} {
		if _, err := s.control.ExecContext(ctx, text); err != nil {
			return 0, fmt.Errorf("create the table for updates: %w", err)
		}
	}
	var next atomic.Int64
	return parallel(ctx, c.connections, func(ctx context.Context) (err error) {
		conn, err := s.control.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		for {
			i := next.Add(1)
			if i > int64(c.updates) {
				return nil
			}
			res, err := conn.ExecContext(ctx, "UPDATE dbo.bench_rows SET value = value + 1, changed_at = SYSUTCDATETIME() WHERE id = @id;",
				sql.Named("id", i%rows+1))
			if err != nil {
				return fmt.Errorf("bare update: %w", err)
			}
			if n, err := res.RowsAffected(); err != nil || n != 1 {
				return fmt.Errorf("bare update: %d rows changed: %w", n, err)
			}
		}
	})
}

// startTerm starts a term of a new agent that may hold a number of tasks.
func (s *installation) startTerm(ctx context.Context, tasks int) (controldb.Term, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return controldb.Term{}, err
	}
	return s.store.StartTerm(ctx, controldb.Agent{ID: id, Host: "bench", Version: version,
		MaxConcurrentTargets: tasks}, time.Hour)
}

// queue starts a run of a job and sets its list of targets: n times the same database, each with an
// ID of its own.
func (s *installation) queue(ctx context.Context, job, database string, n int) (uuid.UUID, error) {
	term, err := s.startTerm(ctx, 1)
	if err != nil {
		return uuid.Nil, err
	}
	run, err := executions.On(s.store).StartJob(ctx, job, uuid.Nil)
	if err != nil {
		return uuid.Nil, err
	}
	list := make([]targets.Target, n)
	for i := range list {
		id, err := uuid.NewRandom()
		if err != nil {
			return uuid.Nil, err
		}
		list[i] = targets.Target{ID: id, Server: s.serverName, Database: database}
	}
	for range 3 { // a pass that creates the step may not claim its resolution yet
		pass, err := s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 1, MaxConcurrentTargets: 1})
		if err != nil {
			return uuid.Nil, err
		}
		if len(pass.Tasks) == 0 {
			continue
		}
		task := pass.Tasks[0]
		if task.Kind != controldb.TaskResolve || task.JobExecutionID != run {
			return uuid.Nil, fmt.Errorf("another run is under way: task %d of the job %q", task.ID, task.JobName)
		}
		if err := s.store.CompleteResolution(ctx, term.ID, task.ID,
			controldb.Resolution{Attempt: task.Attempt, Targets: list}); err != nil {
			return uuid.Nil, err
		}
		for more := true; more; more = pass.More() { // passes write a long list in slices
			if pass, err = s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxConcurrentTargets: 1}); err != nil {
				return uuid.Nil, err
			}
		}
		return run, s.store.EndTerm(ctx, term.ID)
	}
	return uuid.Nil, fmt.Errorf("the run of %q resolves no targets", job)
}

// noopTasks measures claiming and completing all tasks of a run.
func (s *installation) noopTasks(ctx context.Context, c control, database string) (time.Duration, error) {
	if _, err := s.queue(ctx, "bench control", database, c.tasks); err != nil {
		return 0, err
	}
	var terms []controldb.Term
	for range c.connections {
		term, err := s.startTerm(ctx, c.batch)
		if err != nil {
			return 0, err
		}
		terms = append(terms, term)
	}
	var started, done atomic.Int64
	elapsed, err := parallel(ctx, c.connections, func(ctx context.Context) error {
		term := terms[started.Add(1)-1]
		for done.Load() < int64(c.tasks) {
			pass, err := s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: c.batch,
				MaxConcurrentTargets: c.batch})
			if err != nil {
				return err
			}
			outcomes := make([]controldb.Outcome, 0, len(pass.Tasks))
			for _, task := range pass.Tasks {
				outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded})
			}
			refused, err := s.store.CompleteTasks(ctx, term.ID, outcomes)
			if err != nil {
				return err
			}
			if len(refused) > 0 {
				return fmt.Errorf("outcome of task %d was refused: %s", refused[0].Task, refused[0].Reason)
			}
			done.Add(int64(len(outcomes)))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, term := range terms {
		if _, err := s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxConcurrentTargets: 1}); err != nil { // this pass ends the run
			return 0, err
		}
		if err := s.store.EndTerm(ctx, term.ID); err != nil {
			return 0, err
		}
	}
	return elapsed, nil
}

// queuedMemory measures the live heap while all workers of an agent are busy and n targets are
// queued.
func (b *bench) queuedMemory(ctx context.Context, s *installation, job, database string, n int) (bytes uint64,
	err error) {
	const workers = 32
	if err := s.job(ctx, model.JobSpec{Name: job}, "bench control", "WAITFOR DELAY '00:10:00';"); err != nil {
		return 0, err
	}
	run, err := s.queue(ctx, job, database, n)
	if err != nil {
		return 0, err
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: workers})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for busy, ended := 0, 0; busy < min(workers, n); {
		if err := wait(ctx, pollInterval, failed); err != nil {
			return 0, err
		}
		row := s.control.QueryRowContext(ctx, `SELECT COUNT(CASE WHEN k.ended_at IS NULL THEN 1 END), COUNT(k.ended_at)
FROM jobs_internal.task_executions AS k
JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
WHERE k.kind = N'Run' AND e.job_execution_id = @id;`, sql.Named("id", mssqldb.UniqueIdentifier(run)))
		if err := row.Scan(&busy, &ended); err != nil {
			return 0, fmt.Errorf("count busy workers: %w", err)
		}
		if ended > 0 {
			return 0, fmt.Errorf("%d scripts of the run %s have ended, but a script waits for ten minutes: check the login and the certificate of the targets", ended, run)
		}
	}
	if err := wait(ctx, 500*time.Millisecond, failed); err != nil { // time for the claimed tasks to start on their targets
		return 0, err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if err := executions.On(s.store).Stop(ctx, run); err != nil {
		return 0, err
	}
	_, err = s.waitEnd(ctx, run, failed)
	return m.HeapAlloc, err
}
