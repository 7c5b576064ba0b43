package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/model"
)

// lag are the parameters of `jobagent bench lag`.
type lag struct {
	schedules, concurrency int
	daily                  bool
	duration               time.Duration
}

// newLagCommand returns `jobagent bench lag`.
func newLagCommand(b *bench) *cobra.Command {
	l := lag{}
	cmd := &cobra.Command{
		Use: "lag", Short: "Delay of scheduled runs",
		Long: fmt.Sprintf(`Enable many schedules that are due once each, spread evenly over the duration. Measure by the
server's clock: from the due instant to the creation and the start of its run, and from there to the
run's first statement on its target. With --daily, and with more than %d schedules, the schedules
are of six kinds and due once a day, one per second.`, lagAtOnce),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case l.schedules < 1 || l.schedules > 100_000:
				return b.Usagef("--schedules %d: must be 1 to 100000", l.schedules)
			case l.concurrency < 1 || l.concurrency > 1000:
				return b.Usagef("--concurrency %d: must be 1 to 1000", l.concurrency)
			case l.duration < time.Second || l.duration > time.Hour:
				return b.Usagef("--duration %s: must be 1s to 1h", l.duration)
			}
			l.daily = l.daily || l.schedules > lagAtOnce
			return b.lag(cmd.Context(), l)
		},
	}
	cmd.Flags().IntVar(&l.schedules, "schedules", 1000, "enabled schedules, each of a job of its own")
	cmd.Flags().IntVar(&l.concurrency, "concurrency", 64, "concurrent targets of the agent")
	cmd.Flags().BoolVar(&l.daily, "daily", false, "each schedule is due once a day, and one per second")
	cmd.Flags().DurationVar(&l.duration, "duration", time.Minute, "time over which the due instants are spread")
	return cmd
}

// lagAtOnce is the maximum number of schedules that are due during the measurement.
const lagAtOnce = 10_000

// lagSettling is the time between the end of the preparation and the first due instant.
const lagSettling = 3 * time.Second

// lag implements `jobagent bench lag`.
func (b *bench) lag(ctx context.Context, l lag) (err error) {
	s, err := b.startBench(ctx, "lag", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	database := s.prefix + "target"
	if err := s.createDatabase(ctx, database); err != nil {
		return err
	}
	target := s.open(database)
	defer target.Close()
	if _, err := target.ExecContext(ctx, `CREATE TABLE dbo.bench_log (job_execution_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, at DATETIME2(7) NOT NULL);`); err != nil {
		return fmt.Errorf("create the table for the first statements: %w", err)
	}
	if err := s.group(ctx, "bench lag", database); err != nil {
		return err
	}
	var first time.Time // by this machine's clock
	if !l.daily {
		if first, err = s.makeSchedules(ctx, l); err != nil {
			return err
		}
	} else if err := s.addDaily(ctx, "bench lag", l.schedules, int(time.Now().Unix()%daySeconds), daySeconds); err != nil {
		return err
	}
	stop, failed, err := b.startAgent(ctx, s, agent.Config{MaxConcurrentTargets: l.concurrency})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s.report.add("schedules", float64(l.schedules), "", "")
	window := lagWindow{from: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), to: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		runs: l.schedules}
	if l.daily {
		rate, err := s.waitValidated(ctx, l.schedules, failed)
		if err != nil {
			return err
		}
		s.report.add("validated_per_second", rate, "1/s", "")
		if window, err = s.windowOfDay(ctx, l.duration); err != nil {
			return err
		}
		first = time.Now().Add(lagSettling)
	}
	if err := wait(ctx, time.Until(first.Add(l.duration)), failed); err != nil {
		return err
	}
	if err := s.waitScheduled(ctx, window, time.Minute, failed); err != nil {
		return err
	}
	created, started, sent, err := s.readLags(ctx, target, window)
	if err != nil {
		return err
	}
	s.report.add("runs", float64(len(started)), "", "")
	s.report.spread("due_to_created", created, "")
	s.report.spread("due_to_started", started, "<= 250")
	s.report.spread("started_to_first_statement", sent, "")
	return b.Print(s.report)
}

// makeSchedules creates the jobs disabled, sets their due instants and enables them. It returns the
// first instant by this machine's clock.
func (s *installation) makeSchedules(ctx context.Context, l lag) (time.Time, error) {
	const command = "INSERT INTO dbo.bench_log (job_execution_id, at) VALUES ($(job_execution_id), SYSUTCDATETIME());"
	once := "Once"
	name := func(i int) string { return fmt.Sprintf("bench lag %05d", i) }
	began := time.Now()
	for i := range l.schedules {
		if err := s.job(ctx, model.JobSpec{Name: name(i), IntervalType: &once}, "bench lag", command); err != nil {
			return time.Time{}, err
		}
	}
	// Enabling takes at most about as long as the creation.
	var now time.Time
	if err := s.control.QueryRowContext(ctx, "SELECT SYSUTCDATETIME();").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the server's time: %w", err)
	}
	ahead := lagSettling + time.Since(began)
	first := time.Now().Add(ahead)
	for i := range l.schedules {
		enabled, start := true, now.Add(ahead+l.duration*time.Duration(i)/time.Duration(l.schedules))
		if err := catalog.On(s.store).UpdateJob(ctx, model.JobSpec{Name: name(i), Enabled: &enabled, Start: &start}); err != nil {
			return time.Time{}, err
		}
	}
	if time.Now().After(first) {
		return time.Time{}, fmt.Errorf("the server is too slow to enable %d schedules before the first one is due",
			l.schedules)
	}
	return first, nil
}

// lagWindow selects the measured runs, those that are due in [from, to), and has their number.
type lagWindow struct {
	from, to time.Time
	runs     int
}

// args returns the parameters @from and @to of queries as text. The driver would send a time as
// datetimeoffset, for which an index on a datetime2 column is not used.
func (w lagWindow) args() []any {
	const layout = "2006-01-02T15:04:05.0000000"
	return []any{sql.Named("from", w.from.UTC().Format(layout)), sql.Named("to", w.to.UTC().Format(layout))}
}

// windowOfDay returns a window that begins soon.
func (s *installation) windowOfDay(ctx context.Context, length time.Duration) (w lagWindow, err error) {
	var now time.Time
	if err := s.control.QueryRowContext(ctx, "SELECT SYSUTCDATETIME();").Scan(&now); err != nil {
		return w, fmt.Errorf("read the server's time: %w", err)
	}
	w.from = now.Add(lagSettling).Truncate(time.Second)
	w.to = w.from.Add(length)
	err = s.control.QueryRowContext(ctx, `SELECT COUNT(*)
FROM jobs_internal.schedules AS s
WHERE s.next_due_at >= @from
    AND s.next_due_at < @to;`, w.args()...).Scan(&w.runs)
	if err != nil {
		return w, fmt.Errorf("count the due schedules: %w", err)
	}
	if w.runs == 0 {
		return w, errors.New("no schedule is due during the measurement")
	}
	return w, nil
}

// waitScheduled waits until each instant of a window has a run and all these runs have ended.
func (s *installation) waitScheduled(ctx context.Context, w lagWindow, timeout time.Duration,
	failed <-chan error) error {
	limit := time.Now().Add(timeout)
	for {
		var started, active int
		if err := s.control.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(CAST(e.is_active AS INT)), 0)
FROM jobs_internal.job_executions AS e
WHERE e.schedule_id IS NOT NULL
    AND e.due_at >= @from
    AND e.due_at < @to;`, w.args()...).Scan(&started, &active); err != nil {
			return fmt.Errorf("count runs: %w", err)
		}
		if started >= w.runs && active == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%d of %d runs were started, and %d have not ended", started, w.runs, active)
		}
		if err := wait(ctx, 10*pollInterval, failed); err != nil {
			return err
		}
	}
}

// readLags returns the three delays of each run.
func (s *installation) readLags(ctx context.Context, target *sql.DB, w lagWindow) (created, started,
	sent []time.Duration, err error) {
	at := map[string]time.Time{}
	read := func(db *sql.DB, query string, row func(*sql.Rows) error, args ...any) error {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	err = read(target, "SELECT CAST(job_execution_id AS NVARCHAR(36)), at FROM dbo.bench_log;",
		func(rows *sql.Rows) error {
			var id string
			var t time.Time
			err := rows.Scan(&id, &t)
			at[id] = t
			return err
		})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the first statements: %w", err)
	}
	err = read(s.control, `SELECT CAST(e.job_execution_id AS NVARCHAR(36)), e.due_at, e.create_time, e.start_time
FROM jobs_internal.job_executions AS e
WHERE e.schedule_id IS NOT NULL
    AND e.due_at >= @from
    AND e.due_at < @to
    AND e.lifecycle = N'Succeeded';`, func(rows *sql.Rows) error {
		var id string
		var due, create, start time.Time
		if err := rows.Scan(&id, &due, &create, &start); err != nil {
			return err
		}
		first, ok := at[id]
		if !ok {
			return fmt.Errorf("run %s executed no statement on its target", id)
		}
		created = append(created, create.Sub(due))
		started = append(started, start.Sub(due))
		sent = append(sent, first.Sub(start))
		return nil
	}, w.args()...)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the runs: %w", err)
	}
	return created, started, sent, nil
}
