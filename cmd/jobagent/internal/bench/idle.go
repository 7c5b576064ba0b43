package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// idleSettling is the time after which a started agent counts as idle.
const idleSettling = 2 * time.Second

// newIdleCommand returns `jobagent bench idle`.
func newIdleCommand(b *bench) *cobra.Command {
	var duration time.Duration
	var schedules int
	cmd := &cobra.Command{
		Use: "idle", Short: "Queries per second of an idle agent",
		Long: `Count the requests that one started agent sends to a control database without jobs of users. With
--schedules, there are jobs with this number of enabled schedules, none of which is due meanwhile.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration <= 0 {
				return exit.Usagef("--duration %s: must be above 0", duration)
			}
			if schedules < 0 || schedules > 100_000 {
				return exit.Usagef("--schedules %d: must be 0 to 100000", schedules)
			}
			return b.idle(cmd.Context(), duration, schedules)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 20*time.Second, "duration of the measurement")
	cmd.Flags().IntVar(&schedules, "schedules", 0, "enabled schedules of several kinds that are not due")
	return cmd
}

// idle implements `jobagent bench idle`.
func (b *bench) idle(ctx context.Context, duration time.Duration, schedules int) (err error) {
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
	return b.print(s.report)
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
