package actions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// callback returns the callback that the path names: the latest of a step on a target.
func callback(ctx context.Context, r *page.Request) (one callbacks.Callback, err error) {
	run, err := id(r, "run")
	if err != nil {
		return one, err
	}
	target, err := id(r, "target")
	step, ok := number(r, "step")
	if err != nil || !ok {
		return one, dberror.ErrCallbackNotFound
	}
	list, err := callbacks.On(r.Store).OfRun(ctx, run)
	if err != nil {
		return one, err
	}
	found := false
	for _, c := range list { // the oldest first
		if c.Target == target && int64(c.StepID) == step {
			one, found = c, true
		}
	}
	if !found {
		return one, dberror.ErrCallbackNotFound
	}
	return one, nil
}

// place names the target of a callback.
func place(c callbacks.Callback) string {
	if c.Database == "" {
		return c.Server
	}
	return c.Server + "/" + c.Database
}

// maxMessage bounds the message of a report, in UTF-16 code units.
const maxMessage = 16_384

// confirmComplete asks for the result of work for which a target waits.
func confirmComplete(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	one, err := callback(ctx, r)
	if err != nil {
		return nil, err
	}
	state := ""
	switch one.State {
	case callbacks.CallbackClosed:
		state = "No report is accepted any more: the wait has ended."
	case callbacks.CallbackReported:
		state = "A report has come already. The first one counts."
	}
	until := ""
	if !one.DeadlineAt.IsZero() {
		until = "Without a report, the wait ends on " + instant(one.DeadlineAt) + "."
	}
	run := one.Execution
	cli := []string{"execution", "complete", run.String(), "--step-id", strconv.Itoa(one.StepID), "--target", one.Target.String(),
		"--attempt", strconv.Itoa(one.Attempt)}
	success := value(r, "result") != "failed"
	if success {
		cli = append(cli, "--succeeded")
	} else {
		cli = append(cli, "--failed")
	}
	tsql := []page.Arg{{Name: "job_execution_id", Value: run}, {Name: "success", Value: success}}
	if text := value(r, "message"); text != "" {
		cli, tsql = append(cli, "--message", text), append(tsql, page.Arg{Name: "message", Value: text})
	}
	tsql = append(tsql, page.Arg{Name: "step_id", Value: one.StepID}, page.Arg{Name: "target_id", Value: one.Target},
		page.Arg{Name: "attempt", Value: one.Attempt})
	return &page.Confirmation{
		Title: "Report the result", Nav: "runs", Button: "Report", Back: r.Path("runs", run.String()),
		Effects: sentences(fmt.Sprintf("Step %s of the run of %s waits at %s for an approval or a report, since %s.", quoted(one.StepName), quoted(one.JobName),
			place(one), instant(one.OpenedAt)), "Approving lets the run go on. Rejecting makes the attempt fail; the step's policy may retry it.", until, state),
		Fields: []page.Field{
			{Name: "attempt", Kind: "hidden", Value: strconv.Itoa(one.Attempt)},
			{Name: "result", Label: "Result", Kind: "select", Required: true, Options: []page.Option{
				{Value: "", Text: "Choose"}, {Value: "succeeded", Text: "Approve: the work succeeded"}, {Value: "failed", Text: "Reject: the work failed"},
			}},
			{Name: "message", Label: "Message", Kind: "textarea", MaxLength: maxMessage, Help: "The history shows it."},
		},
		Equivalents: commands(page.CLI(cli...), page.TSQL("jobs.sp_complete_callback", tsql...)),
	}, nil
}

// complete reports the result.
func complete(ctx context.Context, r *page.Request) (*page.Done, error) {
	one, err := callback(ctx, r)
	if err != nil {
		return nil, err
	}
	result := value(r, "result")
	if result != "succeeded" && result != "failed" {
		return nil, &page.InputError{Field: "result", Problem: "Choose whether the work succeeded."}
	}
	ref := callbacks.Ref{Execution: one.Execution, StepID: &one.StepID, Target: &one.Target, Attempt: &one.Attempt}
	if text := value(r, "attempt"); text != "" { // the one that the person saw
		seen, err := strconv.Atoi(text)
		if err != nil {
			return nil, dberror.ErrCallbackNotFound
		}
		ref.Attempt = &seen
	}
	err = callbacks.On(r.Store).Complete(ctx, ref, result == "succeeded", value(r, "message"))
	if err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("runs", one.Execution.String()), Notice: "The result was reported: " + result + "."}, nil
}

// confirmAcknowledge says what acknowledging an alert does.
func confirmAcknowledge(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	number, ok := number(r, "alert")
	if !ok {
		return nil, dberror.ErrAlertNotFound
	}
	list, err := alerting.On(r.Store).Alerts(ctx, alerting.Filter{ID: number, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, dberror.ErrAlertNotFound
	}
	a := list[0]
	state := ""
	switch a.State {
	case alerting.AlertAcknowledged:
		state = fmt.Sprintf("%s acknowledged it on %s. The note is replaced.", a.AcknowledgedBy, instant(a.AcknowledgedAt))
	case alerting.AlertResolved:
		state = "It is resolved already."
	}
	pending := ""
	if a.PendingDeliveries > 0 {
		pending = page.Counted(a.PendingDeliveries, "message that waits is not sent.", "messages that wait are not sent.")
	}
	cli, tsql := []string{"alert", "ack", strconv.FormatInt(a.ID, 10)}, []page.Arg{{Name: "alert_id", Value: a.ID}}
	if note := value(r, "note"); note != "" {
		cli, tsql = append(cli, "--note", note), append(tsql, page.Arg{Name: "note", Value: note})
	}
	return &page.Confirmation{
		Title: "Acknowledge an alert", Nav: "alerts", Button: "Acknowledge", Back: r.Path("alerts"),
		Effects: sentences(fmt.Sprintf("%s. It happened %s, the last time on %s.", a.Title, page.Counted(int(a.Occurrences), "time", "times"), instant(a.LastAt)),
			"You look after it: nothing more is sent about it. It stays in the list until it is resolved.", pending, state),
		Fields:      []page.Field{{Name: "note", Label: "Note", MaxLength: maxNote, Help: "What you are doing about it."}},
		Equivalents: commands(page.CLI(cli...), page.TSQL("jobs.sp_acknowledge_alert", tsql...)),
	}, nil
}

// acknowledge acknowledges an alert.
func acknowledge(ctx context.Context, r *page.Request) (*page.Done, error) {
	number, ok := number(r, "alert")
	if !ok {
		return nil, dberror.ErrAlertNotFound
	}
	if err := alerting.On(r.Store).Acknowledge(ctx, number, value(r, "note")); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("alerts"), Notice: "The alert is acknowledged."}, nil
}
