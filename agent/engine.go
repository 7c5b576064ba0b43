package agent

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
)

// engine computes the instants of one definition. All agents compute the same ones. Therefore the
// caller guards each call: an unguarded panic would end the cores of all agents again and again.
type engine struct {
	validate func(firing.Definition, firing.Calendars, time.Time) (firing.Validation, error)
	decide   func(firing.Definition, firing.Calendars, firing.Round) (firing.Decision, error)
	backfill func(d firing.Definition, named firing.Calendars, from, to time.Time) ([]time.Time, time.Time, error)
	calendar func(texts map[string]string) firing.Calendars
	window   func(controldb.Window, time.Time) controldb.WindowState
}

func newEngine() engine {
	return engine{
		validate: firing.Validate, decide: firing.Decide, backfill: firing.Backfill, calendar: firing.ReadCalendars, window: windowState,
	}
}

// enginePanic is a panic of the engine.
type enginePanic struct {
	value any
	stack []byte
}

// Error implements error.
func (p *enginePanic) Error() string {
	return fmt.Sprintf("the agent had an internal error (%v): see the agent's log", p.value)
}

// guarded calls the engine. A panic is an *enginePanic.
func guarded[T any](compute func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &enginePanic{value: p, stack: debug.Stack()}
		}
	}()
	return compute()
}

// engineFields returns the fields of a log entry about an error of the engine.
func engineFields(err error) []zap.Field {
	var p *enginePanic
	if errors.As(err, &p) {
		return []zap.Field{zap.Any(keyError, p.value), zap.ByteString(keyStack, p.stack)}
	}
	return []zap.Field{zap.Error(err)}
}

// fail logs, once for each schedule, that its instants cannot be computed: a panic as an error, and
// a text that the engine refuses as a warning.
func (s *scheduler) fail(sched controldb.DueSchedule, err error) {
	if s.failed[sched.ID] {
		return
	}
	s.failed[sched.ID] = true
	level := zap.WarnLevel
	if errors.As(err, new(*enginePanic)) {
		level = zap.ErrorLevel
	}
	s.log.Log(level, "the instants of a schedule cannot be computed; other schedules go on", append(engineFields(err),
		zap.Int64(keyScheduleID, int64(sched.ID)), zap.String(keyJobName, sched.JobName), zap.String(keySchedule, sched.Name))...)
}

// windowState evaluates a window at an instant.
func windowState(w controldb.Window, at time.Time) controldb.WindowState {
	state := controldb.WindowState{Window: w, At: at}
	state.Open, state.Changes, state.Fault = schedule.NamedOpenTimes{
		Calendar: w.Calendar, Spec: w.Spec, Blackouts: w.Blackouts, BlackoutsSpec: w.BlackoutsSpec, Zone: w.Zone,
	}.StateAt(at)
	return state
}

// windowState evaluates a window at an instant. If the engine fails, the window is closed.
func (s *scheduler) windowState(w controldb.Window, at time.Time) controldb.WindowState {
	state, err := guarded(func() (controldb.WindowState, error) { return s.engine.window(w, at), nil })
	if err == nil {
		return state
	}
	if key := [2]int64{w.ExecutionID, w.AnswerID}; !s.failedWindows[key] {
		s.failedWindows[key] = true
		s.log.Error("a window cannot be evaluated, and counts as closed; other windows go on",
			append(engineFields(err), zap.String(keyName, w.Calendar))...)
	}
	return controldb.WindowState{
		Window: w, At: at, Fault: fmt.Sprintf("The calendar '%s' cannot be evaluated. See the agent's log.", w.Calendar),
	}
}

// readCalendars parses the calendars of the control database, once for all schedules of a round. A
// calendar for which the engine fails is left out: schedules that name it have the fault that it
// does not exist.
func (s *scheduler) readCalendars(list []controldb.CalendarText) firing.Calendars {
	texts := map[string]string{}
	for _, c := range list {
		texts[c.Name] = c.Spec
	}
	read := func(texts map[string]string) (firing.Calendars, error) {
		return guarded(func() (firing.Calendars, error) { return s.engine.calendar(texts), nil })
	}
	all, err := read(texts)
	if err == nil {
		return all
	}
	for _, c := range list {
		if _, err := read(map[string]string{c.Name: c.Spec}); err != nil {
			delete(texts, c.Name)
			if !s.failedCalendars[c.Spec] {
				s.failedCalendars[c.Spec] = true
				s.log.Error("a calendar cannot be read; schedules that name it are Faulted",
					append(engineFields(err), zap.String(keyName, c.Name))...)
			}
		}
	}
	all, _ = read(texts)
	return all
}
