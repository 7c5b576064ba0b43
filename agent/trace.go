package agent

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/controldb"
)

// taskSpan is the span of a task, for the log. The ID is computed only if the entry is written.
type taskSpan struct {
	kind            controldb.TaskKind
	run, target     uuid.UUID
	stepID, attempt int
}

func spanOf(t controldb.Task) taskSpan {
	return taskSpan{kind: t.Kind, run: t.JobExecutionID, target: t.TargetExecutionID, stepID: t.StepID, attempt: t.Attempt}
}

// String returns 16 hexadecimal digits.
func (s taskSpan) String() string {
	if s.kind == controldb.TaskResolve {
		return tracing.ResolutionSpan(s.run, s.stepID, s.attempt).String()
	}
	return tracing.AttemptSpan(s.run, s.target, s.attempt).String()
}

// runTrace is the trace of a run, for the log.
type runTrace uuid.UUID

// String returns 32 hexadecimal digits.
func (r runTrace) String() string { return tracing.TraceID(uuid.UUID(r)).String() }

// trace records the span of a task that this agent has carried out.
func (h *taskHost) trace(task controldb.Task, r report, start time.Time) {
	if h.traces == nil {
		return
	}
	switch {
	case r.resolution != nil:
		h.traces.Resolution(task, *r.resolution, start, time.Now())
	case task.Kind == controldb.TaskRun:
		h.traces.Attempt(task, r.outcome, r.phases, start, time.Now())
	}
}

// sessionText describes an attempt for administrators of its target: it becomes part of
// program_name and CONTEXT_INFO (targets/mssql/DESIGN.md, "An attempt"). The name of the job is
// last, because it may be cut.
func sessionText(t controldb.Task) string {
	return "run=" + t.JobExecutionID.String() + " step=" + strconv.Itoa(t.StepID) + " attempt=" + strconv.Itoa(t.Attempt) +
		" job=" + t.JobName
}
