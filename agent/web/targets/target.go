package targets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/code"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// Bounds of the page of a target.
const (
	attemptsShown = 50
	messagesShown = 200
	runsShown     = 30 // earlier runs of the strip
	// linesShown bounds the lines of a script, around the one that failed.
	linesShown = 2000
)

// targetKey says what the page of a target shows.
type targetKey struct {
	run, target uuid.UUID
	step        int   // 0: chosen
	attempt     int64 // 0: the latest
	before      int64 // attempts before this one; 0: the latest
	after       int   // ordinal behind which messages are shown; negative: the last ones
	important   bool
	wholeScript bool
}

// plain reports whether the page shows what is latest, so that live updates fit.
func (k targetKey) plain() bool {
	return k.attempt == 0 && k.before == 0 && k.after == 0 && !k.important && !k.wholeScript
}

// targetPage is the data of the page of a target.
type targetPage struct {
	head
	Target   executions.RunTarget
	Steps    []executions.RunTarget // of the run on this target
	Step     catalog.JobStep
	Attempts []attemptRow
	Older    bool // there are attempts before those
	// Shown is the attempt whose messages are shown; nil without attempts.
	Shown      *attemptRow
	Messages   []executions.AttemptMessage
	Important  []executions.AttemptMessage
	Count      executions.MessageCount
	NextAfter  int // ordinal of the last message that is shown, if more follow; else 0
	Results    []executions.TargetResult
	Peers      *executions.StepPeers
	Wait       *executions.Wait
	Waiting    string // what the run waits for
	Callback   *callbacks.Callback
	Parameters string
	key        targetKey
}

// showTarget handles the page of a target.
func showTarget(ctx context.Context, r *page.Request) (*page.View, error) {
	k, err := keyOfTarget(r)
	if err != nil {
		return nil, err
	}
	d, err := readTarget(ctx, r.Store, k)
	if err != nil {
		return nil, err
	}
	v := d.view(r, d.Target.Place(), "target", d)
	v.Crumbs = append(v.Crumbs, page.NewLink("Tree", r.Path("runs", d.Run.ID.String(), "tree")))
	if d.Target.Active && k.plain() {
		v.Topic = "target/" + topicID(k.run.String(), strconv.Itoa(d.Target.StepID), k.target.String())
	}
	run := k.run.String()
	if d.Callback != nil && d.Callback.State == callbacks.CallbackWaiting {
		v.Actions = append(v.Actions, page.Link{
			Text: "Complete the callback", Role: rest.RoleOperator,
			Href: r.Path("callbacks", run, strconv.Itoa(d.Target.StepID), k.target.String(), "complete"),
		})
	}
	if d.Target.Lifecycle == jobs.WaitingForRetry {
		only := "?step=" + strconv.Itoa(d.Target.StepID) + "&target=" + k.target.String()
		v.Actions = append(v.Actions,
			page.Link{Text: "Retry now", Role: rest.RoleOperator, Href: r.Path("runs", run, "retry-now") + only},
			page.Link{Text: "Give up", Role: rest.RoleOperator, Danger: true, Href: r.Path("runs", run, "give-up") + only})
	}
	if d.Run.Active {
		v.Actions = append(v.Actions, page.Link{Text: "Stop the run", Role: rest.RoleOperator, Danger: true, Href: r.Path("runs", run, "stop")})
	} else if !d.Target.Active && d.Target.Lifecycle != jobs.Succeeded {
		v.Actions = append(v.Actions, page.Link{Text: "Rerun what failed", Role: rest.RoleOperator, Href: r.Path("runs", run, "rerun")})
	}
	v.Equivalents = append(page.CLI("execution", "show", run, "--messages"), page.Query(`DECLARE @run UNIQUEIDENTIFIER = N'?', @step INT = N'?', @target UNIQUEIDENTIFIER = N'?';
SELECT * FROM jobs.job_execution_targets WHERE job_execution_id = @run AND step_id = @step AND target_id = @target;
SELECT * FROM jobs.job_execution_attempts WHERE job_execution_id = @run AND step_id = @step AND target_id = @target ORDER BY attempt_id;
SELECT * FROM jobs.job_execution_messages WHERE job_execution_id = @run AND step_id = @step AND target_id = @target ORDER BY attempt_id, ordinal;`,
		k.run, d.Target.StepID, k.target))
	return v, nil
}

// keyOfTarget reads the address of the page of a target.
func keyOfTarget(r *page.Request) (k targetKey, err error) {
	if k.run, err = identifier(r.Value("run"), "run"); err != nil {
		return k, err
	}
	if k.target, err = identifier(r.Value("target"), "target"); err != nil {
		return k, err
	}
	k.step = integer(r.Query("step"), 0, 0, 1<<30)
	k.attempt = int64(integer(r.Query("attempt"), 0, 0, 1<<62))
	k.before = int64(integer(r.Query("before"), 0, 0, 1<<62))
	k.after = integer(r.Query("after"), 0, -1, 1<<30)
	k.important = r.Query("messages") == "important"
	k.wholeScript = r.Query("script") == "all"
	return k, nil
}

// openTarget makes the source of live updates of a target that has not ended.
func openTarget(id string) (live.Source, error) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("invalid topic %q: want RUN.STEP.TARGET", id)
	}
	var k targetKey
	var err error
	if k.run, err = uuid.Parse(parts[0]); err != nil {
		return nil, fmt.Errorf("invalid run: %w", err)
	}
	if k.step, err = strconv.Atoi(parts[1]); err != nil {
		return nil, fmt.Errorf("invalid step: %w", err)
	}
	if k.target, err = uuid.Parse(parts[2]); err != nil {
		return nil, fmt.Errorf("invalid target: %w", err)
	}
	return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
		return readTarget(ctx, store, k)
	}, "target-verdict", "target-attempts", "target-messages"), nil
}

// readTarget reads what the page of a target shows: about ten reads by key.
func readTarget(ctx context.Context, store *controldb.Store, k targetKey) (*targetPage, error) {
	h, err := readHead(ctx, store, k.run)
	if err != nil {
		return nil, err
	}
	d := &targetPage{head: h, key: k}
	if d.Steps, err = executions.On(store).Targets(ctx, k.run, executions.RunTargetFilter{Target: k.target}); err != nil {
		return nil, err
	}
	if len(d.Steps) == 0 {
		return nil, fmt.Errorf("read the target %s of the run: %w", k.target, dberror.ErrExecutionNotFound)
	}
	if d.Target, err = chooseStep(d.Steps, k.step); err != nil {
		return nil, err
	}
	if d.Step, err = catalog.On(store).JobStep(ctx, h.Run.JobName, &h.Run.JobVersion, d.Target.StepName); err != nil {
		return nil, err
	}
	if err := d.readAttempts(ctx, store); err != nil {
		return nil, err
	}
	if d.Results, err = executions.On(store).TargetHistory(ctx, d.Target, h.Run.CreateTime, runsShown); err != nil {
		return nil, err
	}
	if d.Target.Lifecycle.IsFailure() {
		peers, err := executions.On(store).StepPeers(ctx, k.run, d.Target.StepID, d.Target.ErrorNumber)
		if err != nil {
			return nil, err
		}
		d.Peers = &peers
	}
	if d.Target.Active {
		if err := d.readWait(ctx, store); err != nil {
			return nil, err
		}
	}
	if d.IsAction() {
		if err := d.readCallback(ctx, store); err != nil {
			return nil, err
		}
	}
	d.Parameters, err = executions.On(store).Parameters(ctx, k.run)
	return d, err
}

// chooseStep returns the step that was asked for, or the first that failed, or the last that has
// begun.
func chooseStep(steps []executions.RunTarget, step int) (executions.RunTarget, error) {
	if step > 0 {
		for _, s := range steps {
			if s.StepID == step {
				return s, nil
			}
		}
		return executions.RunTarget{}, &rest.Error{
			Status: 404, Code: rest.CodeUnknownPath, Message: fmt.Sprintf("Step %d of this run does not have the target %s.", step, wording.Clip(steps[0].Place(), 100, wording.Characters)),
		}
	}
	chosen := steps[0]
	for _, s := range steps {
		switch {
		case s.Lifecycle.IsFailure():
			return s, nil
		case !s.StartTime.IsZero():
			chosen = s
		}
	}
	return chosen, nil
}

// readAttempts reads the attempts, and the messages of the one that is shown.
func (d *targetPage) readAttempts(ctx context.Context, store *controldb.Store) error {
	k := d.key
	list, err := executions.On(store).Attempts(ctx, k.run, d.Target.StepID, k.target, k.before, attemptsShown+1)
	if err != nil {
		return err
	}
	if d.Older = len(list) > attemptsShown; d.Older {
		list = list[:attemptsShown]
	}
	slices.Reverse(list)
	for i, a := range list {
		row := attemptRow{Attempt: a, Now: d.Now(), FromQueue: d.Target.CreateTime}
		if i > 0 {
			row.Previous = &list[i-1]
		}
		d.Attempts = append(d.Attempts, row)
	}
	if len(d.Attempts) == 0 {
		return nil
	}
	shown := &d.Attempts[len(d.Attempts)-1]
	for i := range d.Attempts {
		if d.Attempts[i].ID == k.attempt {
			shown = &d.Attempts[i]
		}
	}
	if k.attempt > 0 && shown.ID != k.attempt { // an attempt that is not on this part of the list
		if list, err = executions.On(store).Attempts(ctx, k.run, d.Target.StepID, k.target, k.attempt+1, 1); err != nil {
			return err
		}
		if len(list) == 1 && list[0].ID == k.attempt {
			shown = &attemptRow{Attempt: list[0], Now: d.Now()}
		}
	}
	shown.Shown = true
	d.Shown = shown
	if d.Count, err = executions.On(store).CountMessages(ctx, k.run, shown.ID); err != nil {
		return err
	}
	if d.Important, err = executions.On(store).AttemptMessages(ctx, k.run, shown.ID, true, 0, messagesShown); err != nil {
		return err
	}
	after := k.after
	if after < 0 {
		after = max(d.Count.Total-messagesShown, 0)
	}
	if d.Messages, err = executions.On(store).AttemptMessages(ctx, k.run, shown.ID, k.important, after, messagesShown+1); err != nil {
		return err
	}
	if len(d.Messages) > messagesShown {
		d.Messages = d.Messages[:messagesShown]
		d.NextAfter = d.Messages[messagesShown-1].Ordinal
	}
	return nil
}

func (d *targetPage) readWait(ctx context.Context, store *controldb.Store) error {
	e, err := executions.On(store).ExplainTarget(ctx, d.key.run, d.Target.StepID, d.key.target)
	if err != nil {
		return err
	}
	d.Waiting = e.Text
	for i, w := range e.Waits {
		if w.StepID != nil && *w.StepID == d.Target.StepID && w.Server == d.Target.Server && w.Database == d.Target.Database {
			d.Wait = &e.Waits[i]
		}
	}
	return nil
}

// readCallback reads the callback of the latest attempt.
func (d *targetPage) readCallback(ctx context.Context, store *controldb.Store) error {
	list, err := callbacks.On(store).OfTarget(ctx, d.key.run, d.Target.StepID, d.key.target)
	if len(list) > 0 {
		d.Callback = &list[len(list)-1]
	}
	return err
}

// IsAction reports whether the step does something else than T-SQL.
func (d *targetPage) IsAction() bool {
	return d.Step.CommandType != "TSql" && d.Step.CommandType != "Upkeep"
}

// Label names the step.
func (d *targetPage) Label() string {
	return fmt.Sprintf("Step %d: %s", d.Target.StepID, d.Step.StepName)
}

// QueueWait is the time from the list of targets to the first attempt; negative before it.
func (d *targetPage) QueueWait() time.Duration {
	if d.Target.StartTime.IsZero() {
		return -1
	}
	return max(d.Target.StartTime.Sub(d.Target.CreateTime), 0)
}

// Took is the duration of the target until its end, or until now.
func (d *targetPage) Took() time.Duration { return d.Target.Duration(d.Now()) }

// Failure returns the attempt that decided the outcome, if it did not succeed.
func (d *targetPage) Failure() *attemptRow {
	if d.Target.Lifecycle == jobs.Succeeded || len(d.Attempts) == 0 || d.key.before > 0 {
		return nil
	}
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		a := &d.Attempts[i]
		if a.Outcome != "" && a.Outcome != "Succeeded" && a.Outcome != "Returned" && a.Outcome != "Accepted" {
			return a
		}
	}
	return nil
}

// ErrorText is the text of the failure: the message of the attempt, with what the target's message
// adds to it (why no other attempt followed), or that of the target.
func (d *targetPage) ErrorText() string {
	if a := d.Failure(); a != nil && a.Message != "" {
		if more, ok := strings.CutPrefix(d.Target.LastMessage, a.Message); ok {
			return a.Text() + more
		}
		return a.Text()
	}
	return d.Target.LastMessage
}

// TraceID is the run's trace in OpenTelemetry, and SpanID the shown attempt's span in it: see
// agent/telemetry/tracing and the view jobs.job_execution_traces.
func (d *targetPage) TraceID() string { return strings.ReplaceAll(d.Run.ID.String(), "-", "") }

// SpanID is empty without a shown attempt.
func (d *targetPage) SpanID() string {
	if d.Shown == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "attempt:%s:%s:%d",
		strings.ToUpper(d.Run.ID.String()), strings.ToUpper(d.Target.InternalID.String()), d.Shown.Number))
	return hex.EncodeToString(sum[:8])
}

// FailingLine is the line of the script at which the latest attempt failed; 0 if it is not known,
// or if the line is that of a procedure on the target.
func (d *targetPage) FailingLine() int {
	a := d.Failure()
	if a == nil || a.ErrorLine == nil || a.Procedure != "" || d.Step.CommandType != "TSql" {
		return 0
	}
	if line := int(*a.ErrorLine); line >= 1 && line <= strings.Count(d.Step.Command, "\n")+1 {
		return line
	}
	return 0
}

// Excerpt shows the lines around the failing one.
func (d *targetPage) Excerpt() template.HTML {
	line := d.FailingLine()
	if line == 0 {
		return ""
	}
	b := code.Block{Language: code.TSQL, Text: d.Step.Command, ID: "excerpt", Label: "Lines around the error", Marks: []code.Mark{{Line: line, Class: "error"}}}
	b.First, b.Last = code.Around(line, line, 2)
	return b.HTML()
}

// Script shows the command of the step.
func (d *targetPage) Script() template.HTML {
	b := code.Block{Language: code.TSQL, Text: d.Step.Command, ID: "script", Label: "Command of step " + strconv.Itoa(d.Target.StepID)}
	switch {
	case d.IsAction():
		b.Language = code.JSON
	case d.Step.CommandType == "Upkeep":
		b.Language = code.Plain
	}
	if line := d.FailingLine(); line > 0 {
		b.Marks = []code.Mark{{Line: line, Class: "error", Note: wording.Clip(firstLine(d.ErrorText()), 300, wording.Characters)}}
	}
	if d.ScriptCut() {
		b.First, b.Last = code.Around(max(d.FailingLine(), linesShown/2), max(d.FailingLine(), linesShown/2), linesShown/2)
	}
	return b.HTML()
}

// ScriptLines is the number of lines of the command.
func (d *targetPage) ScriptLines() int { return strings.Count(d.Step.Command, "\n") + 1 }

// ScriptCut reports whether only a part of the script is shown.
func (d *targetPage) ScriptCut() bool { return !d.key.wholeScript && d.ScriptLines() > linesShown }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r")
}

// ParameterBlock shows the parameters of the run.
func (d *targetPage) ParameterBlock() template.HTML {
	return code.Block{Language: code.JSON, Text: d.Parameters, ID: "parameters", Label: "Parameters of the run"}.HTML()
}

// references finds variables such as $(secret.NAME).
var references = regexp.MustCompile(`\$\([A-Za-z][^)\s]{0,200}\)`)

// References lists the variables of the command, each once. Their values are not resolved here, so
// no secret is shown.
func (d *targetPage) References() []string {
	list := references.FindAllString(d.Step.Command, 1000)
	slices.Sort(list)
	return slices.Compact(list)
}

// Output names the output table; empty if the step has none.
func (d *targetPage) Output() string {
	if d.Step.OutputType == "" {
		return ""
	}
	return strings.Join([]string{d.Step.Output.Server, d.Step.Output.Database, d.Step.Output.Schema, d.Step.Output.Table}, " / ")
}

// address is the address of the page of this step with a further query.
func (d *targetPage) address(query string) string {
	text := "?step=" + strconv.Itoa(d.Target.StepID)
	if query != "" {
		text += "&" + query
	}
	return text
}

// StepLink is the address of another step on this target.
func (d *targetPage) StepLink(step int) string { return "?step=" + strconv.Itoa(step) }

// AttemptLink is the address of the page with an attempt's messages.
func (d *targetPage) AttemptLink(id int64) string {
	return d.address("attempt=" + strconv.FormatInt(id, 10) + "#messages")
}

// OlderLink is the address of older attempts.
func (d *targetPage) OlderLink() string {
	return d.address("before=" + strconv.FormatInt(d.Attempts[0].ID, 10))
}

// PartLink is the address of a part of the messages: first, last, important or next.
func (d *targetPage) PartLink(part string) string {
	q := "attempt=" + strconv.FormatInt(d.Shown.ID, 10)
	switch part {
	case "last":
		q += "&after=-1"
	case "important":
		q += "&messages=important"
	case "next":
		q += "&after=" + strconv.Itoa(d.NextAfter)
		if d.key.important {
			q += "&messages=important"
		}
	}
	return d.address(q + "#messages")
}

// WholeScriptLink is the address of the page with all lines of the script.
func (d *targetPage) WholeScriptLink() string { return d.address("script=all#script") }

// OnlyImportant reports whether the list leaves out what is not important.
func (d *targetPage) OnlyImportant() bool { return d.key.important }

// Response returns the response to an action of the shown attempt; nil if there is none.
func (d *targetPage) Response() *response {
	if !d.IsAction() {
		return nil
	}
	var r response
	for _, m := range d.Important {
		switch m.Message.Kind {
		case targets.KindResponse:
			status, headers, _ := strings.Cut(m.Message.Text, "\n")
			r = response{Status: status, Number: m.Message.Number}
			for h := range strings.SplitSeq(headers, "\n") {
				if name, value, ok := strings.Cut(h, ":"); ok {
					r.Headers = append(r.Headers, header{name, strings.TrimSpace(value)})
				}
			}
		case targets.KindBody:
			r.Body = m.Message.Text
		case targets.KindExit:
			r.Status, r.Number = m.Message.Text, m.Message.Number
		case targets.KindErrorOutput:
			r.ErrorOutput += m.Message.Text
		}
	}
	if r.Status == "" && r.Body == "" && r.ErrorOutput == "" {
		return nil
	}
	return &r
}

// response is what an action got.
type response struct {
	Status            string
	Number            int32
	Headers           []header
	Body, ErrorOutput string
}

type header struct{ Name, Value string }

// attemptRow is an attempt with what came before it.
type attemptRow struct {
	executions.Attempt
	Now       time.Time
	FromQueue time.Time           // when the list of targets was frozen
	Previous  *executions.Attempt // nil for the first one of the list
	Shown     bool
}

// State is the outcome, or Running.
func (a attemptRow) State() string {
	switch {
	case a.Outcome == "" && a.TermOver:
		return "Lost"
	case a.Outcome == "":
		return "Running"
	}
	return a.Outcome
}

// Took is the duration by the agent's clock, or until now.
func (a attemptRow) Took() time.Duration {
	if a.ElapsedMS != nil && !a.End.IsZero() {
		return time.Duration(*a.ElapsedMS) * time.Millisecond
	}
	return a.stored()
}

// stored is the duration by the database's clock, until the outcome was stored.
func (a attemptRow) stored() time.Duration {
	start, end := a.Span(a.Now)
	return end.Sub(start)
}

// Delivery is the time until the outcome was stored, if it is so long that it needs to be seen:
// the agent could not send it, or the clocks differ. Else it is negative.
func (a attemptRow) Delivery() time.Duration {
	late := a.stored() - a.Took()
	if late < time.Second || late*10 < a.stored() {
		return -1
	}
	return late
}

// Waited is the time since the end of the attempt before, or since the list of targets.
func (a attemptRow) Waited() time.Duration {
	from := a.FromQueue
	if a.Previous != nil {
		from = a.Previous.End
	}
	if from.IsZero() {
		return -1
	}
	return max(a.Start.Sub(from), 0)
}

// Why says why the attempt was made.
func (a attemptRow) Why() string {
	switch {
	case a.Previous == nil && a.Number <= 1:
		return "the first attempt"
	case a.Previous == nil:
		return "a retry"
	case a.Previous.Outcome == "Returned":
		return "the attempt before was handed back: nothing was sent"
	case a.Previous.Outcome == "Unknown":
		return "the outcome of the attempt before is unknown"
	case a.Previous.Unreached:
		return "the target could not be reached before"
	case a.Previous.ErrorNumber != nil:
		return fmt.Sprintf("the attempt before failed with error %d", *a.Previous.ErrorNumber)
	}
	return "the attempt before failed"
}

// place is what servers' messages begin with. It is shown apart.
var place = regexp.MustCompile(`^Msg \d+, Level \d+, State \d+(, [^\n]{1,300})?, Line \d+: `)

// Text is the message without the number and the place that Where has.
func (a attemptRow) Text() string {
	if a.ErrorNumber == nil {
		return a.Message
	}
	return strings.TrimPrefix(a.Message, place.FindString(a.Message))
}

// Repeats reports whether the message is that of the attempt before.
func (a attemptRow) Repeats() bool {
	return a.Previous != nil && a.Message != "" && a.Message == a.Previous.Message
}

// Agent names the agent.
func (a attemptRow) Agent() string {
	if a.Host != "" {
		return a.Host
	}
	return fmt.Sprintf("an agent whose record is gone (term %d)", a.Term)
}

// Where says where the error was raised; empty if it is not an error of a server.
func (a attemptRow) Where() string {
	if a.ErrorNumber == nil {
		return ""
	}
	var parts []string
	add := func(name string, v *int32) {
		if v != nil && *v != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, *v))
		}
	}
	add("Error", a.ErrorNumber)
	add("severity", a.ErrorSeverity)
	add("state", a.ErrorState)
	add("line", a.ErrorLine)
	text := strings.Join(parts, ", ")
	if a.Procedure != "" {
		text += " of " + a.Procedure
	}
	return text
}
