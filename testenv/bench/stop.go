package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
)

// stopping are the parameters of `jobagent bench stop`.
type stopping struct {
	targets, rounds int
	settle          time.Duration
}

// newStopCommand returns `jobagent bench stop`.
func newStopCommand(b *bench) *cobra.Command {
	s := stopping{}
	cmd := &cobra.Command{
		Use: "stop", Short: "Time from a stop request to the end of scripts on many databases",
		Long: `Run WAITFOR DELAY '01:00:00' on many databases at once, and stop the run with sp_stop_job when all of
them wait. Measure the time from the request until each target and the run are Canceled, by the
database's clock, and until the server has no session of the agent on these databases, by polling
every few milliseconds. Percentiles of targets are over all targets of all rounds, other percentiles
over the rounds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case s.targets < 1 || s.targets > 10_000:
				return b.Usagef("--targets %d: must be 1 to 10000", s.targets)
			case s.rounds < 1 || s.rounds > 1000:
				return b.Usagef("--rounds %d: must be 1 to 1000", s.rounds)
			case s.settle < 0:
				return b.Usagef("--settle %s: must not be below 0", s.settle)
			}
			return b.stop(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&s.targets, "targets", 100, "concurrent databases")
	cmd.Flags().IntVar(&s.rounds, "rounds", 5, "runs that are started and stopped")
	cmd.Flags().DurationVar(&s.settle, "settle", 3*time.Second,
		"how long all scripts wait before the request: the agent looks for news less often then")
	return cmd
}

const (
	// stopJob is the name of the job and its target group.
	stopJob = "bench stop"
	// stopPollInterval is the interval of polls, and thus the error of the measured times.
	stopPollInterval = 5 * time.Millisecond
	// stopLimit limits the wait for the start and the end of a run.
	stopLimit = 2 * time.Minute
)

// stop implements `jobagent bench stop`.
func (b *bench) stop(ctx context.Context, p stopping) (err error) {
	s, err := b.startBench(ctx, "stop", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.createTargets(ctx, stopJob, p.targets); err != nil {
		return err
	}
	if err := s.job(ctx, model.JobSpec{Name: stopJob}, stopJob, "WAITFOR DELAY '01:00:00';"); err != nil {
		return err
	}
	halt, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: p.targets})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, halt()) }()

	var ofTargets, ofRuns, ofSessions []time.Duration
	for range p.rounds {
		id, err := executions.On(s.store).StartJob(ctx, stopJob, uuid.Nil)
		if err != nil {
			return err
		}
		if err := s.awaitScripts(ctx, p.targets, failed); err != nil {
			return err
		}
		if err := wait(ctx, p.settle, failed); err != nil {
			return err
		}
		if err := executions.On(s.store).Stop(ctx, id); err != nil {
			return err
		}
		asked := time.Now()
		if err := s.awaitScripts(ctx, 0, failed); err != nil {
			return err
		}
		ofSessions = append(ofSessions, time.Since(asked))
		run, err := s.waitEnd(ctx, id, failed)
		if err != nil {
			return err
		}
		if run.lifecycle != jobs.Canceled {
			return fmt.Errorf("the run ended with %s", run.lifecycle)
		}
		if ofTargets, ofRuns, err = s.readStops(ctx, id, ofTargets, ofRuns); err != nil {
			return err
		}
	}
	s.report.add("targets", float64(p.targets), "", "")
	s.report.add("rounds", float64(p.rounds), "", "")
	s.report.spread("stop_to_target_canceled", ofTargets, "<= 2000")
	s.report.spread("stop_to_run_canceled", ofRuns, "<= 2000")
	s.report.spread("stop_to_sessions_gone", ofSessions, "<= 2000")
	return b.Print(s.report)
}

// awaitScripts waits until n sessions of attempts exist on the targets and all run a script. With n
// = 0, it waits until none exists.
func (s *installation) awaitScripts(ctx context.Context, n int, failed <-chan error) error {
	for deadline := time.Now().Add(stopLimit); ; {
		var sessions, running int
		err := s.control.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(r.session_id)
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE s.program_name LIKE N'jobagent %' AND DB_NAME(s.database_id) LIKE @targets;`, sql.Named("targets", s.prefix+"t%")).Scan(&sessions, &running)
		switch {
		case err != nil:
			return fmt.Errorf("read the sessions: %w", err)
		case sessions == n && running == n:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d scripts run in %d sessions after %s, want %d", running, sessions, stopLimit, n)
		}
		if err := wait(ctx, stopPollInterval, failed); err != nil {
			return err
		}
	}
}

// readStops appends the times from the stop request to the end of each target and of the run.
func (s *installation) readStops(ctx context.Context, id uuid.UUID, ofTargets, ofRuns []time.Duration) (targets,
	runs []time.Duration, err error) {
	rows, err := s.control.QueryContext(ctx, `SELECT e.stop_requested_at, e.end_time, t.end_time, t.lifecycle
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
WHERE e.job_execution_id = @id;`, sql.Named("id", mssqldb.UniqueIdentifier(id)))
	if err != nil {
		return nil, nil, fmt.Errorf("read the times: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var run time.Duration
	for rows.Next() {
		var asked, ended, target time.Time
		var lifecycle jobs.Lifecycle
		if err := rows.Scan(&asked, &ended, &target, &lifecycle); err != nil {
			return nil, nil, fmt.Errorf("read the times: %w", err)
		}
		if lifecycle != jobs.Canceled {
			return nil, nil, fmt.Errorf("a target ended with %s", lifecycle)
		}
		ofTargets, run = append(ofTargets, target.Sub(asked)), ended.Sub(asked)
	}
	return ofTargets, append(ofRuns, run), rows.Err()
}
