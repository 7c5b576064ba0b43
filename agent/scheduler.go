package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// schedulesPerCall bounds how many schedules one round handles; what is left is handled in the next, at once.
const schedulesPerCall = 500

// runsPerCall bounds how many runs one round makes, but for one schedule's, so that the call ends in good time even after an outage
// that many schedules have to catch up on.
const runsPerCall = 1000

// scheduler turns due instants into executions. It never asks whether "now" matches a schedule: the database
// stores the next due instant, and creating its execution and moving it on is one transaction (I2, I10). T-SQL cannot compute
// a recurrence, so the scheduler also says when new and changed schedules are due, or what is wrong with them: its verdict.
type scheduler struct {
	store *controldb.Store
	term  controldb.Term
	comm  *communicator
	cfg   Config
	log   *zap.Logger

	// rechecked: all schedules that other engines have judged wait for a verdict, or have one since this term began.
	rechecked bool
	// otherKinds are the kinds that this agent does not know, and does not ask for again.
	otherKinds []string
}

func newScheduler(store *controldb.Store, term controldb.Term, comm *communicator, cfg Config, log *zap.Logger) *scheduler {
	return &scheduler{
		store: store, term: term, comm: comm, cfg: cfg, log: log.With(zap.String(keyService, "scheduler")),
	}
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

// runOnce handles what is due and what waits for a verdict, and returns how long to wait: until the next stored due instant,
// but at most the idle interval, since schedules may be added meanwhile, and nobody should wait for the verdict on one
// for longer than a second.
func (s *scheduler) runOnce(ctx context.Context) (time.Duration, error) {
	if !s.rechecked {
		n, remaining, err := s.store.RecheckSchedules(ctx, s.term.ID, schedule.Engine())
		if err != nil {
			return 0, err
		}
		s.rechecked = !remaining
		if n > 0 {
			s.log.Info("due instants are computed again by other rules", zap.Int(keyCount, n), zap.String(keyEngine, schedule.Engine()))
		}
	}
	due, err := s.store.DueSchedules(ctx, schedulesPerCall, s.otherKinds...)
	if err != nil {
		return 0, err
	}
	named := readCalendars(due.Calendars)
	judged, err := s.judge(ctx, due, named)
	if err != nil {
		return 0, err
	}
	fired, err := s.fire(ctx, due, named)
	if err != nil {
		return 0, err
	}
	if judged || fired {
		return 0, nil
	}
	most := s.cfg.rarely()
	wait := most - rand.N(most/5+1) // so that the loops of several agents drift apart
	if !due.NextFireAt.IsZero() {
		// The instant itself may have come meanwhile; never less than a millisecond, or a clock that runs late would spin.
		wait = min(wait, max(time.Millisecond, due.NextFireAt.Sub(due.Now)))
	}
	return wait, nil
}

// judge gives verdicts on the schedules that wait for one. more: there is more to do at once.
func (s *scheduler) judge(ctx context.Context, due controldb.DueSchedules, named firing.Calendars) (more bool, err error) {
	var verdicts []controldb.Verdict
	for _, sched := range due.Unjudged {
		d := definitionOf(sched)
		d.MinInterval = due.MinInterval
		v, err := firing.Judge(d, named, due.Now)
		if err != nil {
			s.leave(sched, err)
			more = true // what it can read may have had no place in the list
			continue
		}
		verdict := controldb.Verdict{
			Schedule: sched.ID, Revision: sched.Revision, SeenDueAt: sched.DueAt, Warnings: v.Warnings, Zone: v.Zone,
			Engine: schedule.Engine(), NextDueAt: v.Next, NextFireAt: v.Fire, Upcoming: v.Upcoming,
		}
		if v.Faults != nil {
			verdict.Errors = schedule.ErrorJSON(v.Faults)
		}
		verdicts = append(verdicts, verdict)
	}
	recorded, err := s.store.RecordVerdicts(ctx, s.term.ID, verdicts)
	if err != nil {
		return false, err
	}
	for _, r := range recorded {
		if r.Result != controldb.VerdictRecorded {
			continue
		}
		more = true // what it is due at may have come
		fields := []zap.Field{
			zap.String(keyJobName, r.JobName), zap.String(keySchedule, r.ScheduleName), zap.String(keyState, r.State), zap.Time(keyDueAt, r.NextDueAt),
		}
		switch {
		case !r.OldDueAt.IsZero() && !r.OldDueAt.Equal(r.NextDueAt):
			s.log.Info("schedule is due at another instant by other rules", append(fields, zap.Time(keyOldDueAt, r.OldDueAt))...)
		case r.OldDueAt.IsZero():
			s.log.Info("schedule validated", fields...)
		}
	}
	return more, nil
}

// fire handles due instants and backfills. more: there is more to do at once.
func (s *scheduler) fire(ctx context.Context, due controldb.DueSchedules, named firing.Calendars) (more bool, err error) {
	at := firing.Round{Now: due.Now, WorkingSince: due.WorkingSince, LastWorked: due.LastWorkedAt, MissedAfter: s.cfg.MissedAfter}
	var firings []controldb.Firing
	again := map[controldb.ScheduleID]bool{} // schedules that will be due at once when the firing has been carried out
	runs, locked := 0, 0
	for _, sched := range due.Schedules {
		if runs >= runsPerCall {
			more = true
			break
		}
		d, err := firing.Decide(definitionOf(sched), named, at)
		if err != nil {
			s.leave(sched, err)
			more = true
			continue
		}
		f := controldb.Firing{
			Schedule: sched.ID, Revision: sched.Revision, DueAt: sched.DueAt, Runs: d.Runs, LastDueAt: d.Last(),
			NextDueAt: d.Next, NextFireAt: d.Fire, Upcoming: d.Upcoming, Limit: d.Limit,
		}
		for _, k := range d.Skips {
			f.Skips = append(f.Skips, controldb.Skip{DueAt: k.Due, Count: k.Count, Cause: controldb.SkipCatchUp, Reason: k.Reason})
		}
		firings = append(firings, f)
		runs += len(d.Runs)
		if !d.Fire.IsZero() && !d.Fire.After(due.Now) {
			again[sched.ID] = true
		}
	}
	for _, b := range due.Backfills {
		if runs >= runsPerCall {
			more = true
			break
		}
		from := b.From
		if !b.NextAt.IsZero() {
			from = b.NextAt
		}
		f := controldb.Firing{Schedule: b.Schedule.ID, Revision: b.Schedule.Revision, Backfill: b.ID, DueAt: b.NextAt}
		f.Runs, f.NextDueAt, err = firing.Backfill(definitionOf(b.Schedule), named, from, b.To)
		switch {
		case errors.Is(err, firing.ErrUnknownKind):
			s.leave(b.Schedule, err)
			more = true
			continue
		case err != nil:
			f.Error = err.Error()
		}
		firings = append(firings, f)
		runs += len(f.Runs)
		if !f.NextDueAt.IsZero() {
			again[b.Schedule.ID] = true
		}
	}
	if len(firings) == 0 {
		return more, nil
	}
	fired, err := s.store.FireSchedules(ctx, s.term.ID, firings)
	if err != nil {
		return false, err
	}
	for _, f := range fired {
		switch f.Result {
		case controldb.FiredStale:
			continue // another agent was faster
		case controldb.FiredLocked:
			delete(again, f.Schedule) // it is due again in the next round, which need not come at once
			locked++
			s.log.Debug("schedule is left: another transaction holds it", zap.String(keyJobName, f.JobName), zap.Time(keyDueAt, f.DueAt))
			continue
		case controldb.FiredStarted:
			signal(s.comm.nudge)
		}
		fields := []zap.Field{zap.String(keyJobName, f.JobName), zap.Time(keyDueAt, f.DueAt), zap.String(keyOutcome, f.Result)}
		if f.JobExecutionID != uuid.Nil { // which a skipped instant has not
			fields = append(fields, zap.Stringer(keyExecutionID, f.JobExecutionID))
		}
		s.log.Info("schedule fired", fields...)
	}
	// A list that is full of what others hold would be the same at once.
	full := len(due.Schedules) == schedulesPerCall || len(due.Backfills) == schedulesPerCall
	return more || len(again) > 0 || full && locked < len(firings), nil
}

// leave leaves the schedules of a kind to other agents, and says so once: nothing of them is lost, they stay due.
func (s *scheduler) leave(sched controldb.DueSchedule, err error) {
	if slices.Contains(s.otherKinds, sched.Kind) {
		return
	}
	s.otherKinds = append(s.otherKinds, sched.Kind)
	s.log.Warn("schedules of a kind wait for another agent, the first of them is this one", zap.String(keyJobName, sched.JobName),
		zap.String(keySchedule, sched.Name), zap.Error(err))
}

// readCalendars parses the calendars of the database, once for all schedules of a round.
func readCalendars(list []controldb.CalendarText) firing.Calendars {
	texts := map[string]string{}
	for _, c := range list {
		texts[c.Name] = c.Spec
	}
	return firing.ReadCalendars(texts)
}

// definitionOf is a stored schedule as far as its instants depend on it.
func definitionOf(d controldb.DueSchedule) firing.Definition {
	out := firing.Definition{
		ID: int64(d.ID), Kind: d.Kind, Spec: d.Spec, Zone: d.TimeZone, CatchUp: d.CatchUp, Defined: d.Defined, Activated: d.Activated,
		Due: d.DueAt, LastDue: d.LastDueAt, Executions: d.Executions,
	}
	if d.Name == "" {
		out.Job = &schedule.Elastic{Interval: schedule.Interval(d.IntervalType), Count: d.IntervalCount, Start: d.Anchor, End: d.End}
	}
	return out
}
