package bench

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/jobs/model"
)

//go:embed schedules.sql
var fillSchedules string

// Number of schedules that fillSchedules creates in one call, and number of their jobs.
const (
	dailyBatch = 1000
	dailyJobs  = 100
)

// daySeconds is the number of seconds of a day.
const daySeconds = 24 * 60 * 60

// addDaily creates enabled schedules that are due once a day: one per second from the second base
// of the day, for spread seconds. The jobs write to the log of `jobagent bench lag`; group is their
// target group and the prefix of their names.
func (s *installation) addDaily(ctx context.Context, group string, schedules, base, spread int) error {
	const command = "INSERT INTO dbo.bench_log (job_execution_id, at) VALUES ($(job_execution_id), SYSUTCDATETIME());"
	for i := range min(dailyJobs, schedules) {
		if err := s.job(ctx, model.JobSpec{Name: fmt.Sprintf("%s %02d", group, i)}, group, command); err != nil {
			return err
		}
	}
	for first := 0; first < schedules; first += dailyBatch {
		if _, err := s.control.ExecContext(ctx, fillSchedules, sql.Named("first", first),
			sql.Named("count", min(dailyBatch, schedules-first)),
			sql.Named("base", base), sql.Named("spread", spread), sql.Named("jobs", group)); err != nil {
			return fmt.Errorf("add schedules: %w", err)
		}
	}
	return nil
}

// waitValidated waits until the agent has validated all schedules, and returns the number per
// second.
func (s *installation) waitValidated(ctx context.Context, schedules int, failed <-chan error) (perSecond float64,
	err error) {
	began := time.Now()
	for {
		var waiting int
		err := s.control.QueryRowContext(ctx,
			"SELECT COUNT(*) FROM jobs_internal.schedules AS s WHERE s.awaits_verdict = 1;").Scan(&waiting)
		if err != nil {
			return 0, fmt.Errorf("count schedules: %w", err)
		}
		if waiting == 0 {
			return float64(schedules) / time.Since(began).Seconds(), nil
		}
		if err := wait(ctx, 5*pollInterval, failed); err != nil {
			return 0, err
		}
	}
}
