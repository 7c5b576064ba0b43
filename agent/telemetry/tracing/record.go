package tracing

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/targets"
)

// Attributes of this program. Those of targets are OpenTelemetry's (db.*, http.*, server.*).
const (
	keyJob       = attribute.Key("jobagent.job.name")
	keyJobID     = attribute.Key("jobagent.job.id")
	keyVersion   = attribute.Key("jobagent.job.version")
	keyRun       = attribute.Key("jobagent.run.id")
	keyStep      = attribute.Key("jobagent.step.id")
	keyStepName  = attribute.Key("jobagent.step.name")
	keyGroup     = attribute.Key("jobagent.target_group.name")
	keyAttempt   = attribute.Key("jobagent.attempt")
	keyAttempts  = attribute.Key("jobagent.attempts")
	keyOutcome   = attribute.Key("jobagent.outcome")
	keyLifecycle = attribute.Key("jobagent.lifecycle")
	keyCommand   = attribute.Key("jobagent.command.type")
	keyRows      = attribute.Key("jobagent.rows_affected")
	keySession   = attribute.Key("jobagent.session.id")
	keyErrorLine = attribute.Key("jobagent.error.line")
	keyTargets   = attribute.Key("jobagent.targets")
	keyUnknown   = attribute.Key("jobagent.outcome_unknown")
	keySchedule  = attribute.Key("jobagent.schedule.name")
	keyDueAt     = attribute.Key("jobagent.due_at")
	keyBackfill  = attribute.Key("jobagent.backfill")
)

// Attempt records an attempt on a target that has ended, with its parts. An attempt of which
// nothing was sent, and that goes back, is none.
func (r *Recorder) Attempt(task controldb.Task, outcome controldb.Outcome, phases []targets.Phase, start, end time.Time) {
	if r == nil || outcome.Outcome == targets.NotSent || !r.sampled(task.JobExecutionID) {
		return
	}
	r.attempt(task, outcome, phases, start, end)
}

// attempt is a function of its own, because a closure moves its variables to the heap.
func (r *Recorder) attempt(task controldb.Task, outcome controldb.Outcome, phases []targets.Phase, start, end time.Time) {
	r.add(func() []span { return attemptSpans(task, outcome, phases, start, end) })
}

// Resolution records an attempt to list the targets of a step.
func (r *Recorder) Resolution(task controldb.Task, res controldb.Resolution, start, end time.Time) {
	if r == nil || !r.sampled(task.JobExecutionID) {
		return
	}
	count, class, number := len(res.Targets), string(res.Error.Class), res.Error.Number
	isFailed := res.Failure != ""
	r.add(func() []span {
		s := span{
			trace: TraceID(task.JobExecutionID), id: ResolutionSpan(task.JobExecutionID, task.StepID, task.Attempt),
			parent: StepSpan(task.JobExecutionID, task.StepID), name: "resolve targets", kind: trace.SpanKindInternal,
			start: start, end: end, attributes: append(stepAttributes(task), keyAttempt.Int(task.Attempt), keyTargets.Int(count)),
		}
		if isFailed {
			s.status = failed("the targets could not be listed")
			s.attributes = append(s.attributes, errorType(class, number))
		}
		return []span{s}
	})
}

// stepAttributes are those of all spans of a task. They are few, because attempts are many: the
// spans of the run and the step have the rest.
func stepAttributes(task controldb.Task) []attribute.KeyValue {
	return append(make([]attribute.KeyValue, 0, 12), keyJob.String(task.JobName), keyStep.Int(task.StepID))
}

// errorType returns the attribute error.type: the number of the server's error, or its class.
func errorType(class string, number int32) attribute.KeyValue {
	switch {
	case number != 0:
		return semconv.ErrorTypeKey.String(strconv.Itoa(int(number)))
	case class != "":
		return semconv.ErrorTypeKey.String(class)
	}
	return semconv.ErrorTypeOther
}

// attemptSpans returns the spans of an attempt and its parts. They hold neither script nor texts of
// messages, which may hold data of the target.
func attemptSpans(task controldb.Task, o controldb.Outcome, phases []targets.Phase, start, end time.Time) []span {
	run := task.JobExecutionID
	s := span{
		trace: TraceID(run), id: AttemptSpan(run, task.TargetExecutionID, task.Attempt), parent: TargetSpan(run, task.TargetExecutionID),
		name: "attempt " + strconv.Itoa(task.Attempt), kind: trace.SpanKindInternal, start: start, end: end,
		attributes: append(stepAttributes(task), keyAttempt.Int(task.Attempt), keyOutcome.String(string(o.Outcome))),
	}
	address := serverAttributes(task.Target.Server)
	s.attributes = append(s.attributes, address...)
	switch {
	case task.Upkeep:
	case task.CommandType == "TSql":
		s.kind = trace.SpanKindClient
		s.attributes = append(s.attributes, semconv.DBSystemNameMicrosoftSQLServer, semconv.DBNamespace(task.Target.Database),
			keyRows.Int64(o.RowsAffected))
		if o.SPID != 0 {
			s.attributes = append(s.attributes, keySession.Int(o.SPID))
		}
		if o.Error.Number != 0 {
			s.attributes = append(s.attributes, semconv.DBResponseStatusCode(strconv.Itoa(int(o.Error.Number))))
		}
	default:
		s.attributes = append(s.attributes, keyCommand.String(string(task.CommandType)))
		if strings.HasSuffix(string(task.CommandType), "Queue") || strings.HasSuffix(string(task.CommandType), "Topic") {
			s.kind = trace.SpanKindProducer
		}
	}
	if o.Error.Line > 0 {
		s.attributes = append(s.attributes, keyErrorLine.Int(int(o.Error.Line)))
	}
	if isFailure(string(o.Outcome)) {
		s.status = failed(string(o.Outcome))
		s.attributes = append(s.attributes, errorType(string(o.Error.Class), o.Error.Number))
	}
	spans := append(make([]span, 0, 1+len(phases)), s)
	for _, p := range phases {
		spans = append(spans, phase(s, p, address))
	}
	return spans
}

// phase returns the span of a part of an attempt.
func phase(of span, p targets.Phase, address []attribute.KeyValue) span {
	s := span{
		trace: of.trace, id: phaseSpan(of.id, p.Name), parent: of.id, name: p.Name, kind: trace.SpanKindClient,
		start: p.Start, end: p.End, attributes: address,
	}
	if p.Server != "" {
		s.attributes = serverAttributes(p.Server)
	}
	if p.Method != "" {
		s.name = p.Method
		s.attributes = append(s.attributes[:len(s.attributes):len(s.attributes)], semconv.HTTPRequestMethodKey.String(p.Method))
		if p.Status != 0 {
			s.attributes = append(s.attributes, semconv.HTTPResponseStatusCode(p.Status))
		}
	}
	if p.Failed {
		s.status = failed("")
		if p.Status != 0 {
			s.attributes = append(s.attributes, semconv.ErrorTypeKey.String(strconv.Itoa(p.Status)))
		}
	}
	return s
}

// serverAttributes returns server.address and server.port of a server's name: host, host:port or
// host,port.
func serverAttributes(name string) []attribute.KeyValue {
	host, port := name, ""
	if h, p, ok := strings.Cut(name, ","); ok {
		host, port = h, p
	} else if h, p, err := net.SplitHostPort(name); err == nil {
		host, port = h, p
	}
	list := []attribute.KeyValue{semconv.ServerAddress(host)}
	if n, err := strconv.Atoi(port); err == nil {
		list = append(list, semconv.ServerPort(n))
	}
	return list
}

// isFailure reports whether an outcome or a lifecycle makes its span an error.
func isFailure(state string) bool {
	switch state {
	case "Failed", "TimedOut", "Unknown", "NoAnswer":
		return true
	}
	return false
}

// Ended records runs that have ended, with their steps, and a page of their targets. ids are the
// runs by their keys, of this page or of one before.
func (r *Recorder) Ended(page measure.RunSpans, ids map[int64]uuid.UUID) {
	if r == nil {
		return
	}
	for _, run := range page.Runs {
		if r.sampled(run.ID) {
			r.add(func() []span { return []span{runSpan(run)} })
		}
	}
	for _, step := range page.Steps {
		if id := ids[step.RunKey]; id != uuid.Nil && r.sampled(id) {
			r.add(func() []span { return []span{stepSpan(id, step)} })
		}
	}
	for _, target := range page.Targets {
		if id := ids[target.RunKey]; id != uuid.Nil && r.sampled(id) {
			r.add(func() []span { return []span{targetSpan(id, target)} })
		}
	}
}

// Sampled reports whether the spans of a run are exported.
func (r *Recorder) Sampled(run uuid.UUID) bool { return r != nil && r.sampled(run) }

func runSpan(run measure.TracedRun) span {
	s := span{
		trace: TraceID(run.ID), id: RunSpan(run.ID), name: "run " + run.JobName, kind: trace.SpanKindInternal,
		start: run.CreateTime, end: run.EndTime,
		attributes: []attribute.KeyValue{
			keyRun.String(run.ID.String()), keyJob.String(run.JobName), keyJobID.String(run.JobID.String()),
			keyVersion.Int(run.JobVersion), keyLifecycle.String(run.Lifecycle),
		},
	}
	if !run.DueAt.IsZero() {
		s.attributes = append(s.attributes, keySchedule.String(run.ScheduleName), keyBackfill.Bool(run.Backfill),
			keyDueAt.String(run.DueAt.UTC().Format(time.RFC3339Nano)))
	}
	if run.RerunOf != uuid.Nil {
		s.links = append(s.links, sdktrace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: TraceID(run.RerunOf), SpanID: RunSpan(run.RerunOf), TraceFlags: trace.FlagsSampled, Remote: true,
			}),
			Attributes: []attribute.KeyValue{attribute.String("jobagent.link", "rerun of")},
		})
	}
	if caller, ok := parseTraceParent(run.TraceParent); ok {
		s.links = append(s.links, sdktrace.Link{
			SpanContext: caller, Attributes: []attribute.KeyValue{attribute.String("jobagent.link", "started by")},
		})
	}
	return s.ended(run.Lifecycle)
}

func stepSpan(run uuid.UUID, step measure.TracedStep) span {
	return span{
		trace: TraceID(run), id: StepSpan(run, step.StepID), parent: RunSpan(run), name: "step " + step.StepName,
		kind: trace.SpanKindInternal, start: step.CreateTime, end: step.EndTime,
		attributes: []attribute.KeyValue{
			keyStep.Int(step.StepID), keyStepName.String(step.StepName), keyGroup.String(step.TargetGroupName),
			keyLifecycle.String(step.Lifecycle),
		},
	}.ended(step.Lifecycle)
}

func targetSpan(run uuid.UUID, t measure.TracedTarget) span {
	start := t.StartTime
	if start.IsZero() {
		start = t.CreateTime
	}
	s := span{
		trace: TraceID(run), id: TargetSpan(run, t.ID), parent: StepSpan(run, t.StepID), name: "target " + t.Server + "/" + t.Database,
		kind: trace.SpanKindInternal, start: start, end: t.EndTime,
		attributes: append(serverAttributes(t.Server), keyStep.Int(t.StepID), keyLifecycle.String(t.Lifecycle), keyAttempts.Int(t.Attempts)),
	}
	if t.Endpoint {
		s.name = "target " + t.Server
	} else {
		s.attributes = append(s.attributes, semconv.DBNamespace(t.Database))
	}
	if t.ErrorNumber != 0 {
		s.attributes = append(s.attributes, semconv.DBResponseStatusCode(strconv.Itoa(t.ErrorNumber)))
	}
	if t.OutcomeUnknown {
		s.attributes = append(s.attributes, keyUnknown.Bool(true))
	}
	return s.ended(t.Lifecycle)
}

// ended returns the span with the status of a lifecycle.
func (s span) ended(lifecycle string) span {
	if isFailure(lifecycle) {
		s.status = failed(lifecycle)
	}
	return s
}
