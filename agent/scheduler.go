package agent

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// schedulesPerCall bounds how many due schedules one round handles; what is left is due in the next, at once.
const schedulesPerCall = 500

// scheduler turns due instants into executions. It never asks whether "now" matches a schedule: the database
// stores the next due instant, and creating its execution and moving it on is one transaction (I2, I10).
type scheduler struct {
	store *controldb.Store
	term  controldb.Term
	comm  *communicator
	cfg   Config
	log   *zap.Logger
}

func newScheduler(store *controldb.Store, term controldb.Term, comm *communicator, cfg Config, log *zap.Logger) *scheduler {
	return &scheduler{store: store, term: term, comm: comm, cfg: cfg, log: log.With(zap.String(keyService, "scheduler"))}
}

func (s *scheduler) name() string { return "scheduler" }

// run creates due executions until ctx is done.
func (s *scheduler) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 10 * time.Second}
	var delay time.Duration
	for sleep(ctx, delay, nil) {
		next, err := s.runOnce(ctx)
		switch {
		case err == nil:
			retry.Reset()
			delay = next
		case errors.Is(err, controldb.ErrTermEnded):
			return ErrTermLost
		case errors.Is(err, controldb.ErrSchemaVersion):
			return err
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			s.log.Warn("could not create due executions", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	return nil
}

// runOnce handles what is due, and returns how long to wait: until the next stored due instant, but not much longer than the
// idle interval, since schedules may be added meanwhile.
func (s *scheduler) runOnce(ctx context.Context) (time.Duration, error) {
	due, err := s.store.DueSchedules(ctx, schedulesPerCall)
	if err != nil {
		return 0, err
	}
	if len(due.Schedules) > 0 {
		firings := make([]controldb.Firing, 0, len(due.Schedules))
		for _, sched := range due.Schedules {
			f, ok := s.firing(sched, due.Now)
			if ok {
				firings = append(firings, f)
			}
		}
		fired, err := s.store.FireSchedules(ctx, s.term.ID, firings)
		if err != nil {
			return 0, err
		}
		signal(s.comm.nudge)
		for _, f := range fired {
			s.log.Info("schedule fired", zap.String(keyJobName, f.JobName), zap.Stringer(keyExecutionID, f.JobExecutionID),
				zap.Time(keyDueAt, f.DueAt), zap.String(keyOutcome, f.Result))
		}
		if len(due.Schedules) == schedulesPerCall {
			return 0, nil
		}
	}
	wait := backoff.Jittered(s.cfg.rarely())
	if !due.NextFireAt.IsZero() {
		// The instant itself may have come meanwhile; never less than a millisecond, or a clock that runs late would spin.
		wait = min(wait, max(time.Millisecond, due.NextFireAt.Sub(due.Now)))
	}
	return wait, nil
}

// firing decides what follows the due instant of a schedule; not ok: this agent cannot say.
func (s *scheduler) firing(due controldb.DueSchedule, now time.Time) (f controldb.Firing, ok bool) {
	d := definition{id: int64(due.ID), kind: due.Kind, spec: due.Spec, zone: due.TimeZone, due: due.DueAt}
	if due.Name == "" {
		d.job = &schedule.Elastic{Interval: schedule.Interval(due.IntervalType), Count: due.IntervalCount, Start: due.Anchor, End: due.End}
	}
	decided, err := plan(d, nil, moment{now: now, threshold: time.Minute})
	if err != nil {
		s.log.Warn("a schedule is due that cannot be read", zap.String(keyJobName, due.JobName), zap.Error(err))
		return f, false
	}
	f = controldb.Firing{Schedule: due.ID, Revision: due.Revision, DueAt: due.DueAt, Runs: decided.runs, NextDueAt: decided.next}
	for _, k := range decided.skips {
		f.Skips = append(f.Skips, controldb.Skip{DueAt: k.due, Count: k.count, Cause: controldb.SkipCatchUp, Reason: k.reason})
	}
	return f, true
}
