package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// cleanup are the parameters of `jobagent bench cleanup`.
type cleanup struct {
	runs, targets, batch int
}

// newCleanupCommand returns `jobagent bench cleanup`.
func newCleanupCommand(b *bench) *cobra.Command {
	c := cleanup{}
	cmd := &cobra.Command{
		Use: "cleanup", Short: "Duration of other jobs' passes while a deleted job's history is removed",
		Long: `Run a job on many targets several times, then delete the job. While its rows are deleted as an agent
deletes them, claim and complete the tasks of another job, without work in between. The duration of
these passes is compared with that of as many passes before the deletion.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.runs < 1 || c.runs > 1000:
				return b.Usagef("--runs %d: must be 1 to 1000", c.runs)
			case c.targets < 1 || c.targets > 100_000:
				return b.Usagef("--targets %d: must be 1 to 100000", c.targets)
			case c.batch < 1 || c.batch > 10_000:
				return b.Usagef("--batch %d: must be 1 to 10000", c.batch)
			}
			return b.cleanup(cmd.Context(), c)
		},
	}
	cmd.Flags().IntVar(&c.runs, "runs", 5, "runs of the deleted job")
	cmd.Flags().IntVar(&c.targets, "targets", 10_000, "targets of each run")
	cmd.Flags().IntVar(&c.batch, "batch", 20, "tasks per pass of the other job")
	return cmd
}

// cleanup implements `jobagent bench cleanup`.
func (b *bench) cleanup(ctx context.Context, c cleanup) (err error) {
	const deleted, other = "bench control", "bench other"
	s, err := b.startBench(ctx, "cleanup", 4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	databases, err := s.createTargets(ctx, "bench cleanup", 1)
	if err != nil {
		return err
	}
	for _, name := range []string{deleted, other} {
		if err := s.job(ctx, model.JobSpec{Name: name}, "bench cleanup", "SELECT 1;"); err != nil {
			return err
		}
	}
	for range c.runs {
		if _, err := s.noopTasks(ctx, control{tasks: c.targets, batch: 1000, connections: 1}, databases[0]); err != nil {
			return err
		}
	}

	before, err := s.passes(ctx, other, databases[0], c, nil)
	if err != nil {
		return err
	}
	if err := catalog.On(s.store).DeleteJob(ctx, deleted, false); err != nil {
		return err
	}
	rowsDeleted := make(chan struct{})
	var rows int
	var took time.Duration
	var cleanErr error
	var cleaner sync.WaitGroup
	cleaner.Go(func() {
		defer close(rowsDeleted)
		rows, took, cleanErr = s.deleteLeftovers(ctx)
	})
	during, err := s.passes(ctx, other, databases[0], c, rowsDeleted)
	cleaner.Wait()
	if err := errors.Join(err, cleanErr); err != nil {
		return err
	}
	s.report.add("runs", float64(c.runs), "", "")
	s.report.add("targets", float64(c.targets), "", "")
	s.report.add("rows_deleted", float64(rows), "", "")
	s.report.add("deletion_seconds", took.Seconds(), "s", "")
	s.report.add("passes", float64(len(during)), "", "")
	s.report.add("pass_before_p50", milliseconds(percentile(before, 500)), "ms", "")
	s.report.add("pass_before_p99", milliseconds(percentile(before, 990)), "ms", "")
	s.report.add("pass_p50", milliseconds(percentile(during, 500)), "ms", "< 50")
	s.report.add("pass_p99", milliseconds(percentile(during, 990)), "ms", "")
	return b.Print(s.report)
}

// passes claims and completes tasks of a job until rowsDeleted is closed, or until the run has
// ended if rowsDeleted is nil. It returns the durations of the passes in ascending order.
func (s *installation) passes(ctx context.Context, job, database string, c cleanup,
	rowsDeleted <-chan struct{}) ([]time.Duration, error) {
	var list []time.Duration
	for {
		if _, err := s.queue(ctx, job, database, max(c.batch, min(c.targets, 1000))); err != nil {
			return nil, err
		}
		term, err := s.startTerm(ctx, c.batch)
		if err != nil {
			return nil, err
		}
		for {
			began := time.Now()
			pass, err := s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: c.batch,
				MaxConcurrentTargets: c.batch})
			if err != nil {
				return nil, err
			}
			list = append(list, time.Since(began))
			if len(pass.Tasks) == 0 {
				break
			}
			outcomes := make([]controldb.Outcome, 0, len(pass.Tasks))
			for _, task := range pass.Tasks {
				outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Succeeded})
			}
			refused, err := s.store.CompleteTasks(ctx, term.ID, outcomes)
			if err != nil {
				return nil, err
			}
			if len(refused) > 0 {
				return nil, fmt.Errorf("outcome of task %d was refused: %s", refused[0].Task, refused[0].Reason)
			}
		}
		if err := s.store.EndTerm(ctx, term.ID); err != nil {
			return nil, err
		}
		select {
		case <-rowsDeleted:
			slices.Sort(list)
			return list, nil
		default:
			if rowsDeleted == nil {
				slices.Sort(list)
				return list, nil
			}
		}
	}
}

// deleteLeftovers deletes leftovers as an agent does. It returns the number of deleted rows and the
// duration.
func (s *installation) deleteLeftovers(ctx context.Context) (rows int, took time.Duration, err error) {
	began := time.Now()
	for {
		n, remaining, err := s.store.DeleteLeftovers(ctx)
		if err != nil {
			return rows, time.Since(began), err
		}
		rows += n
		if !remaining {
			return rows, time.Since(began), nil
		}
		if err := wait(ctx, 100*time.Millisecond, nil); err != nil { // the pause of an agent between two calls
			return rows, time.Since(began), err
		}
	}
}
