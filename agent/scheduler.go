package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// schedulesPerCall bounds how many schedules one round handles. The next round follows at once if
// there are more.
const schedulesPerCall = 500

// runsPerCall bounds how many runs one round creates, so that the call is short even after an
// outage that many schedules have to catch up on. A round exceeds the bound by the runs of at most
// one schedule.
const runsPerCall = 1000

// scheduler creates executions at due instants. It never asks whether the current time matches a
// schedule: the control database stores the next due instant, and one transaction creates the
// execution and stores the following instant (I2, I10).
//
// T-SQL cannot compute a recurrence. Therefore the scheduler also validates new and changed
// schedules: the result is the next due instant or the list of errors. For the same reason, it
// evaluates the windows of roll-outs.
type scheduler struct {
	store *controldb.Store
	term  controldb.Term
	cfg   Config
	log   *zap.Logger
	crowd *crowd
	// wakeController asks the controller for a pass. Size 1.
	wakeController chan<- struct{}

	// rechecked is set once every schedule that another engine has validated is marked for
	// another validation.
	rechecked bool
	// unknownKinds are the kinds of schedules that this agent does not support. It does not read
	// schedules of these kinds again.
	unknownKinds []string
	engine       engine
	// failed are the schedules, failedWindows the windows, and failedCalendars the texts of the
	// calendars for which the engine has failed.
	failed          map[controldb.ScheduleID]bool
	failedWindows   map[[2]int64]bool
	failedCalendars map[string]bool
	// refused are the schedules of which a validation or a firing was refused. refusedWindows are
	// the windows of which an answer was refused, by roll-out and answer.
	refused        map[controldb.ScheduleID]bool
	refusedWindows map[[2]int64]bool
	// statusAt is the time of the next check for schedules that are due and do not fire; unfired is
	// true after they were logged.
	statusAt time.Time
	unfired  bool
}

func newScheduler(
	store *controldb.Store, term controldb.Term, crowd *crowd, wakeController chan<- struct{}, cfg Config, log *zap.Logger,
) *scheduler {
	return &scheduler{
		store: store, term: term, crowd: crowd, wakeController: wakeController, cfg: cfg,
		engine: newEngine(), failed: map[controldb.ScheduleID]bool{}, failedWindows: map[[2]int64]bool{},
		failedCalendars: map[string]bool{},
		refused:         map[controldb.ScheduleID]bool{}, refusedWindows: map[[2]int64]bool{},
		log: log.With(zap.String(keyService, "scheduler")),
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
		case errors.Is(err, dberror.ErrTermEnded):
			return ErrTermLost
		case errors.Is(err, dberror.ErrSchemaVersion):
			return err
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			s.log.Warn("could not create due executions", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	return nil
}

// runOnce handles the due schedules and the schedules that wait for validation. It returns how long
// to wait before the next round: until the next stored due instant, but at most a second at the
// default interval, because schedules may be added at any time, and should be validated soon.
func (s *scheduler) runOnce(ctx context.Context) (time.Duration, error) {
	if !s.rechecked {
		n, remaining, err := s.store.RecheckSchedules(ctx, s.term.ID, schedule.Engine())
		if err != nil {
			return 0, err
		}
		s.rechecked = !remaining
		if n > 0 {
			s.log.Info("recomputing due instants because the schedule engine has changed",
				zap.Int(keyCount, n), zap.String(keyEngine, schedule.Engine()))
		}
	}
	due, err := s.store.DueSchedules(ctx, schedulesPerCall, s.unknownKinds...)
	if err != nil {
		return 0, err
	}
	calendars := s.readCalendars(due.Calendars)
	validated, err := s.validate(ctx, due, calendars)
	if err != nil {
		return 0, err
	}
	fired, err := s.fire(ctx, due, calendars)
	if err != nil {
		return 0, err
	}
	if err := s.evaluateWindows(ctx, due); err != nil {
		return 0, err
	}
	s.watch(ctx)
	if validated || fired {
		return 0, nil
	}
	longest := s.cfg.polls().Schedules(s.crowd.size())
	wait := longest - rand.N(longest/10+1) // random, so that several agents do not run in step
	if !due.NextFireAt.IsZero() {
		// The instant may have passed already. Wait a millisecond at least: without the wait, the
		// loop would spin while the database's clock is behind.
		wait = min(wait, max(time.Millisecond, due.NextFireAt.Sub(due.Now)))
	}
	return wait, nil
}

// evaluateWindows determines whether the windows of roll-outs and databases are open. An answer is
// needed when something waits for a window, when a window opens or closes, and once a minute.
func (s *scheduler) evaluateWindows(ctx context.Context, due controldb.DueSchedules) error {
	states := make([]controldb.WindowState, 0, len(due.Windows))
	for _, w := range due.Windows {
		states = append(states, s.windowState(w, due.Now))
	}
	if len(states) == 0 {
		return nil
	}
	_, err := storeApart(ctx, states,
		func(ctx context.Context, some []controldb.WindowState) ([]struct{}, error) {
			opened, err := s.store.RecordWindows(ctx, s.term.ID, some)
			if opened > 0 {
				notify(s.wakeController)
			}
			return nil, err
		},
		func(w controldb.WindowState, err error) { s.refuseWindow(w.Window, err) })
	return err
}

// refuseWindow logs that the control database refuses the answer about a window, once for each
// window. The window counts as closed, and every round tries again.
func (s *scheduler) refuseWindow(w controldb.Window, err error) {
	key := [2]int64{w.ExecutionID, w.AnswerID}
	if s.refusedWindows[key] {
		return
	}
	s.refusedWindows[key] = true
	s.log.Error("the control database refuses the answer about a window, which counts as closed; other windows go on",
		zap.String(keyName, w.Calendar), zap.Error(err))
}

// watch logs, at most once a minute, the schedules that are due and do not fire: rounds skip
// schedules that another transaction has locked. It reports no error, because the next call of the
// round fails, too.
func (s *scheduler) watch(ctx context.Context) {
	now := time.Now()
	if now.Before(s.statusAt) {
		return
	}
	s.statusAt = now.Add(time.Minute)
	status, err := s.store.AdvanceStatus(ctx)
	switch {
	case err != nil:
	case !status.UnfiredSince.IsZero():
		s.unfired = true
		s.log.Warn("schedules are due and do not fire: another transaction has locked them or their jobs, or no agent supports their kind",
			zap.Time(keyDueAt, status.UnfiredSince))
	case s.unfired:
		s.unfired = false
		s.log.Info("schedules fire again")
	}
}

// validate validates the schedules that wait for validation, and records the results. more means
// that the next round should follow at once.
func (s *scheduler) validate(
	ctx context.Context, due controldb.DueSchedules, calendars firing.Calendars,
) (more bool, err error) {
	validations, more := s.computeValidations(due, calendars)
	recorded, err := storeApart(ctx, validations,
		func(ctx context.Context, some []controldb.Validation) ([]controldb.RecordedValidation, error) {
			return s.store.RecordValidations(ctx, s.term.ID, some)
		},
		func(v controldb.Validation, err error) { s.refuse(v.Schedule, err) })
	if err != nil {
		return false, err
	}
	for _, r := range recorded {
		if r.Result != controldb.ValidationRecorded {
			continue
		}
		more = true // the schedule may be due now
		fields := []zap.Field{
			zap.String(keyJobName, r.JobName), zap.String(keySchedule, r.ScheduleName),
			zap.String(keyState, r.State), zap.Time(keyDueAt, r.NextDueAt),
		}
		switch {
		case !r.OldDueAt.IsZero() && !r.OldDueAt.Equal(r.NextDueAt):
			s.log.Info("schedule is due at another instant because the schedule engine has changed",
				append(fields, zap.Time(keyOldDueAt, r.OldDueAt))...)
		case r.OldDueAt.IsZero():
			s.log.Info("schedule validated", fields...)
		}
	}
	return more, nil
}

// computeValidations validates the schedules that wait for validation. more means that the next
// round should follow at once.
func (s *scheduler) computeValidations(due controldb.DueSchedules, calendars firing.Calendars) (list []controldb.Validation, more bool) {
	for _, sched := range due.Unvalidated {
		d := definitionOf(sched)
		d.MinInterval = due.MinInterval
		v, err := guarded(func() (firing.Validation, error) { return s.engine.validate(d, calendars, due.Now) })
		switch {
		case errors.Is(err, firing.ErrUnknownKind):
			s.skipKind(sched, err)
			more = true // other schedules may not have been listed
			continue
		case err != nil:
			s.fail(sched, err)
			v.Faults = fmt.Errorf("a text that the agent can compute: %w", err) // the sentence begins with "want"
		}
		validation := controldb.Validation{
			Schedule: sched.ID, Revision: sched.Revision, SeenDueAt: sched.DueAt, Warnings: v.Warnings, Zone: v.Zone,
			Engine: schedule.Engine(), NextDueAt: v.Next, NextFireAt: v.Fire, Upcoming: v.Upcoming,
			Description: v.Description, RecheckAt: v.RecheckAt,
		}
		if v.Faults != nil {
			validation.Errors = schedule.ErrorJSON(v.Faults)
		}
		list = append(list, validation)
	}
	return list, more
}

// fire handles due instants and backfills. more means that the next round should follow at once.
func (s *scheduler) fire(
	ctx context.Context, due controldb.DueSchedules, calendars firing.Calendars,
) (more bool, err error) {
	read := time.Now() // due.Now on the process's clock
	d := decisions{dueNow: map[controldb.ScheduleID]bool{}, dueAgain: map[controldb.ScheduleID]bool{}}
	s.decideSchedules(&d, due, calendars)
	s.decideBackfills(&d, due, calendars)
	if len(d.firings) == 0 {
		return d.more, nil
	}
	locked := 0 // schedules that stay due, but need not be retried at once
	fired, err := storeApart(ctx, d.firings,
		func(ctx context.Context, some []controldb.Firing) ([]controldb.FiredExecution, error) {
			return s.store.FireSchedules(ctx, s.term.ID, some)
		},
		func(f controldb.Firing, err error) {
			s.refuse(f.Schedule, err)
			delete(d.dueAgain, f.Schedule)
			locked++
		})
	if err != nil {
		return false, err
	}
	for _, f := range fired {
		s.cfg.Metrics.InstantHandled(f.Result)
		switch f.Result {
		case controldb.FiredStale: // another agent has handled it
		case controldb.FiredLocked:
			delete(d.dueAgain, f.Schedule)
			locked++
			s.log.Debug("schedule left due", zap.String(keyJobName, f.JobName), zap.Time(keyDueAt, f.DueAt),
				zap.String(keyReason, f.Reason))
		case controldb.FiredStarted:
			notify(s.wakeController)
			if d.dueNow[f.Schedule] {
				s.cfg.Metrics.RunStarted(due.Now.Sub(f.DueAt) + time.Since(read))
			}
			s.logFired(f)
		default:
			s.logFired(f)
		}
	}
	// If all listed schedules are locked, the next list would be the same now.
	full := len(due.Schedules) == schedulesPerCall || len(due.Backfills) == schedulesPerCall
	return d.more || len(d.dueAgain) > 0 || full && locked < len(d.firings), nil
}

// decisions are the firings of one call of fire_schedules.
type decisions struct {
	firings []controldb.Firing
	runs    int // runs that the firings start
	// dueNow are the schedules with an instant that is due, in addition to those with a backfill.
	// dueAgain are the schedules with another instant that is due after this call.
	dueNow, dueAgain map[controldb.ScheduleID]bool
	// more means that some firings were left to the next round.
	more bool
}

// full reports whether no further firing fits, and records that some are left.
func (d *decisions) full() bool {
	if d.runs < runsPerCall {
		return false
	}
	d.more = true
	return true
}

// add adds a firing; again means that another instant of the schedule is due after it.
func (d *decisions) add(f controldb.Firing, again bool) {
	d.firings = append(d.firings, f)
	d.runs += len(f.Runs)
	if again {
		d.dueAgain[f.Schedule] = true
	}
}

// decideSchedules decides on the instants that are due.
func (s *scheduler) decideSchedules(d *decisions, due controldb.DueSchedules, calendars firing.Calendars) {
	round := firing.Round{
		Now: due.Now, WorkingSince: due.WorkingSince, LastWorked: due.LastWorkedAt, MissedAfter: s.cfg.MissedAfter,
	}
	for _, sched := range due.Schedules {
		if d.full() {
			return
		}
		decided, err := guarded(func() (firing.Decision, error) { return s.engine.decide(definitionOf(sched), calendars, round) })
		switch {
		case errors.Is(err, firing.ErrUnknownKind):
			s.skipKind(sched, err)
			d.more = true
			continue
		case err != nil: // it stays due: it may wait for validation, or another agent may know its text
			s.fail(sched, err)
			continue
		}
		f := controldb.Firing{
			Schedule: sched.ID, Revision: sched.Revision, DueAt: sched.DueAt, Runs: decided.Runs, LastDueAt: decided.Last(),
			NextDueAt: decided.Next, NextFireAt: decided.Fire, Upcoming: decided.Upcoming, Limit: decided.Limit,
		}
		for _, k := range decided.Skips {
			f.Skips = append(f.Skips, controldb.Skip{
				DueAt: k.Due, Count: k.Count, Cause: controldb.SkipCatchUp, Reason: k.Reason,
			})
		}
		d.dueNow[sched.ID] = true
		d.add(f, !decided.Fire.IsZero() && !decided.Fire.After(due.Now))
	}
}

// decideBackfills decides which instants of backfills become runs.
func (s *scheduler) decideBackfills(d *decisions, due controldb.DueSchedules, calendars firing.Calendars) {
	for _, b := range due.Backfills {
		if d.full() {
			return
		}
		from := b.From
		if !b.NextAt.IsZero() {
			from = b.NextAt
		}
		f := controldb.Firing{Schedule: b.Schedule.ID, Revision: b.Schedule.Revision, Backfill: b.ID, DueAt: b.NextAt}
		runs, err := guarded(func() ([]time.Time, error) {
			runs, next, err := s.engine.backfill(definitionOf(b.Schedule), calendars, from, b.To)
			f.NextDueAt = next
			return runs, err
		})
		f.Runs = runs
		switch {
		case errors.Is(err, firing.ErrUnknownKind):
			s.skipKind(b.Schedule, err)
			d.more = true
			continue
		case err != nil:
			s.fail(b.Schedule, err)
			f.Error = err.Error()
		}
		d.add(f, !f.NextDueAt.IsZero())
	}
}

// refuse logs that the control database refuses a validation or a firing of a schedule, once for
// each schedule. The schedule waits for validation, or stays due, and every round tries again.
func (s *scheduler) refuse(id controldb.ScheduleID, err error) {
	if s.refused[id] {
		return
	}
	s.refused[id] = true
	s.log.Error("the control database refuses the validation or the firing of a schedule; other schedules go on",
		zap.Int64(keyScheduleID, int64(id)), zap.Error(err))
}

// logFired logs an instant that was handled.
func (s *scheduler) logFired(f controldb.FiredExecution) {
	fields := []zap.Field{
		zap.String(keyJobName, f.JobName), zap.Time(keyDueAt, f.DueAt), zap.String(keyOutcome, f.Result),
	}
	if f.JobExecutionID != uuid.Nil { // nil for a skipped instant
		fields = append(fields, zap.Stringer(keyExecutionID, f.JobExecutionID))
	}
	s.log.Info("schedule fired", fields...)
}

// skipKind leaves all schedules of a kind to other agents and logs it once. The schedules stay due.
func (s *scheduler) skipKind(sched controldb.DueSchedule, err error) {
	if slices.Contains(s.unknownKinds, sched.Kind) {
		return
	}
	s.unknownKinds = append(s.unknownKinds, sched.Kind)
	s.log.Warn("schedules of an unsupported kind wait for another agent; this is the first one",
		zap.String(keyJobName, sched.JobName), zap.String(keySchedule, sched.Name), zap.Error(err))
}

// definitionOf returns the part of a stored schedule on which its due instants depend.
func definitionOf(d controldb.DueSchedule) firing.Definition {
	out := firing.Definition{
		ID: int64(d.ID), Kind: d.Kind, Spec: d.Spec, Zone: d.TimeZone, CatchUp: d.CatchUp,
		Defined: d.Defined, Activated: d.Activated, Due: d.DueAt, LastDue: d.LastDueAt, Executions: d.Executions,
	}
	if d.Name == "" {
		out.Job = &schedule.Elastic{
			Interval: schedule.Interval(d.IntervalType), Count: d.IntervalCount, Start: d.Anchor, End: d.End,
		}
	}
	return out
}
