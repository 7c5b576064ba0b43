package bench

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
)

//go:embed waiting.sql
var fillWaiting string

// Sizes of the measurement of runs that wait for callbacks.
const (
	waitingJob       = "bench idle waiting"
	waitingBatch     = 1000 // maximum number of runs in one call
	waitingDeadlines = 100  // callbacks whose deadlines pass while the agent runs
	waitingPasses    = 200  // measured passes
)

// idleSettling is the time after which a started agent counts as idle.
const idleSettling = 2 * time.Second

// newIdleCommand returns `jobagent bench idle`.
func newIdleCommand(b *bench) *cobra.Command {
	var duration time.Duration
	var schedules, waiting int
	cmd := &cobra.Command{
		Use: "idle", Short: "Queries per second of an idle agent",
		Long: `Count the requests that one started agent sends to a control database without jobs of users. With
--schedules, there are jobs with this number of enabled schedules, none of which is due meanwhile.
With --waiting, this number of runs wait for callbacks, and passes without work are measured before
and after; deadline_lag_max is the longest time from a callback's deadline to the end of its wait.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration <= 0 {
				return b.Usagef("--duration %s: must be above 0", duration)
			}
			if schedules < 0 || schedules > 100_000 {
				return b.Usagef("--schedules %d: must be 0 to 100000", schedules)
			}
			if waiting < 0 || waiting > 1_000_000 {
				return b.Usagef("--waiting %d: must be 0 to 1000000", waiting)
			}
			return b.idle(cmd.Context(), duration, schedules, waiting)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 20*time.Second, "duration of the measurement")
	cmd.Flags().IntVar(&schedules, "schedules", 0, "enabled schedules of several kinds that are not due")
	cmd.Flags().IntVar(&waiting, "waiting", 0, "runs that wait for callbacks")
	return cmd
}

// idle implements `jobagent bench idle`.
func (b *bench) idle(ctx context.Context, duration time.Duration, schedules, waiting int) (err error) {
	s, err := b.startBench(ctx, "idle", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if schedules > 0 {
		if err := s.group(ctx, "bench idle", "nowhere"); err != nil {
			return err
		}
		// The schedules are due 12 to 15 hours from now.
		base := (int(time.Now().Unix()) + daySeconds/2) % daySeconds
		if err := s.addDaily(ctx, "bench idle", schedules, base, 3*60*60); err != nil {
			return err
		}
	}
	if waiting > 0 {
		if err := s.addWaiting(ctx, waiting); err != nil {
			return err
		}
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if schedules > 0 {
		if _, err := s.waitValidated(ctx, schedules, failed); err != nil {
			return err
		}
	}
	if err := wait(ctx, min(idleSettling, 5*duration), failed); err != nil {
		return err
	}
	began, before := time.Now(), s.wire.count()
	if err := wait(ctx, duration, failed); err != nil {
		return err
	}
	queries := s.wire.count() - before
	s.report.add("queries", float64(queries), "", "")
	s.report.add("queries_per_second", float64(queries)/time.Since(began).Seconds(), "1/s", "<= 5")
	if waiting > 0 {
		if err := s.measureDeadlines(ctx, failed); err != nil {
			return err
		}
	}
	return b.Print(s.report)
}

// addWaiting adds runs that wait for callbacks, and measures passes without work before and after.
func (s *installation) addWaiting(ctx context.Context, runs int) error {
	if _, err := catalog.On(s.store).AddJob(ctx, model.JobSpec{Name: waitingJob}); err != nil {
		return err
	}
	kind := string(action.TypeHTTP)
	if _, err := catalog.On(s.store).AddJobStep(ctx, model.StepSpec{
		JobName: waitingJob, CommandType: &kind, Command: new(`{"url": "https://endpoint.invalid/", "callback": true}`),
	}); err != nil {
		return err
	}
	ended, err := s.endedTerm(ctx)
	if err != nil {
		return err
	}
	without, err := s.idlePass(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for first := 0; first < runs; first += waitingBatch {
		if err := s.fillWaiting(ctx, first, min(waitingBatch, runs-first), ended, 24*time.Hour); err != nil {
			return err
		}
	}
	s.report.add("fill", time.Since(began).Seconds(), "s", "")
	var rows int
	if err := s.control.QueryRowContext(ctx, "SELECT COUNT(*) FROM jobs.callbacks WHERE state = N'Waiting';").Scan(&rows); err != nil {
		return fmt.Errorf("count callbacks: %w", err)
	}
	s.report.add("waiting", float64(rows), "", "")
	with, err := s.idlePass(ctx)
	if err != nil {
		return err
	}
	s.report.add("pass_without_waiting", milliseconds(without), "ms", "")
	s.report.add("pass_with_waiting", milliseconds(with), "ms", "")
	s.report.add("pass_ratio", float64(with)/float64(max(without, 1)), "", "<= 2")
	return nil
}

// fillWaiting adds the runs with the numbers first <= n < first + count.
func (s *installation) fillWaiting(ctx context.Context, first, count int, term controldb.TermID, deadline time.Duration) error {
	_, err := s.control.ExecContext(ctx, fillWaiting, sql.Named("first", first), sql.Named("count", count),
		sql.Named("job", waitingJob), sql.Named("term_id", term.Number), sql.Named("deadline", int(deadline.Seconds())))
	if err != nil {
		return fmt.Errorf("add runs that wait: %w", err)
	}
	return nil
}

// idlePass returns the median duration of a pass without work.
func (s *installation) idlePass(ctx context.Context) (time.Duration, error) {
	term, err := s.historyTerm(ctx)
	if err != nil {
		return 0, err
	}
	list := make([]time.Duration, 0, waitingPasses)
	for range waitingPasses {
		began := time.Now()
		if _, err := s.store.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 1, MaxConcurrentTargets: 1}); err != nil {
			return 0, err
		}
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return percentile(list, 500), s.store.EndTerm(ctx, term.ID)
}

// measureDeadlines adds runs whose deadlines pass soon, and measures how late their waits end.
func (s *installation) measureDeadlines(ctx context.Context, failed <-chan error) error {
	ended, err := s.endedTerm(ctx)
	if err != nil {
		return err
	}
	if err := s.fillWaiting(ctx, 0, waitingDeadlines, ended, 3*time.Second); err != nil {
		return err
	}
	for {
		if err := wait(ctx, time.Second, failed); err != nil {
			return err
		}
		var closed, lag int
		err := s.control.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MAX(DATEDIFF(MILLISECOND, c.deadline_at, c.closed_at)), 0)
FROM jobs_internal.callbacks AS c
WHERE c.closed_by = N'Deadline';`).Scan(&closed, &lag)
		if err != nil {
			return fmt.Errorf("read deadlines: %w", err)
		}
		if closed == waitingDeadlines {
			s.report.add("deadline_lag_max", float64(lag), "ms", "<= 1000")
			return nil
		}
	}
}

// wait waits for d. It fails when ctx ends or the agent fails.
func wait(ctx context.Context, d time.Duration, failed <-chan error) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-failed:
		return fmt.Errorf("the agent ended: %w", err)
	}
}
