package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// fanout are the parameters of `jobagent bench fanout`.
type fanout struct {
	targets, concurrency, rounds int
	statement                    string
}

// newFanoutCommand returns `jobagent bench fanout`.
func newFanoutCommand(b *bench) *cobra.Command {
	f := fanout{}
	cmd := &cobra.Command{
		Use: "fanout", Short: "Databases per second through the agent, compared with a bare go-mssqldb loop",
		Long: `Run one statement on many databases: as the step of a job, from the start to the end of the run, and
in a loop that connects to each database with go-mssqldb, sends the statement and disconnects, with
the same concurrency. Both alternate, and each figure is the median of the rounds. Round trips are
those of the agent's connections to the control database during the run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.targets < 1 || f.targets > 20_000:
				return exit.Usagef("--targets %d: must be 1 to 20000", f.targets)
			case f.concurrency < 1 || f.concurrency > 1000:
				return exit.Usagef("--concurrency %d: must be 1 to 1000", f.concurrency)
			case f.rounds < 1 || f.rounds > 100:
				return exit.Usagef("--rounds %d: must be 1 to 100", f.rounds)
			}
			return b.fanout(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVar(&f.targets, "targets", 1000, "databases")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 64, "concurrent databases")
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "measurements of each kind")
	cmd.Flags().StringVar(&f.statement, "statement", "SELECT COUNT(*) AS objects FROM sys.objects;",
		"T-SQL batch for each database")
	return cmd
}

// fanoutJob is the name of the job and its target group.
const fanoutJob = "bench fanout"

// fanout implements `jobagent bench fanout`.
func (b *bench) fanout(ctx context.Context, f fanout) (err error) {
	s, err := b.startBench(ctx, "fanout", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	databases, err := s.createTargets(ctx, fanoutJob, f.targets)
	if err != nil {
		return err
	}
	if err := s.job(ctx, controldb.JobSpec{Name: fanoutJob}, fanoutJob, f.statement); err != nil {
		return err
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: f.concurrency})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	var agentRates, bareRates, trips []float64
	for round := range f.rounds + 1 { // the first round only warms up
		bare, err := s.bareFanout(ctx, databases, f)
		if err != nil {
			return err
		}
		before := s.wire.count()
		id, err := s.store.StartJob(ctx, fanoutJob, uuid.Nil)
		if err != nil {
			return err
		}
		run, err := s.waitEnd(ctx, id, failed)
		if err != nil {
			return err
		}
		if run.lifecycle != jobs.Succeeded {
			return fmt.Errorf("the run ended with %s", run.lifecycle)
		}
		roundTripCount := s.wire.count() - before
		if round > 0 {
			bareRates = append(bareRates, float64(f.targets)/bare.Seconds())
			agentRates = append(agentRates, float64(f.targets)/run.elapsed.Seconds())
			trips = append(trips, float64(roundTripCount))
		}
	}
	agentRate, bareRate := median(agentRates), median(bareRates)
	s.report.add("targets", float64(f.targets), "", "")
	s.report.add("concurrency", float64(f.concurrency), "", "")
	s.report.add("agent_rate", agentRate, "targets/s", "")
	s.report.add("bare_rate", bareRate, "targets/s", "")
	s.report.add("ratio", agentRate/bareRate, "", ">= 0.9")
	s.report.add("control_round_trips_per_target", median(trips)/float64(f.targets), "", "<= 0.1")
	return b.print(s.report)
}

// bareFanout measures a loop without an agent: connect, send, read the answer, disconnect.
func (s *installation) bareFanout(ctx context.Context, databases []string, f fanout) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for range f.concurrency {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(databases) {
					return
				}
				if err := s.bareStatement(ctx, databases[i], f.statement); err != nil {
					cancel(fmt.Errorf("bare loop: %s: %w", databases[i], err))
				}
			}
		})
	}
	workers.Wait()
	return time.Since(began), context.Cause(ctx)
}

// bareStatement runs a statement on a new connection and reads the whole answer.
func (s *installation) bareStatement(ctx context.Context, database, statement string) (err error) {
	db := s.open(database)
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			continue
		}
	}
	return rows.Err()
}
