package databases

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// shownDatabases and shownJobs are the rows and columns of a page of the matrix.
	shownDatabases, shownJobs = 50, 12
	// shownGroups is the number of target groups to choose from.
	shownGroups = 200
)

// matrix is the data of the matrix of databases and jobs.
type matrix struct {
	executions.TargetOutcomes
	Group, Search, Job string
	Lacking            bool
	Groups             []string
	Columns            []column
	Rows               []row
	// Next and First lead to other databases, NextJobs and FirstJobs to other jobs.
	Next, First, NextJobs, FirstJobs string
	// RunHref is the run that resolved the group; empty: none did.
	RunHref string
}

// column is a job of the matrix.
type column struct {
	executions.OutcomeJob
	Href string
	// Lacking is the list of the databases that lack this job.
	Lacking string
}

// row is a database of the matrix, with a cell for each job.
type row struct {
	executions.FoundTarget
	Href  string
	Cells []cell
}

// cell is what a job last did on a database; nil: it never ran there.
type cell struct {
	*executions.TargetOutcome
	Href string
}

// clip returns the beginning of what was typed: no name is longer.
func clip(text string, limit int) string { return wording.Head(text, limit, wording.UTF16) }

// showMatrix shows databases with what jobs last did on them.
func showMatrix(ctx context.Context, r *page.Request) (*page.View, error) {
	m := matrix{
		Group: clip(r.Query("group"), 128), Search: clip(r.Query("search"), 256), Job: clip(r.Query("job"), 128), Lacking: r.Query("lacking") != "",
	}
	f := executions.TargetFilter{
		Group: m.Group, Search: m.Search, JobSearch: m.Job, Lacking: m.Lacking, AfterJob: clip(r.Query("after_job"), 128), Top: shownDatabases, Jobs: shownJobs,
		After: executions.FoundTarget{Database: clip(r.Query("after_database"), 128), Server: clip(r.Query("after_server"), 256)},
	}
	var err error
	if m.TargetOutcomes, err = executions.On(r.Store).TargetOutcomes(ctx, f); err != nil {
		return nil, err
	}
	groups, err := targetgroups.On(r.Store).Find(ctx, "", controldb.Page[string]{Top: shownGroups})
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		m.Groups = append(m.Groups, g.Name)
	}
	m.arrange(r, f)
	v := &page.View{
		Title: "Databases", Nav: "databases", Template: "matrix", Data: &m,
		Equivalents: []page.Equivalent{page.TSQL("jobs.sp_get_target_outcomes", arguments(f)...)},
	}
	for _, c := range m.Columns {
		if m.Lacking && len(m.Rows) > 0 && strings.EqualFold(c.Name, m.Job) {
			v.Actions = []page.Link{{
				Text: "Start it where it lacks", Role: rest.RoleOperator,
				Href: page.With(r.Path("jobs", c.Name, "start"), "group", m.Group, "search", m.Search, "lacking", "1"),
			}}
		}
	}
	return v, nil
}

// arguments are those of the procedure, without its defaults.
func arguments(f executions.TargetFilter) []page.Arg {
	list := []page.Arg{}
	for _, a := range []struct{ name, value string }{
		{"target_group_name", f.Group}, {"search", f.Search}, {"job_search", f.JobSearch}, {"after_database", f.After.Database},
		{"after_server", f.After.Server}, {"after_job", f.AfterJob},
	} {
		if a.value != "" {
			list = append(list, page.Arg{Name: a.name, Value: a.value})
		}
	}
	if f.Lacking {
		list = append(list, page.Arg{Name: "lacking", Value: true})
	}
	return append(list, page.Arg{Name: "jobs", Value: f.Jobs})
}

// arrange makes rows and columns of the outcomes.
func (m *matrix) arrange(r *page.Request, f executions.TargetFilter) {
	lacking := ""
	if m.Lacking {
		lacking = "1"
	}
	at := func(afterDatabase, afterServer, afterJob string) string {
		return page.With(r.Path("databases"), "group", m.Group, "search", m.Search, "job", m.Job, "lacking", lacking,
			"after_database", afterDatabase, "after_server", afterServer, "after_job", afterJob)
	}
	places := map[uuid.UUID]int{}
	for i, j := range m.Jobs {
		places[j.ID] = i
		m.Columns = append(m.Columns, column{
			OutcomeJob: j, Href: r.Path("jobs", j.Name), Lacking: page.With(r.Path("databases"), "group", m.Group, "search", m.Search, "job", j.Name, "lacking", "1"),
		})
	}
	rows := map[uuid.UUID]int{}
	for i, t := range m.Targets {
		rows[t.ID] = i
		m.Rows = append(m.Rows, row{FoundTarget: t, Href: r.Path("databases", t.ID.String()), Cells: make([]cell, len(m.Jobs))})
	}
	for i := range m.Outcomes {
		o := &m.Outcomes[i]
		m.Rows[rows[o.Target]].Cells[places[o.Job]] = cell{TargetOutcome: o, Href: targetHref(r, o.Run, o.Target, o.Step)}
	}
	if m.NextServer != "" {
		m.Next = at(m.NextDatabase, m.NextServer, f.AfterJob)
	}
	if f.After.Server != "" {
		m.First = at("", "", f.AfterJob)
	}
	if m.NextJob != "" {
		m.NextJobs = at(f.After.Database, f.After.Server, m.NextJob)
	}
	if f.AfterJob != "" {
		m.FirstJobs = at(f.After.Database, f.After.Server, "")
	}
	if m.Run != uuid.Nil {
		m.RunHref = r.Path("runs", m.Run.String())
	}
}

// targetHref is the page of a step of a run on a database.
func targetHref(r *page.Request, run, target uuid.UUID, step int) string {
	return page.With(r.Path("runs", run.String(), "targets", target.String()), "step", strconv.Itoa(step))
}
