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
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// fanout are the parameters of `jobagent bench fanout`.
type fanout struct {
	targets, concurrency, rounds, waves int
	statement                           string
	http                                bool
	latency                             time.Duration
	compare                             compared
}

// newFanoutCommand returns `jobagent bench fanout`.
func newFanoutCommand(b *bench) *cobra.Command {
	f := fanout{}
	cmd := &cobra.Command{
		Use: "fanout", Short: "Databases per second through the agent, compared with a bare go-mssqldb loop",
		Long: `Run one statement on many databases: as the step of a job, from the start to the end of the run, and
in a loop that connects to each database with go-mssqldb, sends the statement and disconnects, with
the same concurrency. Both alternate, and each figure is the median of the rounds: ratio and cpu_ratio
are the medians of the quotients of neighbours. The processor's time is that of this process, with an
embedded server, and depends little on what else the machine does. Round trips are those of the
agent's connections to the control database during the run.

With --http, the step posts to one HTTPS endpoint for each database instead, and the loop posts to
the same endpoints with net/http. Both make a new connection for each request. A receiver in this
process serves all endpoints on loopback, and the databases need not exist. An endpoint answers
after a half to one and a half of --latency, always after the same time. With --latency 0s, the
processors limit both, and the ratio compares the work for one request.

With --waves, runs alternate between plain ones and roll-outs in that many waves, without bakes, approvals
and limits: the figures are the cost of the roll-out.

With --compare, the runs alternate between an agent without and one with metrics or traces, and the
figures are the cost of those. The metrics are read once for each run. rate_ratio and cpu_ratio are
the medians of the quotients of neighbours.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.targets < 1 || f.targets > 20_000:
				return b.Usagef("--targets %d: must be 1 to 20000", f.targets)
			case f.concurrency < 1 || f.concurrency > 1000:
				return b.Usagef("--concurrency %d: must be 1 to 1000", f.concurrency)
			case f.rounds < 1 || f.rounds > 100:
				return b.Usagef("--rounds %d: must be 1 to 100", f.rounds)
			case f.waves < 0 || f.waves > 100 || f.waves > f.targets:
				return b.Usagef("--waves %d: must be 0 to 100, and at most --targets", f.waves)
			case f.waves > 0 && f.compare.on():
				return b.Usagef("--waves and --compare cannot be combined")
			case f.latency < 0 || f.latency > time.Minute:
				return b.Usagef("--latency %v: must be 0s to 1m", f.latency)
			case cmd.Flags().Changed("latency") && !f.http:
				return b.Usagef("--latency requires --http")
			case cmd.Flags().Changed("statement") && f.http:
				return b.Usagef("--statement and --http cannot be combined")
			}
			return b.fanout(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVar(&f.targets, "targets", 1000, "databases")
	cmd.Flags().IntVar(&f.concurrency, "concurrency", 64, "concurrent databases")
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "measurements of each kind")
	cmd.Flags().IntVar(&f.waves, "waves", 0, "measure the cost of a roll-out in this `number` of waves in place of the bare loop; 0: none")
	cmd.Flags().StringVar(&f.statement, "statement", "SELECT COUNT(*) AS objects FROM sys.objects;",
		"T-SQL batch for each database")
	cmd.Flags().BoolVar(&f.http, "http", false, "call endpoints instead of databases, compared with a bare net/http loop")
	addCompareFlag(cmd, &f.compare)
	cmd.Flags().DurationVar(&f.latency, "latency", 100*time.Millisecond, "average `time` that an endpoint takes to answer")
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
	prepare := s.prepareStatements
	if f.http {
		prepare = s.prepareRequests
	}
	databases, bareTask, err := prepare(ctx, f)
	if err != nil {
		return err
	}
	if f.compare.on() {
		return b.compareFanout(ctx, s, f)
	}
	if f.waves > 0 {
		return b.compareWaves(ctx, s, f)
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: f.concurrency})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	var c cost // off: the bare loop; on: the agent
	var trips []float64
	for round := range f.rounds + 1 { // the first round only warms up
		used := [3]float64{cpuSeconds()}
		bare, err := bareFanout(ctx, databases, f.concurrency, bareTask)
		if err != nil {
			return err
		}
		used[1] = cpuSeconds()
		before := s.wire.count()
		id, err := executions.On(s.store).StartJob(ctx, fanoutJob, uuid.Nil)
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
		used[2] = cpuSeconds()
		if round > 0 {
			for i, elapsed := range []time.Duration{bare, run.elapsed} {
				c.rates[i] = append(c.rates[i], float64(f.targets)/elapsed.Seconds())
				c.used[i] = append(c.used[i], (used[i+1]-used[i])/float64(f.targets))
			}
			trips = append(trips, float64(roundTripCount))
		}
	}
	s.report.add("targets", float64(f.targets), "", "")
	s.report.add("concurrency", float64(f.concurrency), "", "")
	if f.http {
		s.report.add("latency", milliseconds(f.latency), "ms", "")
	}
	rate, cpu := ratios(c.rates), ratios(c.used) // before the medians, which sort
	s.report.add("agent_rate", middle(c.rates[1]), "targets/s", "")
	s.report.add("bare_rate", middle(c.rates[0]), "targets/s", "")
	s.report.add("ratio", middle(rate), "", ">= 0.9")
	if c.hasUsed() {
		s.report.add("agent_cpu", 1000*middle(c.used[1]), "ms/target", "")
		s.report.add("bare_cpu", 1000*middle(c.used[0]), "ms/target", "")
		s.report.add("cpu_ratio", middle(cpu), "", "")
	}
	// Actions ask for leave to send, in calls that grow with the rate of the requests.
	bar := "<= 0.1"
	if f.http {
		bar = ""
	}
	s.report.add("control_round_trips_per_target", median(trips)/float64(f.targets), "", bar)
	return b.Print(s.report)
}

// prepareStatements makes databases and a job whose step runs the statement on them. It returns the
// databases and the task of the bare loop.
func (s *installation) prepareStatements(ctx context.Context, f fanout) ([]string, bareTask, error) {
	databases, err := s.createTargets(ctx, fanoutJob, f.targets)
	if err != nil {
		return nil, nil, err
	}
	task := func(ctx context.Context, database string) error { return s.bareStatement(ctx, database, f.statement) }
	return databases, task, s.job(ctx, model.JobSpec{Name: fanoutJob}, fanoutJob, f.statement)
}

// prepareRequests makes endpoints and a job whose step calls them, one for each member of its
// target group. It returns the members' names and the task of the bare loop.
func (s *installation) prepareRequests(ctx context.Context, f fanout) ([]string, bareTask, error) {
	r, err := startReceiver(f.latency)
	if err != nil {
		return nil, nil, err
	}
	s.closers = append(s.closers, r.close)
	runner, err := r.runner()
	if err != nil {
		return nil, nil, err
	}
	s.tools.Actions.Runners = map[action.Type]targets.ActionRunner{action.TypeHTTP: runner}
	names := make([]string, f.targets)
	for i := range names {
		names[i] = fmt.Sprintf("tenant%05d", i+1)
	}
	if err := s.group(ctx, fanoutJob, names...); err != nil {
		return nil, nil, err
	}
	if _, err := catalog.On(s.store).AddJob(ctx, model.JobSpec{Name: fanoutJob}); err != nil {
		return nil, nil, err
	}
	commandType := string(action.TypeHTTP)
	_, err = catalog.On(s.store).AddJobStep(ctx, model.StepSpec{
		JobName: fanoutJob, CommandType: &commandType, Command: new(r.definition()), TargetGroup: new(fanoutJob),
	})
	client := r.client()
	task := func(ctx context.Context, database string) error { return r.post(ctx, client, database) }
	return names, task, err
}

// bareTask does for one database, without an agent, what the job's step does.
type bareTask func(ctx context.Context, database string) error

// bareFanout measures a loop without an agent.
func bareFanout(ctx context.Context, databases []string, concurrency int, task bareTask) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for range concurrency {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(databases) {
					return
				}
				if err := task(ctx, databases[i]); err != nil {
					cancel(fmt.Errorf("bare loop: %s: %w", databases[i], err))
				}
			}
		})
	}
	workers.Wait()
	return time.Since(began), context.Cause(ctx)
}

// bareStatement connects, runs a statement, reads the whole answer, and disconnects.
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
