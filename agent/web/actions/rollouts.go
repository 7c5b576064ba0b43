package actions

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/rollouts"
)

// rolloutAction is an action on a roll-out.
type rolloutAction struct {
	verb   string // of the path, and of jobagent rollout
	proc   string
	button string
	danger bool
	notice string
	// effects say what happens, for the state of the roll-out.
	effects func(d rolloutOf) []string
	// fields are those of the form: their names are the flags of jobagent rollout.
	fields func(d rolloutOf) []page.Field
	do     func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error
	// starts says that the action starts a roll-out whose ID is the operation of the form.
	starts bool
}

// rolloutOf is a roll-out with its waves.
type rolloutOf struct {
	rollouts.Rollout
	waves []rollouts.Wave
}

// current is the current wave; the zero wave if there is none.
func (d rolloutOf) current() (w rollouts.Wave) {
	if d.Wave > 0 && d.Wave <= len(d.waves) {
		w = d.waves[d.Wave-1]
	}
	return w
}

// reasonField is the field for a reason.
func reasonField(required bool) func(rolloutOf) []page.Field {
	return func(rolloutOf) []page.Field {
		return []page.Field{{Name: "reason", Label: "Reason", Required: required, MaxLength: maxNote, Help: "Everybody who looks at the roll-out sees it."}}
	}
}

// rolloutVerbs are the actions on roll-outs.
var rolloutVerbs = []rolloutAction{
	{
		verb: "approve", proc: "jobs.sp_approve_rollout", button: "Approve the wave", notice: "The wave is approved.",
		effects: func(d rolloutOf) []string {
			w := d.current()
			other := ""
			if w.Approval == "other" {
				other = fmt.Sprintf("Somebody other than %s has to approve it.", d.StartedBy)
			}
			return []string{fmt.Sprintf("Lets the wave %s start on %s.", quoted(w.Name), page.Counted(w.Targets, "target", "targets")), other}
		},
		fields: func(d rolloutOf) []page.Field {
			return []page.Field{
				{Name: "wave", Kind: "hidden", Value: d.current().Name}, // nobody approves another one than was shown
				{Name: "note", Label: "Note", MaxLength: maxNote, Help: "It is kept with the approval."},
			}
		},
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			return rollouts.On(store).Approve(ctx, id, value(r, "wave"), value(r, "note"))
		},
	},
	{
		verb: "reject", proc: "jobs.sp_reject_rollout", button: "Reject the wave", notice: "The wave is rejected: the roll-out is paused.",
		effects: func(d rolloutOf) []string {
			return []string{fmt.Sprintf("Does not approve the wave %s: the roll-out is paused until somebody resumes or aborts it.", quoted(d.WaveName))}
		},
		fields: reasonField(true),
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			return rollouts.On(store).Reject(ctx, id, value(r, "reason"))
		},
	},
	{
		verb: "pause", proc: "jobs.sp_pause_rollout", button: "Pause the roll-out", notice: "The roll-out is paused.",
		effects: func(rolloutOf) []string {
			return []string{"No target and no wave starts until somebody resumes it. Targets that run go on to their end."}
		},
		fields: reasonField(false),
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			return rollouts.On(store).Pause(ctx, id, value(r, "reason"))
		},
	},
	{
		verb: "resume", proc: "jobs.sp_resume_rollout", button: "Resume the roll-out", notice: "The roll-out goes on.",
		effects: func(d rolloutOf) []string {
			why := ""
			if d.PauseReason != "" {
				why = fmt.Sprintf("It was paused on %s: %s", instant(d.PausedAt), d.PauseReason)
			}
			return []string{"The roll-out goes on where it is.", why}
		},
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ *page.Request) error {
			return rollouts.On(store).Resume(ctx, id)
		},
	},
	{
		verb: "abort", proc: "jobs.sp_abort_rollout", button: "Abort the roll-out", danger: true, notice: "The roll-out ends.",
		effects: func(d rolloutOf) []string {
			return []string{
				fmt.Sprintf("Ends the roll-out for good: %s that are to come do not run.", page.Counted(d.Pending(), "target", "targets")),
				"What has succeeded stays as it is. The plan says whether targets that run go on or are canceled.",
			}
		},
		fields: reasonField(false),
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			return rollouts.On(store).Abort(ctx, id, value(r, "reason"))
		},
	},
	{
		verb: "retry", proc: "jobs.sp_retry_rollout_wave", button: "Retry the wave", notice: "The wave runs again where it did not succeed.",
		effects: func(d rolloutOf) []string {
			w := d.current()
			return []string{fmt.Sprintf("Runs the wave %s again on %s that did not succeed; then its gates are evaluated again.", quoted(w.Name),
				page.Counted(max(0, w.Targets-w.Succeeded), "target", "targets")), d.Reason}
		},
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, _ *page.Request) error {
			return rollouts.On(store).RetryWave(ctx, id)
		},
	},
	{
		verb: "skip", proc: "jobs.sp_skip_rollout_wave", button: "Skip the wave", danger: true, notice: "The wave is skipped.",
		effects: func(rolloutOf) []string {
			return []string{"The roll-out goes on after the wave. A wave whose gate has failed counts as passed; the targets of one that is to come do not run."}
		},
		fields: func(d rolloutOf) []page.Field {
			f := page.Field{Name: "wave", Label: "Wave", Kind: "select", Required: true}
			for _, w := range d.waves {
				switch w.State {
				case rollouts.WavePending, rollouts.WaveWaiting, rollouts.WaveStopped:
					f.Options = append(f.Options, page.Option{Value: w.Name, Text: fmt.Sprintf("%d %s, %s", w.Wave, w.Name, page.Counted(w.Targets, "target", "targets"))})
				case rollouts.WavePreflight, rollouts.WaveRunning, rollouts.WaveBaking, rollouts.WavePassed, rollouts.WaveSkipped:
				}
			}
			return []page.Field{f}
		},
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			return rollouts.On(store).SkipWave(ctx, id, value(r, "wave"))
		},
	},
	{
		verb: "extend", proc: "jobs.sp_extend_rollout_bake", button: "Extend the bake", notice: "The bake lasts longer.",
		effects: func(d rolloutOf) []string {
			w := d.current()
			until := ""
			if !w.BakeUntil.IsZero() {
				until = " It lasts until " + instant(w.BakeUntil) + " now."
			}
			return []string{fmt.Sprintf("Makes the bake of the wave %s longer.%s", quoted(w.Name), until)}
		},
		fields: func(rolloutOf) []page.Field {
			return []page.Field{{Name: "minutes", Label: "Minutes", Kind: "number", Required: true, Value: "30"}}
		},
		do: extendBy(maxMinutes, rollouts.Store.ExtendBake),
	},
	{
		verb: "extend-deadline", proc: "jobs.sp_extend_rollout_deadline", button: "Extend the deadline", notice: "The deadline is later.",
		effects: func(d rolloutOf) []string {
			until := " It has passed. The roll-out stays paused until it is resumed."
			if !d.DeadlineAt.IsZero() {
				until = " It is " + instant(d.DeadlineAt) + " now."
			}
			return []string{"Moves the deadline of the roll-out." + until}
		},
		fields: func(rolloutOf) []page.Field {
			return []page.Field{{Name: "minutes", Label: "Minutes", Kind: "number", Required: true, Value: "1440"}}
		},
		do: extendBy(maxDeadlineMinutes, rollouts.Store.ExtendDeadline),
	},
	{
		verb: "undo", proc: "jobs.sp_undo_rollout", button: "Undo the roll-out", danger: true, notice: "The undo was started.", starts: true,
		effects: func(d rolloutOf) []string {
			unknown := ""
			if d.Unknown > 0 {
				unknown = fmt.Sprintf("and on %s where it is unknown whether the script ran, ", page.Counted(d.Unknown, "target", "targets"))
			}
			order := ""
			if n := len(d.waves); n > 1 {
				order = fmt.Sprintf("Its %d waves run in reverse order, from %s to %s, with the same gates, bakes and approvals.",
					n, quoted(d.waves[n-1].Name), quoted(d.waves[0].Name))
			}
			return []string{
				fmt.Sprintf("Runs the compensating job of the plan on %s where the roll-out of %s succeeded, %sas a roll-out of its own.",
					page.Counted(d.Succeeded, "target", "targets"), quoted(d.JobName), unknown),
				order,
			}
		},
		fields: func(rolloutOf) []page.Field {
			return []page.Field{{
				Name: "only", Label: "Targets", Kind: "select", Required: true, Options: []page.Option{
					{Value: "Succeeded,Unknown", Text: "that succeeded, or whose outcome is unknown"},
					{Value: "Succeeded", Text: "that succeeded"},
					{Value: "Succeeded,Unknown,Failed", Text: "also those that failed"},
					{Value: "Succeeded,Unknown,Failed,Unreached", Text: "also those that failed or were canceled"},
				},
			}, {
				Name: "hold", Label: "Pause when the targets are assigned, so that one can look at them first", Kind: "checkbox",
			}, {
				Name: "force", Label: "Also where a later roll-out of the job has changed the target", Kind: "checkbox",
			}}
		},
		do: func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
			undo, err := operation(r)
			if err != nil {
				return err
			}
			_, err = rollouts.On(store).Undo(ctx, rollouts.UndoRequest{
				Rollout: id, Only: value(r, "only"), Hold: value(r, "hold") == "true", Force: value(r, "force") == "true", ID: undo,
			})
			return refuse(refuse(err, "force", 50196), "only", 50195)
		},
	},
}

// The longest times by which a bake and a deadline are extended: 30 and 365 days.
const (
	maxMinutes         = 30 * 24 * 60
	maxDeadlineMinutes = 365 * 24 * 60
)

// extendBy returns the action that extends a bake or a deadline by the minutes of the form.
func extendBy(
	most int, extend func(rollouts.Store, context.Context, uuid.UUID, time.Duration) error,
) func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
	return func(ctx context.Context, store *controldb.Store, id uuid.UUID, r *page.Request) error {
		n, err := strconv.Atoi(value(r, "minutes"))
		if err != nil || n < 1 || n > most {
			return &page.InputError{Field: "minutes", Problem: fmt.Sprintf("Type a number of minutes from 1 to %d.", most)}
		}
		return extend(rollouts.On(store), ctx, id, time.Duration(n)*time.Minute)
	}
}

// rolloutActions returns the actions on roll-outs.
func rolloutActions(one func(path string, confirm confirmFunc, do doFunc) page.Action) (list []page.Action) {
	for _, a := range rolloutVerbs {
		list = append(list, one("/rollouts/{rollout}/"+a.verb, a.confirm, a.carryOut))
	}
	return list
}

// rolloutID returns the roll-out of a request.
func rolloutID(r *page.Request) (uuid.UUID, error) {
	one, err := id(r, "rollout")
	if err != nil {
		return uuid.Nil, rollouts.ErrNotFound
	}
	return one, nil
}

// confirm says what the action does.
func (a rolloutAction) confirm(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	id, err := rolloutID(r)
	if err != nil {
		return nil, err
	}
	d := rolloutOf{}
	if d.Rollout, err = rollouts.On(r.Store).Get(ctx, id); err != nil {
		return nil, err
	}
	if d.waves, err = rollouts.On(r.Store).Waves(ctx, id); err != nil {
		return nil, err
	}
	next := ""
	if d.NextEvent != "" {
		next = "Now: " + d.NextEvent
	}
	c := &page.Confirmation{
		Title: a.button, Nav: "runs", Button: a.button, Danger: a.danger, Back: r.Path("rollouts", id.String()),
		Effects: sentences(append(a.effects(d), fmt.Sprintf("The roll-out of %s has ended on %d of %s.", quoted(d.JobName), d.Counts().Ended(),
			page.Counted(d.Targets, "target", "targets")), next)...),
	}
	if a.fields != nil {
		c.Fields = a.fields(d)
	}
	c.Equivalents = a.equivalents(r, id, c.Fields)
	return c, nil
}

// equivalents are the commands that do the same with what was typed.
func (a rolloutAction) equivalents(r *page.Request, id uuid.UUID, fields []page.Field) []page.Equivalent {
	cli, tsql := []string{"rollout", a.verb, id.String()}, []page.Arg{{Name: "job_execution_id", Value: id}}
	for _, f := range fields {
		text := value(r, f.Name)
		switch {
		case f.Kind == "checkbox":
			if text == "true" {
				cli, tsql = append(cli, "--"+f.Name), append(tsql, page.Arg{Name: f.Name, Value: 1})
			}
			continue
		case f.Name == "minutes":
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxDeadlineMinutes {
				n, _ = strconv.Atoi(f.Value)
			}
			cli, tsql = append(cli, fmt.Sprintf("%dm", n)), append(tsql, page.Arg{Name: "seconds", Value: n * 60})
			continue
		case text == "" && f.Kind == "hidden":
			text = f.Value
		case text == "" && f.Kind == "select" && len(f.Options) > 0:
			text = f.Options[0].Value
		case text == "" && f.Required:
			text = "…"
		}
		if text == "" {
			continue
		}
		name := f.Name
		if name == "note" {
			name = "comment"
		}
		cli, tsql = append(cli, "--"+f.Name, text), append(tsql, page.Arg{Name: name, Value: text})
	}
	return commands(page.CLI(cli...), page.TSQL(a.proc, tsql...))
}

func (a rolloutAction) carryOut(ctx context.Context, r *page.Request) (*page.Done, error) {
	id, err := rolloutID(r)
	if err != nil {
		return nil, err
	}
	if err := a.do(ctx, r.Store, id, r); err != nil {
		return nil, err
	}
	if a.starts {
		if id, err = operation(r); err != nil {
			return nil, err
		}
	}
	return &page.Done{Location: r.Path("rollouts", id.String()), Notice: a.notice}, nil
}
