package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
)

// idleSettling is how long an agent is given to start before it counts as idle.
const idleSettling = 2 * time.Second

// newBenchIdleCommand makes `jobagent bench idle`.
func newBenchIdleCommand(b *bench) *cobra.Command {
	var duration time.Duration
	cmd := &cobra.Command{
		Use: "idle", Short: "Queries per second of an agent that has nothing to do",
		Long: `Count the requests that one agent sends to a control database without jobs of users, after it has started.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration <= 0 {
				return usagef("--duration %s: must be above 0", duration)
			}
			return b.idle(cmd.Context(), duration)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 20*time.Second, "how long to count")
	return cmd
}

// idle is `jobagent bench idle`.
func (b *bench) idle(ctx context.Context, duration time.Duration) (err error) {
	s, err := b.startBench(ctx, "idle", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	stop, failed, err := b.startAgent(ctx, s, agent.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
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

// wait waits for d, unless ctx ends or the agent does.
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
