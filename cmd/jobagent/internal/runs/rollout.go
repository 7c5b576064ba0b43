package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// RolloutReader reads roll-outs; a [rollouts.Store] is one.
type RolloutReader interface {
	Get(ctx context.Context, id uuid.UUID) (rollouts.Rollout, error)
	Waves(ctx context.Context, id uuid.UUID) ([]rollouts.Wave, error)
	PreflightProgress(ctx context.Context, w rollouts.Wave) (ended, all int, err error)
}

// ReadRollout reads a roll-out with its waves. It returns an error if the run is not a roll-out.
func ReadRollout(ctx context.Context, store RolloutReader, id uuid.UUID) (output.RolloutDetail, error) {
	r, err := store.Get(ctx, id)
	if err != nil {
		return output.RolloutDetail{}, noRollout(id, err)
	}
	waves, err := store.Waves(ctx, id)
	d := output.NewRolloutDetail(r, waves)
	for i, w := range waves {
		ended, all, err := store.PreflightProgress(ctx, w)
		if err != nil {
			return d, err
		}
		if all > 0 {
			d.Waves[i].PreflightChecked, d.Waves[i].PreflightChecks = &ended, &all
		}
	}
	return d, err
}

// noRollout says that a run is not a roll-out, if err means that.
func noRollout(id uuid.UUID, err error) error {
	if !errors.Is(err, rollouts.ErrNotFound) {
		return err
	}
	return exit.With(exit.CodeNotFound, fmt.Errorf("execution %s is not a roll-out, or has not begun; jobagent rollout list shows the latest roll-outs", id))
}

// watched follows a run, or the waves of a roll-out. Whether a run is a roll-out is known when it
// has begun.
type watched struct {
	follower
	rollouts RolloutReader
	id       uuid.UUID
	plain    bool // the run is not a roll-out
	rollout  *rollouts.Rollout
}

// read reads the state of the run, or of the roll-out and of the run of its current wave.
func (w *watched) read(ctx context.Context, before news) (after news, ended bool, err error) {
	if !w.plain {
		r, err := w.rollouts.Get(ctx, w.id)
		switch {
		case err == nil:
			return w.readWave(ctx, before, r)
		case !errors.Is(err, rollouts.ErrNotFound):
			return before, false, err
		case w.rollout != nil:
			return before, false, NotFound(w.id)
		}
	}
	after, ended, err = readRun(ctx, w.store, w.id, before)
	if err == nil && (ended || len(after.run.Run.Steps) > 0 && after.run.Run.Steps[0].Begun()) {
		w.plain = true
	}
	return after, ended, err
}

// readWave is read for a roll-out.
func (w *watched) readWave(ctx context.Context, before news, r rollouts.Rollout) (after news, ended bool, err error) {
	waves, err := w.rollouts.Waves(ctx, w.id)
	if err != nil {
		return before, false, err
	}
	after = before
	after.run, after.notes = nil, nil
	run := uuid.Nil
	switch {
	case !r.State.Assigned():
		run = w.id
	case r.Wave > 0 && r.Wave <= len(waves):
		run = waves[r.Wave-1].Run
		if r.State == rollouts.Preflight {
			run = waves[r.Wave-1].PreflightRun
		}
	}
	if run != uuid.Nil {
		after, _, err = readRun(ctx, w.store, run, before)
		if exit.Code(err) == exit.CodeNotFound {
			after, err = before, nil // it was deleted meanwhile
			after.run = nil
		}
		if err != nil {
			return before, false, err
		}
	}
	w.rollout = &r
	after.title, after.counts = rolloutTitle(r), r.Counts()
	if r.NeedsPerson() {
		after.notes = append(after.notes, fmt.Sprintf("the roll-out waits for a person: %s; see jobagent rollout show %s",
			strings.Join(rolloutNews(output.NewRollout(r)), "; "), r.ID))
	}
	return after, r.State.Ended(), nil
}

// rolloutTitle says how far a roll-out is.
func rolloutTitle(r rollouts.Rollout) string {
	text := fmt.Sprintf("roll-out of %s  %s: ", output.OneLine(r.JobName), r.State)
	if r.Wave > 0 && !r.State.Ended() {
		text += fmt.Sprintf("wave %d of %d, %s; ", r.Wave, r.Waves, output.OneLine(r.WaveName))
	}
	c := r.Counts()
	text += fmt.Sprintf("%s of %s done", terminal.Number(c.Ended()), wording.Count(c.Total(), "target"))
	if c.Failed > 0 {
		text += fmt.Sprintf(", %s failed", terminal.Number(c.Failed))
	}
	if next := NextEvent(output.NewRollout(r)); next != "" && !r.NeedsPerson() {
		text += "; " + next
	}
	return text
}

// NextEvent says what happens next in a roll-out, and when; empty if nothing does.
func NextEvent(r output.Rollout) string {
	if r.NextEvent == "" {
		return ""
	}
	text := strings.TrimSuffix(output.OneLine(r.NextEvent), ".")
	if r.NextEventAt != nil {
		text += " (" + r.NextEventAt.UTC().Format(time.RFC3339) + ")"
	}
	return text
}

// rolloutNews says why a roll-out is as it is, and what happens next.
func rolloutNews(r output.Rollout) (lines []string) {
	if r.PausedAt != nil {
		text := "paused"
		if r.PausedBy != "" {
			text += " by " + output.OneLine(r.PausedBy)
		}
		text += " at " + r.PausedAt.UTC().Format(time.RFC3339)
		if r.PauseReason != "" {
			text += ": " + strings.TrimSuffix(output.OneLine(output.Said(r.PauseReason)), ".")
		}
		lines = append(lines, text)
	}
	if r.Reason != "" {
		lines = append(lines, strings.TrimSuffix(output.OneLine(output.Said(r.Reason)), "."))
	}
	if next := NextEvent(r); next != "" {
		lines = append(lines, "next: "+next)
	}
	return lines
}

// WaveColumns are those of the waves of a roll-out.
var WaveColumns = output.Columns([]output.Column[output.RolloutWave]{
	{Name: "wave", Right: true, Keep: true},
	{Name: "name", Min: 8, Keep: true, ID: true},
	{Name: "state", State: true, Keep: true},
	{Name: "targets", Right: true, Keep: true},
	{Name: "succeeded", Header: "OK", Right: true, Drop: 4},
	{Name: "failed", Right: true, Drop: 3},
	{Name: "unknown", Right: true, Wide: true},
	{Name: "unreached", Right: true, Drop: 6},
	{Name: "left_out", Right: true, Wide: true},
	{Name: "preflight_run_id", Header: "PREFLIGHT", GUID: true, Wide: true},
	{Name: "approval", Drop: 7, Text: approval},
	{Name: "window_name", Header: "WINDOW", Wide: true},
	{Name: "bake_seconds", Header: "BAKE", Right: true, Drop: 8, Text: func(w output.RolloutWave) string {
		if w.BakeSeconds == 0 {
			return ""
		}
		return terminal.Span(time.Duration(w.BakeSeconds) * time.Second)
	}},
	{Name: "bake_until", Wide: true},
	{Name: "run_id", Header: "RUN", GUID: true, Drop: 9},
	{Name: "gate", Header: "GATES", Min: 16, Rest: true, Drop: 5},
})

// approval says who has approved a wave, or that somebody has to.
func approval(w output.RolloutWave) string {
	switch {
	case w.ApprovedBy != "":
		return "by " + w.ApprovedBy
	case w.Approval == "other":
		return "by another person"
	case w.Approval == "any":
		return "needed"
	}
	return ""
}

// PrintRollout prints a roll-out with its waves.
func PrintRollout(p *output.Printer, out io.Writer, d output.RolloutDetail) error {
	r, paint := d.Rollout, p.Painter()
	width, _, _ := terminal.Size(out)
	fmt.Fprintf(out, "roll-out of %s (version %d)  %s\n", terminal.Clean(r.JobName), r.JobVersion, paint.In(terminal.StateStyle(rolloutLifecycle(r.State)), r.State))
	fmt.Fprintf(out, "  %s, started by %s at %s\n", r.ID, output.OneLine(cmp.Or(r.StartedBy, "nobody")), r.CreatedAt.UTC().Format(time.RFC3339))
	if r.UndoOf != nil {
		fmt.Fprintf(out, "  undoes the roll-out %s\n", *r.UndoOf)
	}
	if r.UndoJobName != "" {
		fmt.Fprintf(out, "  can be undone by the job %s\n", terminal.Clean(r.UndoJobName))
	}
	fmt.Fprintf(out, "  %s\n", describeTargets(r))
	lines := rolloutNews(r)
	for _, w := range d.Waves {
		if w.PreflightChecks != nil {
			lines = append(lines, fmt.Sprintf("preflight of wave %s: %s of %s ended",
				w.Name, terminal.Number(*w.PreflightChecked), wording.Count(*w.PreflightChecks, "check")))
		}
	}
	if r.DeadlineAt != nil && r.EndedAt == nil {
		lines = append(lines, "deadline: "+r.DeadlineAt.UTC().Format(time.RFC3339))
	}
	if r.EndedAt != nil {
		lines = append(lines, "ended at "+r.EndedAt.UTC().Format(time.RFC3339))
	}
	for _, line := range lines {
		for _, part := range terminal.Wrap(terminal.Clean(line), max(0, width-2)) {
			fmt.Fprintf(out, "  %s\n", part)
		}
	}
	if len(d.Waves) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	output.WriteTable(out, d.Waves, WaveColumns, width, paint)
	return nil
}

// rolloutLifecycle is the lifecycle whose colour a state of a roll-out has.
func rolloutLifecycle(state string) string {
	switch s := rollouts.State(state); s {
	case rollouts.Succeeded:
		return string(jobs.Succeeded)
	case rollouts.Failed, rollouts.Aborted, rollouts.Stopped, rollouts.Aborting:
		return string(jobs.Failed)
	case rollouts.Paused, rollouts.Waiting, rollouts.Closed:
		return string(jobs.WaitingForRetry)
	default:
		return string(jobs.InProgress)
	}
}

// describeTargets says what became of the targets of a roll-out.
func describeTargets(r output.Rollout) string {
	text := wording.Count(r.Targets, "target") + " in " + wording.Count(r.Waves, "wave")
	for _, part := range []struct {
		n    int
		text string
	}{
		{r.Succeeded, "succeeded"}, {r.Failed, "failed"}, {r.Unknown, "of them with an unknown outcome"}, {r.Unreached, "not reached"},
		{r.Pending, "to come"}, {r.LeftOut, "left out"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", terminal.Number(part.n), part.text)
		}
	}
	return text
}

// endRollout prints a roll-out that was watched to its end. It returns an error if it did not
// succeed.
func (w *watched) endRollout(ctx context.Context, p *output.Printer, store *controldb.Store, wait Wait) error {
	var d output.RolloutDetail
	var run executions.Run
	err := w.away.persist(ctx, func(ctx context.Context) (err error) {
		if d, err = ReadRollout(ctx, w.rollouts, w.id); err == nil {
			run, err = executions.On(store).Get(ctx, w.id)
		}
		return err
	})
	if err != nil {
		return err
	}
	result := output.Executions{Executions: []output.Execution{View(run.Row())}, Rollout: &d}
	if err := p.Emit(result, func(out io.Writer) error { return PrintRollout(p, out, d) }); err != nil {
		return err
	}
	return wait.rolloutVerdict(p, d.Rollout)
}

// rolloutVerdict is [Wait.verdict] for a roll-out.
func (w *Wait) rolloutVerdict(p *output.Printer, r output.Rollout) error {
	if r.State != string(rollouts.Succeeded) {
		why := ""
		if r.Reason != "" {
			why = ": " + strings.TrimSuffix(output.OneLine(output.Said(r.Reason)), ".")
		}
		return exit.With(exit.CodeRunFailed, fmt.Errorf("the roll-out %s of job %s ended as %s%s; see jobagent rollout show %s", r.ID, r.JobName, r.State, why, r.ID))
	}
	if r.Targets == 0 {
		const why = "no target ran: the roll-out has no targets"
		if !w.AllowSkipped {
			return exit.With(exit.CodeRunFailed, fmt.Errorf("the roll-out %s of job %s ended as %s, but %s; see jobagent execution explain %s, or accept it with --allow-skipped",
				r.ID, r.JobName, r.State, why, r.ID))
		}
		return p.Warn([]string{fmt.Sprintf("%s; see jobagent execution explain %s", why, r.ID)})
	}
	var warnings []string
	for _, one := range []struct {
		n    int
		text string
	}{{r.Failed, "failed"}, {r.Unreached, "not reached"}, {r.LeftOut, "left out, because no wave selects them, or their preflight failed"}} {
		if one.n > 0 {
			warnings = append(warnings, fmt.Sprintf("%s %s; see jobagent rollout targets %s", were(one.n, "target"), one.text, r.ID))
		}
	}
	return p.Warn(warnings)
}
