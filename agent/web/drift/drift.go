// Package drift has the pages about schemas that steps of type Drift have read: which databases are
// alike, what has changed when, and baselines.
package drift

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/action"
)

//go:embed *.html *.css
var files embed.FS

// Set returns the pages.
func Set() page.Set {
	return page.Set{Name: "drift", Files: files, Pages: []page.Page{
		{Path: "/drift", Role: rest.RoleReader, Handle: show},
		{Path: "/jobs/{job}/drift", Role: rest.RoleReader, Handle: show},
	}}
}

// Limits of a page: the schemas that it shows, the databases that it names of each, and changes.
const (
	shownSchemas   = 30
	shownDatabases = 20
	shownChanges   = 50
)

// data is what the pages show.
type data struct {
	// Job is the job whose databases are shown; empty: all databases.
	Job   string
	Steps []step
	// Schemas are grouped by their options.
	Compared    []compared
	MoreSchemas bool
	Changes     []database
	MoreChanges bool
	Baselines   []baseline
}

// step is a step of type Drift.
type step struct {
	Name, Group, GroupHref, Against string
	// TSQL is a command that prints how databases become like what the step compares them with;
	// empty: there is none.
	TSQL string
}

// compared are the schemas that were read with the same options.
type compared struct {
	Options string
	Schemas []schema
}

// Alike reports whether all databases have the same schema.
func (c compared) Alike() bool { return len(c.Schemas) == 1 }

// schema is a schema with the databases that have it.
type schema struct {
	drifts.SameSchema
	// Most says that no other schema has as many databases.
	Most bool
	// Baselines are the names of those that are this schema.
	Baselines []string
	// Says is what the job said about one of the databases last.
	Says  string
	Named []database
}

// More is the number of databases that are not named.
func (s schema) More() int { return s.Databases - len(s.Named) }

// database is a schema that a database had.
type database struct {
	drifts.SchemaState
	Href string
}

// baseline is a row of a baseline.
type baseline struct {
	drifts.Baseline
	DeleteHref string
}

// show makes the page of a job, or that of all databases.
func show(ctx context.Context, r *page.Request) (*page.View, error) {
	d := &data{}
	view := &page.View{
		Title: "Schemas", Nav: "databases", Template: "drift", Data: d, Crumbs: []page.Link{{Text: "Databases", Href: r.Path("databases")}},
		Equivalents: append(page.CLI("drift", "history", "--current"), page.Equivalent{
			Door: page.DoorTSQL, Text: "SELECT * FROM jobs.drift_history WHERE is_current = 1 ORDER BY database_name, server_name;",
		}),
	}
	if name := r.Value("job"); name != "" {
		job, err := catalog.On(r.Store).JobDetail(ctx, name)
		if err != nil {
			return nil, err
		}
		d.Job = job.Name
		if err := d.addSteps(ctx, r, job); err != nil {
			return nil, err
		}
		view.Title, view.Nav = "Schemas of "+job.Name, "jobs"
		view.Crumbs = []page.Link{{Text: "Jobs", Href: r.Path("jobs")}, {Text: job.Name, Href: r.Path("jobs", job.Name)}, {Text: "Schemas", Href: r.Path("jobs", job.Name, "drift")}}
	}
	if err := d.addBaselines(ctx, r); err != nil {
		return nil, err
	}
	if err := d.addSchemas(ctx, r); err != nil {
		return nil, err
	}
	return view, d.addChanges(ctx, r)
}

// addSteps adds the steps of the job that compare schemas.
func (d *data) addSteps(ctx context.Context, r *page.Request, job catalog.JobDetail) error {
	steps, err := catalog.On(r.Store).JobSteps(ctx, job.Name, &job.Version)
	for _, s := range steps {
		if !strings.EqualFold(s.CommandType, string(action.TypeDrift)) {
			continue
		}
		var what struct {
			Against string `json:"against"`
		}
		// A definition that cannot be read has no reference here; its attempts say why.
		if json.Unmarshal([]byte(s.Command), &what) != nil {
			what.Against = ""
		}
		one := step{Name: s.StepName, Group: s.TargetGroup, GroupHref: r.Path("groups", s.TargetGroup), Against: what.Against}
		if one.Against == action.AgainstMajority || strings.Contains(one.Against, "/") {
			one.TSQL = page.CLI("drift", "check", "--target-group", s.TargetGroup, "--against", what.Against, "--tsql")[0].Text
		}
		d.Steps = append(d.Steps, one)
	}
	return err
}

func (d *data) addBaselines(ctx context.Context, r *page.Request) error {
	list, err := drifts.On(r.Store).Baselines(ctx)
	for _, b := range list {
		one := baseline{Baseline: b}
		if r.May(rest.RoleAuthor) {
			one.DeleteHref = r.Path("drift-baselines", b.Name, "delete")
		}
		d.Baselines = append(d.Baselines, one)
	}
	return err
}

// addSchemas adds the schemas that databases have, with the names of some.
func (d *data) addSchemas(ctx context.Context, r *page.Request) error {
	list, err := drifts.On(r.Store).SameSchemas(ctx, drifts.Filter{Job: d.Job}, shownSchemas+1)
	if err != nil {
		return err
	}
	d.MoreSchemas = len(list) > shownSchemas
	for _, one := range list[:min(len(list), shownSchemas)] {
		s := schema{SameSchema: one}
		states, err := drifts.On(r.Store).History(ctx, drifts.Filter{
			Job: d.Job, Options: one.Options, Fingerprint: one.Fingerprint, Current: true, Limit: shownDatabases,
		})
		if err != nil {
			return err
		}
		for _, state := range states {
			s.Named = append(s.Named, database{state, r.Path("databases", state.Target.String())})
		}
		for _, b := range d.Baselines {
			if b.Options == one.Options && bytes.Equal(b.Fingerprint, one.Fingerprint) {
				s.Baselines = append(s.Baselines, b.Name)
			}
		}
		if s.Says, err = d.said(ctx, r, states); err != nil {
			return err
		}
		n := len(d.Compared)
		if n == 0 || d.Compared[n-1].Options != one.Options {
			d.Compared = append(d.Compared, compared{Options: one.Options})
			n++
		}
		c := &d.Compared[n-1]
		c.Schemas = append(c.Schemas, s)
	}
	for _, c := range d.Compared {
		c.Schemas[0].Most = len(c.Schemas) > 1 && c.Schemas[0].Databases > c.Schemas[1].Databases
	}
	return nil
}

// said returns what the job said last about the first of some databases that are alike: how they
// differ from what it compares them with.
func (d *data) said(ctx context.Context, r *page.Request, alike []drifts.SchemaState) (string, error) {
	if d.Job == "" || len(alike) == 0 {
		return "", nil
	}
	o, err := executions.On(r.Store).TargetOutcomes(ctx, executions.TargetFilter{Target: alike[0].Target, JobSearch: d.Job, Jobs: shownChanges, Top: 1})
	if err != nil {
		return "", err
	}
	for _, j := range o.Jobs {
		for _, one := range o.Outcomes {
			if j.Name == d.Job && one.Job == j.ID {
				return one.Message, nil
			}
		}
	}
	return "", nil
}

// addChanges adds the latest changes.
func (d *data) addChanges(ctx context.Context, r *page.Request) error {
	list, err := drifts.On(r.Store).LatestChanges(ctx, drifts.Filter{Job: d.Job}, shownChanges+1)
	if err != nil {
		return err
	}
	d.MoreChanges = len(list) > shownChanges
	for _, one := range list[:min(len(list), shownChanges)] {
		d.Changes = append(d.Changes, database{one, r.Path("databases", one.Target.String())})
	}
	return nil
}
