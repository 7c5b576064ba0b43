// Package rollouts has the list of roll-outs, and the page of a roll-out with its waves.
package rollouts

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs"
)

//go:embed *.html *.css
var files embed.FS

// name is the name of the set.
const name = "rollouts"

// listTop is the number of roll-outs on a page of the list.
const listTop = 50

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: name, Files: files,
		Pages: []page.Page{
			{Path: "/rollouts", Role: rest.RoleReader, Handle: list},
			{Path: "/rollouts/{rollout}", Role: rest.RoleReader, Handle: one},
		},
		Topics: []live.Topic{{Pattern: "rollout/{id}", Interval: 2 * time.Second, Open: open}},
	}
}

// shown is the word for a state of a roll-out or of a wave.
func shown[S ~string](state S) string {
	if string(state) == string(rollouts.Stopped) {
		return "GateFailed"
	}
	return string(state)
}

// listed is a roll-out of the list.
type listed struct{ rollouts.Rollout }

// Shown is the word for its state.
func (r listed) Shown() string { return shown(r.State) }

// listData is what the list shows.
type listData struct {
	Rollouts []listed
	Older    string
}

// list makes the list of roll-outs.
func list(ctx context.Context, r *page.Request) (*page.View, error) {
	after := page.After[executions.Key](r.Query("after"))
	rows, next, err := controldb.ReadPage(after, listTop, func(p controldb.Page[executions.Key]) ([]rollouts.Rollout, error) {
		return rollouts.On(r.Store).Rollouts(ctx, rollouts.Filter{}, p)
	}, rollouts.Rollout.Key)
	if err != nil {
		return nil, err
	}
	d := listData{}
	for _, row := range rows {
		d.Rollouts = append(d.Rollouts, listed{row})
	}
	if next != nil {
		d.Older = "?after=" + controldb.Token(*next)
	}
	return &page.View{
		Title: "Roll-outs", Nav: "runs", Template: "list", Data: d, Crumbs: []page.Link{{Text: "Runs", Href: r.Path("runs")}},
		Equivalents: append(page.CLI("rollout", "list"), page.Equivalent{
			Door: page.DoorTSQL, Text: "SELECT TOP (50) * FROM jobs.rollouts ORDER BY created_at DESC;",
		}),
	}, nil
}

// rollout is what the page of a roll-out shows.
type rollout struct {
	rollouts.Rollout
	Lanes []lane
}

// lane is a wave with the numbers of its targets now.
type lane struct {
	rollouts.Wave
	Now jobs.Counts
	// Current says that the roll-out is at this wave.
	Current bool
	// Checks are those of its preflight, and ChecksEnded those that have ended, while it runs.
	Checks, ChecksEnded int
	// Probed are its first targets with what its probes returned there, and MoreProbed says that
	// there are others.
	Probed     []probed
	MoreProbed bool
}

// probed is a target with what the probes of its wave returned there.
type probed struct{ Name, Before, Value, Rows string }

// newProbed describes a target.
func newProbed(t rollouts.Target) probed {
	number := func(f *float64) string {
		if f == nil {
			return ""
		}
		return strconv.FormatFloat(*f, 'f', -1, 64)
	}
	p := probed{Name: t.Name(), Before: number(t.ProbeBefore), Value: number(t.ProbeValue)}
	if t.ProbeRows != nil {
		p.Rows = strconv.FormatInt(*t.ProbeRows, 10)
	}
	return p
}

// Shown is the word for its state.
func (l lane) Shown() string { return shown(l.State) }

// Has reports whether an ID is one.
func (lane) Has(id uuid.UUID) bool { return id != uuid.Nil }

// Unreach is the number of its targets that were not reached, without those that are left out.
func (l lane) Unreach() int { return l.Now.Off() - min(l.LeftOut, l.Now.Off()) }

// Checked says what its preflight found.
func (l lane) Checked() string {
	switch {
	case l.State == rollouts.WavePreflight:
		return fmt.Sprintf("runs: %s of %s ended", page.Grouped(l.ChecksEnded), page.Counted(l.Checks, "check", "checks"))
	case l.PreflightFailed == nil || *l.PreflightFailed == 0:
		return ""
	}
	return fmt.Sprintf("%s of %s failed it", page.Grouped(*l.PreflightFailed), page.Grouped(l.Targets))
}

// Limits says what the gates permit.
func (l lane) Limits() string {
	parts := []string{fmt.Sprintf("%s may fail", page.Grouped(l.MaxFailed))}
	if l.MaxUnknown > 0 {
		parts = append(parts, page.Grouped(l.MaxUnknown)+" may end with an unknown outcome")
	}
	if l.MaxUnreached > 0 {
		parts = append(parts, page.Grouped(l.MaxUnreached)+" may be left out")
	}
	if l.MaxDurationPercent != nil {
		parts = append(parts, fmt.Sprintf("duration up to %d %% of the usual one", *l.MaxDurationPercent))
	}
	if l.ProbeJob != "" {
		must := "the job " + l.ProbeJob + " must succeed"
		if l.ProbeCheck != "" {
			must += " and return " + l.ProbeCheck
		}
		parts = append(parts, must)
	}
	return strings.Join(parts, ", ")
}

// Pacing says how fast it runs.
func (l lane) Pacing() string {
	var parts []string
	if l.Parallelism != nil {
		parts = append(parts, fmt.Sprintf("%s at once", page.Grouped(*l.Parallelism)))
	}
	if l.Pace != nil {
		parts = append(parts, fmt.Sprintf("%s a minute", page.Grouped(*l.Pace)))
	}
	return strings.Join(parts, ", ")
}

// Bake is how long the roll-out waits after it.
func (l lane) Bake() time.Duration { return time.Duration(l.BakeSeconds) * time.Second }

// Shown is the word for its state.
func (d *rollout) Shown() string { return shown(d.State) }

// All are the targets of all waves.
func (d *rollout) All() (all jobs.Counts) {
	for _, l := range d.Lanes {
		all = all.Plus(l.Now)
	}
	return all
}

// Undoes reports whether it undoes another one.
func (d *rollout) Undoes() bool { return d.UndoOf != uuid.Nil }

// The words of the phase of a roll-out, on which its actions depend.
const (
	phaseActive  = "active"
	phaseWaiting = "waiting"
	phaseGoing   = "going"
	phasePaused  = "paused"
	phaseStopped = "stopped"
	phaseBaking  = "baking"
	phaseTimed   = "timed" // it has a deadline, or has paused there
	phaseEnding  = "ending"
	phaseEnded   = "ended"
)

// Phase is the phase on which the actions depend.
func (d *rollout) Phase() string {
	phase := d.stage()
	if d.HasDeadline() && strings.HasPrefix(phase, phaseActive) {
		phase += " " + phaseTimed
	}
	return phase
}

// stage is the phase without that of the deadline.
func (d *rollout) stage() string {
	switch d.State {
	case rollouts.Waiting:
		return phaseActive + " " + phaseGoing + " " + phaseWaiting
	case rollouts.Paused:
		return phaseActive + " " + phasePaused
	case rollouts.Stopped:
		return phaseActive + " " + phaseStopped
	case rollouts.Baking, rollouts.Probing:
		return phaseActive + " " + phaseGoing + " " + phaseBaking
	case rollouts.Aborting:
		return phaseEnding
	case rollouts.Succeeded, rollouts.Aborted, rollouts.Failed:
		return phaseEnded
	default:
		return phaseActive + " " + phaseGoing
	}
}

// read reads a roll-out with its waves, and counts the targets of the wave that runs.
func read(ctx context.Context, store *controldb.Store, id uuid.UUID) (*rollout, error) {
	r, err := rollouts.On(store).Get(ctx, id)
	if err != nil {
		return nil, err
	}
	waves, err := rollouts.On(store).Waves(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &rollout{Rollout: r}
	for _, w := range waves {
		l := lane{Wave: w, Now: w.Counts(), Current: w.Wave == r.Wave && !r.State.Ended()}
		if w.State == rollouts.WaveRunning && w.Run != uuid.Nil {
			// A retry runs what did not succeed before.
			counts, err := executions.On(store).CountTargets(ctx, []uuid.UUID{w.Run})
			if err != nil {
				return nil, err
			}
			l.Now = counts[w.Run].Plus(jobs.Counts{Succeeded: w.Succeeded, Skipped: w.LeftOut})
			l.Now.Waiting += max(0, w.Targets-l.Now.Total()) // its list is not made yet
		}
		if l.ChecksEnded, l.Checks, err = rollouts.On(store).PreflightProgress(ctx, w); err != nil {
			return nil, err
		}
		if w.ProbeCheck != "" && (w.ProbeRun != uuid.Nil || w.BeforeRun != uuid.Nil) {
			list, err := rollouts.On(store).Targets(ctx, id, rollouts.TargetFilter{Wave: &w.Wave, Probed: true},
				controldb.Page[rollouts.TargetKey]{Top: probedTargets + 1})
			if err != nil {
				return nil, err
			}
			l.MoreProbed = len(list) > probedTargets
			for _, t := range list[:min(len(list), probedTargets)] {
				l.Probed = append(l.Probed, newProbed(t))
			}
		}
		d.Lanes = append(d.Lanes, l)
	}
	return d, nil
}

// probedTargets is the number of targets of a wave that the page shows with the values of its
// probes; REST and jobagent rollout targets list all.
const probedTargets = 20

// open opens the updates of a roll-out.
func open(text string) (live.Source, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid roll-out: %w", err)
	}
	return live.Fragments(name, func(ctx context.Context, store *controldb.Store) (any, error) {
		return read(ctx, store, id)
	}, "rollout-head", "rollout-waves"), nil
}

// one makes the page of a roll-out.
func one(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := uuid.Parse(r.Value("rollout"))
	if err != nil {
		return nil, rollouts.ErrNotFound
	}
	d, err := read(ctx, r.Store, id)
	if err != nil {
		return nil, err
	}
	path := r.Path("rollouts", id.String())
	var undo []page.Link
	if !d.Undoes() {
		undo = []page.Link{{Text: "Undo", Href: path + "/undo", Danger: true, Role: rest.RoleOperator, When: phaseEnded}}
	}
	return &page.View{
		Title: "Roll-out of " + d.JobName, Nav: "runs", Template: "rollout", Data: d, Topic: "rollout/" + id.String(), Phase: d.Phase(),
		Crumbs: []page.Link{
			{Text: "Runs", Href: r.Path("runs")}, {Text: "Roll-outs", Href: r.Path("rollouts")}, {Text: d.JobName, Href: r.Path("jobs", d.JobName)},
			{Text: id.String()[:8], Href: path},
		},
		Actions: append([]page.Link{
			{Text: "Approve", Href: path + "/approve", Role: rest.RoleOperator, When: phaseWaiting},
			{Text: "Reject", Href: path + "/reject", Role: rest.RoleOperator, When: phaseWaiting},
			{Text: "Retry the wave", Href: path + "/retry", Role: rest.RoleOperator, When: phaseStopped},
			{Text: "Resume", Href: path + "/resume", Role: rest.RoleOperator, When: phasePaused},
			{Text: "Pause", Href: path + "/pause", Role: rest.RoleOperator, When: phaseGoing},
			{Text: "Extend the bake", Href: path + "/extend", Role: rest.RoleOperator, When: phaseBaking},
			{Text: "Extend the deadline", Href: path + "/extend-deadline", Role: rest.RoleOperator, When: phaseTimed},
			{Text: "Skip a wave", Href: path + "/skip", Danger: true, Role: rest.RoleOperator, When: phaseActive},
			{Text: "Abort", Href: path + "/abort", Danger: true, Role: rest.RoleOperator, When: phaseActive},
		}, undo...),
		Equivalents: append(page.CLI("rollout", "show", id.String()),
			page.Query(`DECLARE @rollout UNIQUEIDENTIFIER = N'?';
SELECT * FROM jobs.rollouts WHERE job_execution_id = @rollout;
SELECT * FROM jobs.rollout_waves WHERE job_execution_id = @rollout ORDER BY wave;
SELECT * FROM jobs.rollout_targets WHERE job_execution_id = @rollout ORDER BY wave, place;`, id)),
	}, nil
}
