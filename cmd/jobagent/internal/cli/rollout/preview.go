package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// firstTargets is the number of targets of a wave that a preview names, and oddTargets that of
	// those that are odd.
	firstTargets = 5
	oddTargets   = 1000
	// assignPoll is the time between two reads of a roll-out whose targets are not assigned.
	assignPoll = 500 * time.Millisecond
)

func newPreviewCommand(a *connect.App) *cobra.Command {
	var params command.ParameterFlags
	var allowMissing, all bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "preview JOB", Short: "Start the roll-out of a job, paused, and show who is in which wave", Args: cobra.ExactArgs(1),
		Long: `Start the roll-out of a job, wait until its targets are assigned to waves, and show them: who is in which wave, how
long it will take by the median of earlier runs, and what is odd. The roll-out is paused then, and nothing has run:
jobagent rollout resume lets it go on, and jobagent rollout abort drops it.

The times are without waits for approvals and without retries.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			parameters, err := params.Read(a.Stdin)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				p := preview{app: a, store: store, all: all, limit: limit}
				return p.run(cmd.Context(), args[0], parameters, params.Texts(), allowMissing)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "name all targets of each wave")
	command.AddDuration(cmd.Flags(), &limit, "wait-timeout", 10*time.Minute,
		fmt.Sprintf("wait at most so long for the assignment, then exit with %d; the roll-out stays paused (0: no limit)", exit.CodeWaitTimeout))
	params.Add(cmd, "the roll-out")
	cmd.Flags().BoolVar(&allowMissing, "allow-missing", false, "start although steps use parameters that are not given")
	return cmd
}

// preview shows a roll-out before its first wave.
type preview struct {
	app   *connect.App
	store *controldb.Store
	all   bool
	limit time.Duration
}

// run starts the roll-out of a job and shows it.
func (p *preview) run(ctx context.Context, job, parameters string, typed []string, allowMissing bool) error {
	check, err := startcheck.Read(ctx, p.store, job)
	if errors.Is(err, dberror.ErrJobNotFound) {
		_, err = lookup.Job(ctx, p.store, job) // it knows the nearest name
	}
	if err != nil {
		return err
	}
	if parameters, err = runs.CheckStart(check, parameters, typed, allowMissing); err != nil {
		return err
	}
	detail, err := catalog.On(p.store).JobDetail(ctx, job)
	if err != nil {
		return err
	}
	if detail.RolloutPlan == "" {
		return exit.With(exit.CodeConflict, fmt.Errorf("the job %s has no plan, so a start would run it on all its targets at once; nothing was started", job))
	}
	id := uuid.New() // known before the roll-out starts, in case no answer comes
	if _, err := executions.On(p.store).Start(ctx, executions.StartRequest{Job: job, ID: id, Parameters: parameters, Hold: true}); err != nil {
		return runs.Unanswered(ctx, &p.app.Printer, id, false, err)
	}
	fmt.Fprintf(p.app.Stderr, "roll-out %s of job %s started, paused\n", id, output.OneLine(job))
	return p.show(ctx, id)
}

// show waits until the targets are assigned, and shows them.
func (p *preview) show(ctx context.Context, id uuid.UUID) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if p.limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, p.limit)
	}
	defer cancel()
	if alive, known := lookup.AgentAlive(ctx, p.store); known && !alive {
		fmt.Fprintln(p.app.Stderr, "no agent is alive: nothing moves until one starts: jobagent run")
	}
	var r rollouts.Rollout
	err := command.Poll(waiting, assignPoll, func() (done bool, err error) {
		r, err = rollouts.On(p.store).Get(waiting, id)
		if !errors.Is(err, rollouts.ErrNotFound) {
			return err != nil || r.State.Assigned(), err
		}
		run, err := executions.On(p.store).Get(waiting, id) // it may have ended without a target
		return err != nil || !run.Active, err
	})
	switch {
	case err != nil && waiting.Err() != nil:
		fmt.Fprintf(p.app.Stderr, "the roll-out %s is not assigned yet; it pauses then\n  to see it:  jobagent rollout show %s\n  to drop it: jobagent rollout abort %s\n", id, id, id)
		if ctx.Err() == nil {
			return exit.With(exit.CodeWaitTimeout, nil)
		}
		return exit.With(exit.CodeInterrupted, nil)
	case err != nil:
		return err
	case r.State.Ended() && r.Targets == 0 && r.Reason == "":
		return exit.With(exit.CodeRunFailed, fmt.Errorf("the roll-out %s has ended, because its target groups have no targets; see jobagent execution explain %s", id, id))
	case r.ID == uuid.Nil || r.State.Ended():
		return exit.With(exit.CodeRunFailed, fmt.Errorf("the roll-out %s ended before its targets were assigned; see jobagent execution explain %s", id, id))
	}
	v, err := p.read(ctx, r)
	if err != nil {
		return err
	}
	return p.app.Emit(v, func(w io.Writer) error { return p.print(w, v) })
}

// read reads what a preview shows.
func (p *preview) read(ctx context.Context, r rollouts.Rollout) (output.RolloutPreview, error) {
	v := output.RolloutPreview{Rollout: output.NewRollout(r), Waves: []output.PreviewWave{}, Odd: []string{}}
	waves, err := rollouts.On(p.store).Waves(ctx, r.ID)
	if err != nil {
		return v, err
	}
	usual, err := rollouts.On(p.store).Usual(ctx, r.ID)
	if err != nil {
		return v, err
	}
	workers := 0
	if e, err := executions.On(p.store).Explain(ctx, r.ID); err == nil { // a login without this right gets less exact times
		workers = e.Workers
	}
	var sum time.Duration
	for _, w := range waves {
		one := output.PreviewWave{Wave: w.Wave, Name: w.Name, Targets: w.Targets, First: []string{}, Approval: w.Approval, Window: w.Window}
		if err := p.first(ctx, r.ID, w.Wave, func(t rollouts.Target) { one.First = append(one.First, t.Name()) }); err != nil {
			return v, err
		}
		if usual >= 0 {
			took := expected(w, usual, workers)
			sum += took
			one.ExpectedMS = new(took.Milliseconds())
		}
		v.Waves = append(v.Waves, one)
	}
	if usual >= 0 {
		v.UsualMS, v.ExpectedMS = new(usual.Milliseconds()), new(sum.Milliseconds())
	}
	v.Odd, err = p.odd(ctx, r, waves, usual)
	return v, err
}

// first reads the first targets of a wave; with --all, all.
func (p *preview) first(ctx context.Context, id uuid.UUID, wave int, do func(rollouts.Target)) error {
	f := rollouts.TargetFilter{Wave: &wave}
	if p.all {
		return eachTarget(ctx, p.store, id, f, do)
	}
	list, err := rollouts.On(p.store).Targets(ctx, id, f, controldb.Page[rollouts.TargetKey]{Top: firstTargets})
	for _, t := range list {
		do(t)
	}
	return err
}

// expected is how long a wave takes with its bake, if each target takes the usual time. Workers are
// those of all agents; 0 if that is not known.
func expected(w rollouts.Wave, usual time.Duration, workers int) time.Duration {
	if w.Targets == 0 {
		return 0
	}
	at := w.Targets // at once
	if workers > 0 {
		at = min(at, workers)
	}
	if w.Parallelism != nil {
		at = min(at, *w.Parallelism)
	}
	took := time.Duration((w.Targets+at-1)/at) * usual
	if w.Pace != nil {
		took = max(took, time.Duration(w.Targets-1)*time.Minute/time.Duration(*w.Pace)+usual)
	}
	return took + time.Duration(w.BakeSeconds)*time.Second
}

// odd says what one should look at before the roll-out goes on.
func (p *preview) odd(ctx context.Context, r rollouts.Rollout, waves []rollouts.Wave, usual time.Duration) ([]string, error) {
	odd := []string{}
	if r.LeftOut > 0 {
		var names []string
		if err := p.first(ctx, r.ID, 0, func(t rollouts.Target) { names = append(names, t.Name()) }); err != nil {
			return nil, err
		}
		odd = append(odd, fmt.Sprintf("no wave selects %s, so nothing runs there: %s", wording.Count(r.LeftOut, "target"), some(names, r.LeftOut)))
	}
	if r.Targets == 0 {
		odd = append(odd, "no wave has a target")
	}
	for _, w := range waves {
		if w.Targets == 0 {
			odd = append(odd, fmt.Sprintf("the wave '%s' has no target", w.Name))
		}
		if w.MaxDurationPercent != nil && usual < 0 {
			odd = append(odd, fmt.Sprintf("the wave '%s' compares durations with those of earlier runs, and the job has no earlier runs: its gate will fail", w.Name))
		}
	}
	failed, err := rollouts.On(p.store).FailedBefore(ctx, r.ID, oddTargets)
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		var names []string
		for _, t := range failed {
			place := "left out"
			if t.Wave > 0 {
				place = "wave '" + t.WaveName + "'"
			}
			names = append(names, fmt.Sprintf("%s (%s)", t.Name(), place))
		}
		odd = append(odd, fmt.Sprintf("the job did not succeed in its last run on %s: %s", wording.CountUpTo(len(failed), oddTargets, "target"), some(names, len(failed))))
	}
	return odd, nil
}

// some joins the first names of a number of targets.
func some(names []string, of int) string {
	names = names[:min(len(names), firstTargets)]
	text := strings.Join(names, ", ")
	if more := of - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (p *preview) print(w io.Writer, v output.RolloutPreview) error {
	width, _, _ := terminal.Size(w)
	say := func(indent, text string) {
		for _, line := range terminal.Wrap(terminal.Clean(text), max(0, width-len(indent))) {
			fmt.Fprintf(w, "%s%s\n", indent, line)
		}
	}
	r := v.Rollout
	say("", fmt.Sprintf("roll-out of %s (version %d): %s in %s", r.JobName, r.JobVersion, wording.Count(r.Targets, "target"), wording.Count(r.Waves, "wave")))
	for _, wave := range v.Waves {
		text := fmt.Sprintf("%d %s: %s", wave.Wave, wave.Name, wording.Count(wave.Targets, "target"))
		if wave.ExpectedMS != nil && wave.Targets > 0 {
			text += ", about " + terminal.Span(time.Duration(*wave.ExpectedMS)*time.Millisecond)
		}
		switch wave.Approval {
		case "any":
			text += ", after an approval"
		case "other":
			text += ", after the approval of another person"
		}
		if wave.Window != "" {
			text += ", only in the windows of the calendar " + wave.Window
		}
		say("  ", text)
		if wave.Targets > 0 && p.all {
			for _, name := range wave.First {
				say("      ", name)
			}
		} else if wave.Targets > 0 {
			say("      ", some(wave.First, wave.Targets))
		}
	}
	if v.ExpectedMS != nil {
		say("", fmt.Sprintf("in all about %s, by %s a target in earlier runs (median), without waits for people and windows",
			terminal.Span(time.Duration(*v.ExpectedMS)*time.Millisecond), (time.Duration(*v.UsualMS)*time.Millisecond)))
	} else {
		say("", "how long it takes is not known: no earlier run of the job succeeded on a target")
	}
	for _, text := range v.Odd {
		say("", "odd: "+text)
	}
	_, err := fmt.Fprintf(w, "nothing has run; the roll-out is paused\n  to go on:   jobagent rollout resume %s\n  to drop it: jobagent rollout abort %s\n", r.ID, r.ID)
	return err
}
