package mssql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// result returns the result of the attempt; err is the error of run.
func (t *attempt) result(ctx context.Context, err error) targets.Result {
	var cause error // cause of the interruption, if ctx interrupted the attempt
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		cause = context.Cause(ctx)
	}
	c := t.messages
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped > 0 {
		c.kept = append(c.kept, targets.Message{Kind: targets.KindAgent, Text: wording.Count(c.dropped, "message") + " beyond the limits: left out here."})
	}
	res := targets.Result{
		Err: err, Messages: c.kept, MessagesDropped: c.dropped, RowsAffected: c.rows,
		RowsWritten: t.written, SPID: t.spid, Sent: t.sent,
	}
	res.Outcome, res.Summary = t.outcome(err, cause)
	if t.Probes && res.Outcome == targets.Succeeded && !t.alreadyRan {
		res.Probed = &t.probed.Probed
	}
	res.OutcomeUnknown = res.Outcome == targets.TimedOut && t.open
	var variable *VariableError
	res.NoRetry = res.Outcome == targets.Failed && (errors.As(err, &variable) || isTrialError(err))
	var limit *limitError
	exceeded := errors.As(err, &limit)
	if res.Outcome == targets.Failed && !exceeded && c.firstError != nil {
		res.Err = *c.firstError
	}
	switch {
	case res.Outcome == targets.Succeeded:
	case c.firstError != nil && (res.Outcome == targets.Canceled || res.Outcome == targets.TimedOut):
		res.Error = describe(*c.lastError)
	default:
		res.Error = describe(res.Err)
	}
	if cause != nil && res.Error.Number == 0 && res.Outcome != targets.TimedOut {
		res.Error.Class = targets.ClassStopped
	}
	switch {
	case res.Summary == "" && err != nil:
		res.Summary = res.Error.String()
	case exceeded:
		res.Summary += " " + limit.Error()
	case res.Error.Number != 0 && res.Outcome != targets.Failed:
		res.Summary += " " + res.Error.String()
	case res.Outcome == targets.Unknown && c.lastError != nil:
		res.Summary += " Before: " + describe(*c.lastError).String()
	}
	return res
}

// outcome returns the outcome of the attempt and its summary; an empty summary stands for the text
// of the error. err is the error of run, and cause the reason of an interruption, or nil.
// t.messages.mu must be held.
func (t *attempt) outcome(err, cause error) (targets.Outcome, string) {
	reported := t.messages.firstError != nil && !t.open // an error was reported, and the end of the script was seen
	var limit *limitError
	switch {
	case err == nil:
		return targets.Succeeded, strings.TrimSpace(t.leftOpen + " " + t.successText())
	case errors.Is(cause, targets.ErrStopRequested) && t.open:
		return targets.Unknown, "The run was stopped, but the script may go on: " + t.endText()
	case errors.Is(cause, targets.ErrStopRequested):
		return targets.Canceled, "The run was stopped; " + t.endText()
	case errors.Is(cause, targets.ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		return targets.TimedOut, "The step's time limit passed; " + t.endText()
	case errors.As(err, &limit):
		if t.open { // I8
			return targets.Unknown, "The target exceeded a limit; " + t.endText()
		}
		return targets.Failed, "The target exceeded a limit; " + t.endText()
	case reported:
		return targets.Failed, ""
	case cause != nil && !t.sent:
		return targets.NotSent, fmt.Sprintf("The agent gave the attempt up (%v) before the script was sent.", cause)
	case cause != nil:
		return targets.Unknown, fmt.Sprintf("The agent gave the attempt up (%v) while the script ran, "+
			"and the outcome on the target is unknown; %s", cause, t.endText())
	case t.sent && errors.Is(err, errConnectionLost):
		return targets.Unknown, "The connection was lost after the script was sent: " +
			"its outcome on the target is unknown. " + err.Error()
	default:
		return targets.Failed, ""
	}
}

// successText returns the summary of a successful attempt; it may be empty.
func (t *attempt) successText() string {
	switch {
	case t.Trial != nil, t.Preflight != nil:
		return t.tried
	case t.alreadyRan:
		return "An earlier attempt had run the script and committed: it was not run again."
	case t.Output == nil:
		return ""
	case !t.hadResultSet:
		return "The script returned no result set: nothing was written to " + t.Output.name() + "."
	case t.written == 1:
		return "1 row was written to " + t.Output.name() + "."
	default:
		return fmt.Sprintf("%d rows were written to %s.", t.written, t.Output.name())
	}
}

// Describe returns the parts of an error of a session or of a login.
func Describe(err error) targets.ErrorDetail { return describe(err) }

// describe returns the parts of an error.
func describe(err error) targets.ErrorDetail {
	d := targets.ErrorDetail{Class: Classify(err).Class}
	var output *OutputError
	var once *onceError
	if errors.As(err, &output) || errors.As(err, &once) {
		if e, ok := asServerError(err); ok {
			d.Number, d.Severity, d.State = e.Number, e.Class, e.State // the line is in a statement of the agent
		}
		d.Text = err.Error()
		return d
	}
	if e, ok := asServerError(err); ok {
		d.Number, d.Severity, d.State, d.Line, d.Procedure = e.Number, e.Class, e.State, e.LineNo, e.ProcName
		d.Text = e.Message
		return d
	}
	if err != nil {
		d.Text = err.Error()
	}
	return d
}
