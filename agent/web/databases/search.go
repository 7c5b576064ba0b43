package databases

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/controldb/targetgroups"
)

const (
	// shownFound is the number of results of a kind.
	shownFound = 10
	// failureHours is the period whose errors are searched: a week.
	failureHours = 7 * 24
	// prefixRuns is the number of the latest runs among which the beginning of an ID is searched,
	// and prefixLength the least length of such a beginning.
	prefixRuns, prefixLength = 500, 4
)

// found is the data of the page of a search.
type found struct {
	Text      string
	Runs      []foundRun
	Jobs      []page.Link
	Databases []foundDatabase
	Groups    []page.Link
	Errors    []foundError
	// MoreJobs and MoreDatabases lead to lists with all results.
	MoreJobs, MoreDatabases string
}

// Any reports whether something was found.
func (f found) Any() bool {
	return len(f.Runs)+len(f.Jobs)+len(f.Databases)+len(f.Groups)+len(f.Errors) > 0
}

type foundRun struct {
	executions.Run
	Href string
}

type foundDatabase struct {
	executions.FoundTarget
	Href string
}

type foundError struct {
	summary.FailureGroup
	Href string
}

// showSearch searches jobs, databases, target groups, errors and runs.
func showSearch(ctx context.Context, r *page.Request) (*page.View, error) {
	f := found{Text: clip(strings.TrimSpace(r.Query("q")), 256)}
	v := &page.View{Title: "Search", Template: "search", Data: &f}
	if f.Text == "" {
		return v, nil
	}
	v.Equivalents = append(page.CLI("job", "list"), page.TSQL("jobs.sp_get_target_outcomes", page.Arg{Name: "search", Value: f.Text}, page.Arg{Name: "jobs", Value: 0}))
	for _, add := range []func(context.Context, *page.Request) error{f.addRuns, f.addJobs, f.addDatabases, f.addGroups, f.addErrors} {
		if err := add(ctx, r); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// addRuns finds a run by its ID, or the latest runs by the beginning of theirs.
func (f *found) addRuns(ctx context.Context, r *page.Request) error {
	text := strings.ToLower(f.Text)
	id, err := uuid.Parse(text)
	switch {
	case err == nil && len(text) == len(id.String()):
		run, err := executions.On(r.Store).Get(ctx, id)
		if err != nil {
			if errors.Is(err, dberror.ErrExecutionNotFound) {
				return nil
			}
			return err
		}
		f.Runs = append(f.Runs, foundRun{Run: run, Href: r.Path("runs", id.String())})
	case len(text) >= prefixLength && strings.Trim(text, "0123456789abcdef-") == "":
		list, err := executions.On(r.Store).List(ctx, executions.Query{System: true}, controldb.Page[executions.Key]{Top: prefixRuns})
		if err != nil {
			return err
		}
		for _, one := range list {
			if strings.HasPrefix(one.ID.String(), text) && len(f.Runs) < shownFound {
				f.Runs = append(f.Runs, foundRun{Run: one, Href: r.Path("runs", one.ID.String())})
			}
		}
	}
	return nil
}

// addJobs finds jobs by a part of their names.
func (f *found) addJobs(ctx context.Context, r *page.Request) error {
	list, err := catalog.On(r.Store).FindJobs(ctx, catalog.JobFilter{Search: f.Text}, controldb.Page[string]{Top: shownFound + 1})
	for i, j := range list {
		if i == shownFound {
			f.MoreJobs = page.With(r.Path("jobs"), "search", f.Text)
			break
		}
		f.Jobs = append(f.Jobs, page.Link{Text: j.Name, Href: r.Path("jobs", j.Name)})
	}
	return err
}

// addDatabases finds databases by a part of their names, or of their server's.
func (f *found) addDatabases(ctx context.Context, r *page.Request) error {
	o, err := executions.On(r.Store).TargetOutcomes(ctx, executions.TargetFilter{Search: f.Text, Top: shownFound})
	for _, t := range o.Targets {
		f.Databases = append(f.Databases, foundDatabase{FoundTarget: t, Href: r.Path("databases", t.ID.String())})
	}
	if o.NextServer != "" {
		f.MoreDatabases = page.With(r.Path("databases"), "search", f.Text)
	}
	return err
}

// addGroups finds target groups by a part of their names.
func (f *found) addGroups(ctx context.Context, r *page.Request) error {
	list, err := targetgroups.On(r.Store).Find(ctx, clip(f.Text, 128), controldb.Page[string]{Top: shownFound})
	for _, g := range list {
		f.Groups = append(f.Groups, page.Link{Text: g.Name, Href: r.Path("groups", g.Name)})
	}
	return err
}

// addErrors finds errors of a week by a part of their messages, or by their number.
func (f *found) addErrors(ctx context.Context, r *page.Request) error {
	all, err := summary.On(r.Store).Failures(ctx, failureHours)
	if err != nil {
		return err
	}
	for _, e := range all.Errors {
		if len(f.Errors) == shownFound {
			break
		}
		if strings.Contains(strings.ToLower(e.Message), strings.ToLower(f.Text)) || e.ErrorNumber != nil && strconv.Itoa(int(*e.ErrorNumber)) == f.Text {
			f.Errors = append(f.Errors, foundError{FailureGroup: e, Href: r.Path("runs", e.LastRun.String())})
		}
	}
	return nil
}
