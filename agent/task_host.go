package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// taskHost is the fixed pool of workers. Each worker takes a task from the queue, carries it out
// under the task's own context, and hands a report to the outbox.
type taskHost struct {
	store    *controldb.Store
	termID   controldb.TermID
	comm     *communicator
	runner   *mssql.Runner
	resolver *mssql.Resolver
	actions  Actions
	traces   *tracing.Recorder // nil: no traces
	caches   *caches
	gate     *sendGate
	cfg      Config
	// skipGrace, once closed, ends the grace period of a stopping agent.
	skipGrace <-chan struct{}
	// stopping reports whether the whole agent stops, not only its term.
	stopping func() bool
	underway underway
	log      *zap.Logger
}

func newTaskHost(
	store *controldb.Store, termID controldb.TermID, comm *communicator, gate *sendGate, tools Tools,
	cfg Config, skipGrace <-chan struct{}, log *zap.Logger,
) *taskHost {
	return &taskHost{
		store: store, termID: termID, comm: comm,
		runner: tools.Runner, resolver: tools.Resolver, actions: tools.Actions, traces: tools.Traces, gate: gate,
		caches: newCaches(store, cfg.Metrics), cfg: cfg, skipGrace: skipGrace, log: log.With(zap.String(keyService, "taskHost")),
	}
}

func (h *taskHost) name() string { return "taskHost" }

// run carries out tasks until ctx is done. Then it waits for running tasks: for the grace period,
// and afterwards until the canceled scripts have ended. Queued tasks are returned last.
func (h *taskHost) run(ctx context.Context, ready func()) error {
	var workers sync.WaitGroup
	for range h.cfg.MaxConcurrentTargets {
		workers.Go(func() { h.work(ctx) })
	}
	ready()
	<-ctx.Done()

	idle := make(chan struct{})
	go func() { // ends with the workers, for which run waits
		workers.Wait()
		close(idle)
	}()
	if h.cfg.Grace > 0 {
		if h.stopping != nil && h.stopping() {
			h.announceStop()
		}
		grace := time.NewTimer(h.cfg.Grace)
		defer grace.Stop()
		select {
		case <-idle:
		case <-grace.C:
			h.log.Warn("grace period over, canceling running tasks")
		case <-h.skipGrace:
			h.log.Warn("grace period skipped, canceling running tasks")
		}
	}
	h.comm.registry.cancelAll(ErrStopping)
	<-idle
	h.returnQueued()
	return nil
}

// work is the loop of one worker.
func (h *taskHost) work(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-h.comm.queue.tasks:
			h.comm.take()
			h.comm.done(e, h.counted(e))
		}
	}
}

// returnQueued returns the tasks that no worker has taken. Nothing was sent to their targets.
func (h *taskHost) returnQueued() {
	for {
		select {
		case e := <-h.comm.queue.tasks:
			h.comm.take()
			h.comm.done(e, notSent(e.task, "the agent stopped before the attempt began"))
		default:
			return
		}
	}
}

// notSent returns the report on a task for which nothing was sent: the task goes back to the
// control database, and the attempt does not count.
func notSent(task controldb.Task, reason string) report {
	return report{task: task.ID, outcome: controldb.Outcome{
		Task: task.ID, Attempt: task.Attempt, Outcome: targets.NotSent, Message: reason,
	}}
}

// counted carries out a task, returns its report, counts it, and records its span.
func (h *taskHost) counted(e *entry) report {
	defer h.underway.begin(e)()
	started, command := time.Now(), commandOf(e.task)
	h.cfg.Metrics.TaskTaken(command, e.task.Attempt, started.Sub(e.claimedAt))
	r := h.carryOut(e)
	h.cfg.Metrics.TaskEnded(command, outcomeOf(r), time.Since(started), e.task.JobExecutionID)
	h.trace(e.task, r, started)
	return r
}

// carryOut carries out a task and returns its report. A panic fails only this task.
func (h *taskHost) carryOut(e *entry) (r report) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("task panicked",
				append(taskFields(e.task), zap.Any(keyError, p), zap.ByteString(keyStack, debug.Stack()))...)
			r = report{task: e.task.ID, outcome: controldb.Outcome{
				Task: e.task.ID, Attempt: e.task.Attempt, Outcome: targets.Unknown,
				Message: "The agent had an internal error during the attempt; whether the script ran is unknown. " +
					"See the agent's log.",
			}}
		}
	}()
	ctx := e.ctx
	if !e.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, e.deadline, targets.ErrTimeout)
		defer cancel()
	}
	if e.task.Kind == controldb.TaskResolve {
		if e.task.Upkeep {
			return h.database(e.task)
		}
		return h.resolve(ctx, e.task)
	}
	return h.attempt(ctx, e.task)
}

// attempt runs the script of a step on one target.
func (h *taskHost) attempt(ctx context.Context, task controldb.Task) report {
	script, err := h.caches.command(ctx, task.CommandID)
	if err != nil {
		return h.unread(ctx, task, "the command", err)
	}
	switch {
	case task.Mode != "" && (!slices.Contains(modes, task.Mode) || task.CommandType != action.TypeTSQL): // claims exclude such tasks
		return h.retreat(ctx, task, fmt.Sprintf("the agent knows no runs with the mode %s", task.Mode))
	case task.Upkeep:
		return h.upkeep(ctx, task, script)
	case task.CommandType == action.TypeDrift:
		return h.drift(ctx, task, script)
	case task.CommandType != action.TypeTSQL:
		return h.action(ctx, task, script)
	}
	params, err := h.parameters(ctx, task)
	if err != nil {
		return h.unread(ctx, task, "the run's parameters", err)
	}
	a := mssql.Attempt{
		Attempt: targets.Attempt{Target: task.Target, Credential: task.CredentialName, Command: script, Session: sessionText(task)},
		Variables: mssql.RunVariables{
			JobName: task.JobName, JobID: task.JobID, JobVersion: task.JobVersion,
			StepID: task.StepID, StepName: task.StepName,
			JobExecutionID: task.JobExecutionID, JobExecutionCreateTime: task.ExecutionCreateTime,
			TargetGroupName: task.TargetGroupName,
		}.Variables(),
		Parameters: params, Options: task.Options, Probes: task.Probes,
	}
	if out := task.Output; out != nil {
		a.Output = &mssql.Output{
			Server: out.Server, Database: out.Database, Schema: out.Schema, Table: out.Table, Credential: out.Credential,
			ExecutionID: task.TargetExecutionID,
		}
	}
	if task.AtMostOnce {
		a.Once = &mssql.Once{ExecutionID: task.TargetExecutionID, JobExecutionID: task.JobExecutionID, StepID: task.StepID}
	}
	switch task.Mode {
	case controldb.ModeTrial:
		a.Trial, err = mssql.ParseTrial(task.ModeOptions)
	case controldb.ModePreflight:
		a.Preflight, err = mssql.ParsePreflight(task.ModeOptions)
	}
	if err != nil {
		r := notSent(task, "")
		r.outcome.Outcome, r.outcome.Message, r.outcome.NoRetry, r.outcome.Unsent = targets.Failed, err.Error(), true, true
		return r
	}
	res := h.runner.Run(ctx, a)
	r := h.result(task, res)
	r.outcome.Unreached = res.Outcome == targets.Failed && !res.Sent && unreachedTarget(res)
	return r
}

// result logs the result of an attempt and returns the report on it.
func (h *taskHost) result(task controldb.Task, res targets.Result) report {
	fields := append(taskFields(task), zap.String(keyOutcome, string(res.Outcome)), zap.Duration(keyElapsed, res.Elapsed))
	if res.Err != nil {
		fields = append(fields, zap.Int32(keySQLError, res.Error.Number), zap.Int32(keySQLLine, res.Error.Line))
	}
	h.log.Debug("attempt ended", fields...)
	return report{task: task.ID, phases: res.Phases, outcome: controldb.Outcome{
		Task: task.ID, Attempt: task.Attempt, Outcome: res.Outcome, Message: res.Summary, Error: res.Error,
		Unsent: !res.Sent, Unknown: res.OutcomeUnknown, NoRetry: res.NoRetry, RetryAfter: res.RetryAfter,
		Messages: res.Messages, RowsAffected: res.RowsAffected, Elapsed: res.Elapsed, SPID: res.SPID,
		Probed: res.Probed,
	}}
}

// unread returns a task uncounted, because the agent could not read what from the control database.
func (h *taskHost) unread(ctx context.Context, task controldb.Task, what string, err error) report {
	if ctx.Err() != nil {
		return h.unsent(ctx, task)
	}
	h.log.Warn("could not read what a task needs, returning the task",
		append(taskFields(task), zap.String(keyMissing, what), zap.Error(err))...)
	return h.retreat(ctx, task, "the agent could not read "+what+" from the control database")
}

// retreat returns a task uncounted, because the agent lacks something. It waits first, because the
// task is claimed again as soon as it is returned.
func (h *taskHost) retreat(ctx context.Context, task controldb.Task, reason string) report {
	if !sleep(ctx, h.cfg.polls().Slow(), nil) {
		return h.unsent(ctx, task)
	}
	return notSent(task, reason)
}

// unreachedTarget reports whether an attempt that sent nothing had no session on its target: there
// was no connection, the login was refused, or the agent refused the target. A session that was
// lost later, and a missing right of the login, do not make the target unreachable.
func unreachedTarget(res targets.Result) bool {
	loggedIn := slices.ContainsFunc(res.Phases, func(p targets.Phase) bool {
		return p.Name == targets.PhaseConnect && !p.Failed
	})
	return unreached(res.Err) && (!loggedIn || res.Error.Class == targets.ClassConfig)
}

// unreached reports whether err means that a server did not answer or refused the login. err ended
// an attempt before anything was sent. The schedules of a job are disabled when none of its targets
// could be reached for days.
func unreached(err error) bool {
	var output *mssql.OutputError
	if errors.As(err, &output) {
		return false // the server of the output table did not answer, not the target
	}
	switch mssql.Classify(err).Class {
	case targets.ClassTransient, targets.ClassTimeout, targets.ClassLostConnection, targets.ClassAuth, targets.ClassConfig:
		return true
	}
	return false
}

// resolve lists the databases of a target group.
func (h *taskHost) resolve(ctx context.Context, task controldb.Task) report {
	started := time.Now()
	var definition *action.Definition
	var params *parameters.Parameters
	if task.CommandType != action.TypeTSQL && task.CommandType != action.TypeDrift {
		var gone *report
		if definition, params, gone = h.resolvedAction(ctx, task); gone != nil {
			return *gone
		}
	}
	if isEndpoint(task) {
		return h.resolveEndpoint(ctx, task, definition, params)
	}
	members := task.Members
	if slices.ContainsFunc(members, targets.Member.StandsForMore) {
		var err error
		if members, err = h.store.Members(ctx, task.ID); err != nil {
			return h.unread(ctx, task, "the members of the target group", err)
		}
	}
	list, tags, err := h.resolver.ResolveTags(ctx, members)
	if err != nil && ctx.Err() != nil {
		return h.unsent(ctx, task)
	}
	if err == nil && len(tags) > 0 {
		err = targetgroups.On(h.store).SetQueryTags(ctx, h.termID, task.ID, tags)
		if err != nil && dberror.KindOf(err) != dberror.KindInvalid {
			return h.unread(ctx, task, "the answer about tags", err)
		}
	}
	r := &controldb.Resolution{
		Attempt: task.Attempt, Targets: list, Elapsed: time.Since(started), PerCall: h.cfg.TargetsPerCall,
	}
	if definition != nil {
		r.LimitServers = h.actionServers(ctx, task, definition, params, list)
	}
	if err != nil {
		c := mssql.Classify(err)
		r.Failure = err.Error()
		r.Error = targets.ErrorDetail{Number: c.Number, Text: err.Error(), Class: c.Class}
		r.Unreached = unreached(err)
	}
	return report{task: task.ID, resolution: r}
}

// unsent returns the report on a task whose context ended before anything was sent. The cause
// decides the outcome.
func (h *taskHost) unsent(ctx context.Context, task controldb.Task) report {
	r := notSent(task, "")
	r.outcome.Unsent = true
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, targets.ErrStopRequested):
		r.outcome.Outcome, r.outcome.Message = targets.Canceled, "Canceled before the script was sent."
	case errors.Is(cause, targets.ErrTimeout):
		r.outcome.Outcome, r.outcome.Message = targets.TimedOut, "The step's time limit passed before the script was sent."
	default:
		r.outcome.Message = fmt.Sprintf("not begun: %v", cause)
	}
	return r
}

// taskFields returns the fields of every log entry about a task.
func taskFields(t controldb.Task) []zap.Field {
	return []zap.Field{
		zap.Int64(keyTaskID, int64(t.ID)), zap.String(keyJobName, t.JobName), zap.Int(keyJobVersion, t.JobVersion),
		zap.Stringer(keyExecutionID, t.JobExecutionID), zap.Int(keyStepID, t.StepID),
		zap.Stringer(keyTraceID, runTrace(t.JobExecutionID)), zap.Stringer(keySpanID, spanOf(t)),
		zap.String(keyServer, t.Target.Server), zap.String(keyDatabase, t.Target.Database), zap.Int(keyAttempt, t.Attempt),
	}
}
