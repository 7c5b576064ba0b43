package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/callback"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mail"
	"github.com/jobagent/jobagent/targets/outbound"
)

// ErrNoSecret means that a secret which an action names does not exist, or that the agent cannot
// open it. Another attempt of the same agent would not help.
var ErrNoSecret = errors.New("the secret is not available")

// errNoReceiver means that the agent has no URL to which an endpoint could report.
var errNoReceiver = &targets.ConfigError{
	Subject: "the action's callback", Err: errors.New("set callbacks.public_url in the agent's configuration"),
}

// Receiver receives reports on actions that end outside of the agent. Serve answers requests until
// ctx is done, and then closes the receiver. Close closes a receiver whose Serve was not called.
type Receiver interface {
	Serve(ctx context.Context) error
	Close() error
}

// Actions carries out commands other than T-SQL. The zero value carries out none.
type Actions struct {
	// Runners are the runners by type of command. The agent claims tasks of these types only.
	Runners map[action.Type]targets.ActionRunner
	// Secret returns the value of $(secret.NAME), with the hosts that may receive it (see
	// [action.Secret]). It returns an error that wraps [ErrNoSecret] if there is no such secret.
	// nil means that there are no secrets.
	Secret func(ctx context.Context, name string) (action.Value, error)
	// CallbackURL is the public URL of a receiver of callbacks (agent/rest), in this process or in
	// another one; empty means that the agent cannot carry out actions with a callback URL.
	CallbackURL string
	// Receiver receives callbacks while the agent runs; nil means that the agent receives none.
	Receiver Receiver
	// FrontURL is the address of the REST front as clients see it, for the header
	// x-sap-scheduler-host; empty means that the header is left out.
	FrontURL string
	// Mail sends alerts by e-mail; nil means that other processes send them.
	Mail *mail.Sender
	// Pages is the address of the dashboard's pages of the control database, for links in alerts;
	// empty means none.
	Pages string
}

// commandTypes returns the types of commands that the agent runs.
func (a Actions) commandTypes() []action.Type {
	types := []action.Type{action.TypeTSQL}
	for _, i := range action.Actions() {
		if i.Type == action.TypeDrift || a.Runners[i.Type] != nil { // a comparison needs no runner
			types = append(types, i.Type)
		}
	}
	return types
}

// keySpace is the name space of idempotency keys, which are UUIDs of version 5 (S-56).
var keySpace = uuid.MustParse("6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68")

// IdempotencyKey returns the key of all attempts of a step on a target.
func IdempotencyKey(targetExecutionID uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(keySpace, targetExecutionID[:])
}

// action carries out the attempt of an action.
func (h *taskHost) action(ctx context.Context, task controldb.Task, text string) report {
	runner := h.actions.Runners[task.CommandType]
	if runner == nil { // claims exclude such tasks
		return h.retreat(ctx, task, fmt.Sprintf("the agent runs no commands of type %s", task.CommandType))
	}
	started := time.Now()
	definition, err := h.caches.definition(ctx, task.CommandID, task.CommandType, text)
	if err != nil {
		return h.invalid(task, started, err)
	}
	send := callbacks.Send{Task: task.ID, Attempt: task.Attempt, Claim: task.Claim}
	attempt := targets.ActionAttempt{
		Target: task.Target, Credential: task.CredentialName,
		Key: IdempotencyKey(task.TargetExecutionID), Number: task.Attempt,
		JobName: task.JobName, JobExecutionID: task.JobExecutionID, StepID: task.StepID, StepName: task.StepName,
		DueAt: task.DueAt, ScheduleID: scheduleID(task), Tenant: task.Tenant, SchedulerHost: strings.TrimSuffix(h.actions.FrontURL, "/"),
		TraceParent: h.traces.TraceParent(task.JobExecutionID, task.TargetExecutionID, task.Attempt),
	}
	if task.SAPJobID != 0 {
		attempt.SAPJobID = strconv.FormatInt(task.SAPJobID, 10)
	}
	if definition.Callback != nil {
		token := callback.NewToken()
		hash := callbacks.HashToken(token)
		send.Callback, send.CallbackTimeout = &hash, definition.Callback.Timeout
		switch {
		case h.actions.CallbackURL != "":
			attempt.CallbackURL = callback.URL(h.actions.CallbackURL, token)
		case slices.Contains(definition.Names(), action.NameCallbackURL): // otherwise, an operator reports
			return h.invalid(task, started, errNoReceiver)
		}
	}
	vars := actionVariables{host: h, ctx: ctx, task: task, target: task.Target, key: attempt.Key, callbackURL: attempt.CallbackURL, failed: &failureBefore{}}
	if vars.parameters, err = h.parameters(ctx, task); err == nil {
		attempt.Action, err = definition.Expand(vars.value)
	}
	if err == nil && task.SAPJobID != 0 && attempt.Action.Process != nil {
		err = attempt.Action.Process.ApplyTaskOptions(vars.parameters)
	}
	if err == nil {
		err = outbound.CheckSecrets(attempt.Action, task.Attempt)
	}
	var faults *action.Faults
	var config *targets.ConfigError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return h.unsent(ctx, task)
	case errors.As(err, &faults), errors.As(err, &config), errors.Is(err, ErrNoSecret):
		return h.invalid(task, started, err)
	default:
		h.log.Warn("could not read what an action needs, returning the task", append(taskFields(task), zap.Error(err))...)
		return h.retreat(ctx, task, "the agent could not read the variables of the action")
	}
	attempt.Payload = vars.parameters.Text()
	var refused error
	attempt.Begin = func(ctx context.Context) (time.Time, error) {
		before, err := h.gate.begin(ctx, send)
		if err != nil && ctx.Err() == nil {
			refused = err
		}
		return before, err
	}
	res := runner.Run(ctx, attempt)
	h.cfg.Metrics.ActionEnded(string(task.CommandType), string(res.Error.Class), statusOf(res))
	if res.Outcome == targets.NotSent && refused != nil {
		h.log.Warn("an action was not sent, because the call before its first byte failed; returning the task",
			append(taskFields(task), zap.Error(refused))...)
		return h.retreat(ctx, task, refused.Error())
	}
	if res.Outcome == targets.Unknown && errors.Is(context.Cause(ctx), ErrStopping) {
		// As when the agent is killed: the control database waits for a report if the step awaits
		// reports.
		res.Outcome = targets.NoAnswer
	}
	r := h.result(task, res)
	r.outcome.Unreached = res.Outcome == targets.Failed && !res.Sent && unreachedAction(res)
	if h := attempt.Action.HTTP; h != nil && len(h.Endpoints) > 1 {
		r.outcome.Endpoint, _ = h.ServerOf(task.Attempt) // the URL is valid, because it was called
	}
	return r
}

// invalid returns the report on an action that no attempt could send.
func (h *taskHost) invalid(task controldb.Task, started time.Time, err error) report {
	return report{task: task.ID, outcome: controldb.Outcome{
		Task: task.ID, Attempt: task.Attempt, Outcome: targets.Failed, Unsent: true, NoRetry: true,
		Message: fmt.Sprintf("Nothing was sent: %v.", err), Elapsed: time.Since(started),
		Error: targets.ErrorDetail{Text: err.Error(), Class: targets.ClassConfig},
	}}
}

// unreachedAction reports whether an attempt failed, before anything was sent, because the endpoint
// did not answer or refused the login. An unknown name and a certificate that is not trusted have
// the class Config, as have settings of the agent; only the settings are a *targets.ConfigError.
func unreachedAction(res targets.Result) bool {
	var config *targets.ConfigError
	if errors.As(res.Err, &config) {
		return false
	}
	switch res.Error.Class {
	case targets.ClassTransient, targets.ClassTimeout, targets.ClassLostConnection, targets.ClassAuth, targets.ClassConfig:
		return true
	}
	return false
}

// parameters returns the parameters of a task's run; nil means none.
func (h *taskHost) parameters(ctx context.Context, task controldb.Task) (*parameters.Parameters, error) {
	if task.PayloadID == 0 {
		return nil, nil
	}
	return h.caches.parameters(ctx, task.PayloadID)
}

// isEndpoint reports whether a resolution is the one of an action without a target group.
func isEndpoint(task controldb.Task) bool {
	return len(task.Members) == 1 && task.Members[0].Kind == targets.Endpoint
}

// resolvedAction returns the definition of the action whose targets are resolved, and the run's
// parameters. If they cannot be read, gone is the report on the resolution.
func (h *taskHost) resolvedAction(
	ctx context.Context, task controldb.Task,
) (definition *action.Definition, params *parameters.Parameters, gone *report) {
	text, err := h.caches.command(ctx, task.CommandID)
	if err == nil {
		params, err = h.parameters(ctx, task)
	}
	if err != nil {
		r := h.unread(ctx, task, "the command", err)
		return nil, nil, &r
	}
	if definition, err = h.caches.definition(ctx, task.CommandID, task.CommandType, text); err != nil {
		r := unresolved(task, err)
		return nil, nil, &r
	}
	return definition, params, nil
}

// unresolved returns the report on the resolution of an action whose target cannot be determined.
func unresolved(task controldb.Task, err error) report {
	return report{task: task.ID, resolution: &controldb.Resolution{
		Attempt: task.Attempt, Failure: err.Error(),
		Error: targets.ErrorDetail{Text: err.Error(), Class: targets.ClassConfig},
	}}
}

// resolveEndpoint returns the target of an action without a target group: the server that the
// action calls.
func (h *taskHost) resolveEndpoint(
	ctx context.Context, task controldb.Task, definition *action.Definition, params *parameters.Parameters,
) report {
	vars := actionVariables{host: h, ctx: ctx, task: task, parameters: params}
	server, err := actionServer(definition, vars.value)
	if err != nil {
		return unresolved(task, err)
	}
	return report{task: task.ID, resolution: &controldb.Resolution{
		Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget(server, "", "")},
	}}
}

// actionServers returns the server that an action calls for each database of a target group. It is
// empty for a database whose attempt will fail before it sends anything, because the address cannot
// be expanded.
func (h *taskHost) actionServers(
	ctx context.Context, task controldb.Task, definition *action.Definition, params *parameters.Parameters,
	list []targets.Target,
) []string {
	servers := make([]string, len(list))
	for i, target := range list {
		vars := actionVariables{host: h, ctx: ctx, task: task, target: target, parameters: params}
		servers[i], _ = actionServer(definition, vars.value) // empty after an error
	}
	return servers
}

// actionVariables are the variables of one action on one target.
type actionVariables struct {
	host   *taskHost
	ctx    context.Context // of the task; the values live as long as its attempt
	task   controldb.Task
	target targets.Target
	// parameters are the parameters of the run; nil means none.
	parameters *parameters.Parameters
	// key and callbackURL are zero when a target group is resolved.
	key         uuid.UUID
	callbackURL string
	// failed is nil when a target group is resolved.
	failed *failureBefore
}

// value implements [action.Variables].
func (v actionVariables) value(name string) (action.Value, bool, error) {
	t := v.task
	switch name {
	case action.NameJobName:
		return action.Text(t.JobName), true, nil
	case action.NameJobID:
		return action.Text(t.JobID.String()), true, nil
	case action.NameJobVersion:
		return action.Number(t.JobVersion), true, nil
	case action.NameStepID:
		return action.Number(t.StepID), true, nil
	case action.NameStepName:
		return action.Text(t.StepName), true, nil
	case action.NameJobExecutionID, action.NameRunID:
		return action.Text(t.JobExecutionID.String()), true, nil
	case action.NameJobExecutionCreateTime:
		return action.Text(t.ExecutionCreateTime.UTC().Format(time.RFC3339Nano)), true, nil
	case action.NameTargetGroupName:
		return action.Text(t.TargetGroupName), true, nil
	case action.NameServerName:
		return action.Text(v.target.Server), true, nil
	case action.NameDatabaseName:
		return action.Text(v.target.Database), true, nil
	case action.NameDueAt:
		return action.Text(t.DueAt.UTC().Format(time.RFC3339Nano)), true, nil
	case action.NameScheduleID:
		return action.Text(scheduleID(t)), true, nil
	case action.NameAttempt:
		return action.Number(t.Attempt), v.key != uuid.Nil, nil
	case action.NameIdempotencyKey:
		return action.Text(v.key.String()), v.key != uuid.Nil, nil
	case action.NameCallbackURL:
		return action.Text(v.callbackURL), v.callbackURL != "", nil
	}
	if secret, ok := strings.CutPrefix(name, action.PrefixSecret); ok {
		return v.secret(secret)
	}
	if value, ok := action.Parameter(v.parameters, name); ok || v.failed == nil {
		return value, ok, nil
	}
	return v.failed.value(v.ctx, v.host.store, t.ID, name)
}

// scheduleID returns the ID of the schedule that started the run of a task, or the empty string if
// no schedule did. Schedules of the SAP surface have public IDs.
func scheduleID(task controldb.Task) string {
	switch {
	case task.SAPScheduleID != uuid.Nil:
		return task.SAPScheduleID.String()
	case task.ScheduleID == 0:
		return ""
	}
	return strconv.FormatInt(task.ScheduleID, 10)
}

// secret returns the value of a secret. ok is false without an attempt, because the name of a
// server must not depend on a secret.
func (v actionVariables) secret(name string) (action.Value, bool, error) {
	if v.key == uuid.Nil || v.host.actions.Secret == nil {
		return action.Value{}, false, nil
	}
	value, err := v.host.actions.Secret(v.ctx, name)
	if err != nil {
		return action.Value{}, false, fmt.Errorf("secret %q: %w", name, err)
	}
	return value, true, nil
}

// actionServer returns the name of the server that an action calls, which limits of kind Server
// count. Only its address is expanded: other templates may have no value before the attempt.
func actionServer(definition *action.Definition, variables action.Variables) (string, error) {
	return definition.ServerBy(func(address string) (string, error) { return expandAddress(address, variables) })
}

// expandAddress expands a URL, a host, or a name that becomes a host.
func expandAddress(address string, variables action.Variables) (string, error) {
	const scheme = "https://"
	isURL := strings.Contains(address, "://")
	if !isURL {
		address = scheme + address
	}
	request := action.Definition{
		Type: action.TypeHTTP, HTTP: &action.HTTP{Method: http.MethodGet, URL: address, AllowHTTP: true},
	}
	expanded, err := request.Expand(variables)
	if err != nil {
		return "", err
	}
	if isURL {
		return expanded.HTTP.URL, nil
	}
	return strings.TrimPrefix(expanded.HTTP.URL, scheme), nil
}
