package databases

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/targetgroups"
)

const (
	// shownRuns is the number of runs of a page, and listedJobs that of jobs on the page of a
	// database.
	shownRuns, listedJobs = 30, 500
	// shownSchemas is the number of schemas that the database had.
	shownSchemas = 20
)

// database is the data of the page of a database.
type database struct {
	executions.FoundTarget
	Now time.Time
	// Pause is nil if the database is not paused. Windows are the names of those that apply to it.
	Pause   *holds.Pause
	Windows []string
	// Schemas are those that steps of type Drift have read, the newest first.
	Schemas []drifts.SchemaState
	Jobs    []jobOnDatabase
	Job     string // the runs are those of this job; empty: all
	Runs    []runOnDatabase
	Next    string
	First   string
	Matrix  string // the row of the database
}

// jobOnDatabase is what a job last did on the database.
type jobOnDatabase struct {
	executions.TargetOutcome
	Name, Href, JobHref, SuccessHref, RunsHref string
}

// runOnDatabase is a run with its steps on the database.
type runOnDatabase struct {
	executions.RunOnTarget
	Href, JobHref string
	Steps         []stepOnDatabase
}

// stepOnDatabase is a step of a run on the database.
type stepOnDatabase struct {
	executions.RunOnTarget
	Href string
}

// Took is the time from the first step's begin to the last one's end on the database; nil: it is
// not over, or did not begin.
func (d runOnDatabase) Took() *time.Duration {
	var first, last time.Time
	for _, s := range d.Steps {
		if s.Active {
			return nil
		}
		if !s.StartTime.IsZero() && (first.IsZero() || s.StartTime.Before(first)) {
			first = s.StartTime
		}
		end := s.EndTime
		if s.DurationMS != nil {
			end = s.StartTime.Add(time.Duration(*s.DurationMS) * time.Millisecond)
		}
		if end.After(last) {
			last = end
		}
	}
	if first.IsZero() || last.Before(first) {
		return nil
	}
	took := last.Sub(first)
	return &took
}

// Failed is the first step that failed; nil: none did.
func (d runOnDatabase) Failed() *stepOnDatabase {
	for i := range d.Steps {
		if l := d.Steps[i].Lifecycle; l.IsFailure() || d.Steps[i].Active && d.Steps[i].Message != "" {
			return &d.Steps[i]
		}
	}
	return nil
}

// showDatabase shows a database: what each job last did there, and the newest runs.
func showDatabase(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := uuid.Parse(r.Value("target"))
	if err != nil {
		id = uuid.Nil
	}
	o, err := executions.On(r.Store).TargetOutcomes(ctx, executions.TargetFilter{Target: id, Jobs: listedJobs, Top: 1})
	if err != nil {
		return nil, err
	}
	if id == uuid.Nil || len(o.Targets) == 0 {
		return nil, &rest.Error{
			Status: 404, Code: rest.CodeUnknownPath, Message: "No run that is kept has this database among its targets.",
		}
	}
	d := database{FoundTarget: o.Targets[0], Now: o.Now, Job: clip(r.Query("job"), 128)}
	name := d.Database
	if name == "" {
		name = d.Server
	}
	d.Matrix = page.With(r.Path("databases"), "search", name)
	if err := d.addHolds(ctx, r); err != nil {
		return nil, err
	}
	if d.Schemas, err = drifts.On(r.Store).History(ctx, drifts.Filter{Target: id, Limit: shownSchemas}); err != nil {
		return nil, err
	}
	d.addJobs(r, o)
	before, err := uuid.Parse(r.Query("before"))
	if err != nil {
		before = uuid.Nil
	}
	if err := d.addRuns(ctx, r, before); err != nil {
		return nil, err
	}
	args := []string{"execution", "list", "--target", d.Server + "/" + d.Database}
	tsql := []page.Arg{{Name: "target_id", Value: id}}
	if d.Job != "" {
		args = append(args, "--job", d.Job)
		tsql = append(tsql, page.Arg{Name: "job_name", Value: d.Job})
	}
	var actions []page.Link
	if d.Database != "" { // else an endpoint
		actions = []page.Link{{Text: "Pause", Href: r.Path("databases", id.String(), "pause"), Role: rest.RoleOperator}}
	}
	if d.Pause != nil {
		actions = append(actions, page.Link{Text: "Resume", Href: r.Path("databases", id.String(), "resume"), Role: rest.RoleOperator})
	}
	if len(d.Schemas) > 0 {
		actions = append(actions, page.Link{Text: "Set a baseline", Href: r.Path("databases", id.String(), "baseline"), Role: rest.RoleAuthor})
	}
	return &page.View{
		Title: name, Nav: "databases", Actions: actions, Crumbs: []page.Link{{Text: "Databases", Href: r.Path("databases")}}, Template: "database", Data: &d,
		Equivalents: append(page.CLI(args...), page.TSQL("jobs.sp_get_target_outcomes", page.Arg{Name: "target_id", Value: id}), page.TSQL("jobs.sp_get_target_runs", tsql...)),
	}, nil
}

// addHolds adds the pause and the windows of the database.
func (d *database) addHolds(ctx context.Context, r *page.Request) error {
	if d.Database == "" {
		return nil
	}
	pause, err := holds.On(r.Store).Pause(ctx, d.ID)
	switch {
	case err == nil:
		d.Pause = &pause
	case !errors.Is(err, dberror.ErrTargetNotPaused):
		return err
	}
	known, err := targetgroups.On(r.Store).KnownTargets(ctx, targetgroups.KnownTargetFilter{ID: d.ID, Windows: true, Top: 1})
	if err != nil || len(known) == 0 { // agents register a database some seconds after its first run
		return err
	}
	d.Windows, err = known[0].WindowNames()
	return err
}

// addJobs adds what each job last did.
func (d *database) addJobs(r *page.Request, o executions.TargetOutcomes) {
	of := map[uuid.UUID]executions.TargetOutcome{}
	for _, one := range o.Outcomes {
		of[one.Job] = one
	}
	self := r.Path("databases", d.ID.String())
	for _, j := range o.Jobs {
		one, ran := of[j.ID]
		if !ran { // its list is being written, or its runs are being purged
			continue
		}
		row := jobOnDatabase{
			TargetOutcome: one, Name: j.Name, Href: targetHref(r, one.Run, one.Target, one.Step), JobHref: r.Path("jobs", j.Name),
			RunsHref: page.With(self, "job", j.Name) + "#runs",
		}
		if one.LastSuccess != uuid.Nil {
			row.SuccessHref = r.Path("runs", one.LastSuccess.String(), "targets", one.Target.String())
		}
		d.Jobs = append(d.Jobs, row)
	}
}

// addRuns adds the newest runs, those before a run, if it is not the zero value.
func (d *database) addRuns(ctx context.Context, r *page.Request, before uuid.UUID) error {
	list, err := executions.On(r.Store).OnTarget(ctx, d.ID, d.Job, before, shownRuns+1)
	if err != nil {
		return err
	}
	for _, one := range list {
		step := stepOnDatabase{RunOnTarget: one, Href: targetHref(r, one.Run, d.ID, one.StepID)}
		if n := len(d.Runs); n > 0 && d.Runs[n-1].Run == one.Run {
			d.Runs[n-1].Steps = append(d.Runs[n-1].Steps, step)
			continue
		}
		d.Runs = append(d.Runs, runOnDatabase{
			RunOnTarget: one, Href: r.Path("runs", one.Run.String()), JobHref: r.Path("jobs", one.JobName), Steps: []stepOnDatabase{step},
		})
	}
	self := r.Path("databases", d.ID.String())
	if len(d.Runs) > shownRuns {
		d.Runs = d.Runs[:shownRuns]
		d.Next = page.With(self, "job", d.Job, "before", d.Runs[shownRuns-1].Run.String()) + "#runs"
	}
	if before != uuid.Nil {
		d.First = page.With(self, "job", d.Job) + "#runs"
	}
	return nil
}
