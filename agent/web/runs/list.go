package runs

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// listTop is the number of runs of a page.
const listTop = 50

// searchTime is the time in which runs with a lifecycle are looked for, unless the filter says from
// when: a rare lifecycle has no index, and the history may be long.
const searchTime = 90 * 24 * time.Hour

// listView is what the list of runs shows; the block that is updated live gets it as dot.Data.
type listView struct {
	Filter listFilter
	Runs   []listedRun
	// NextQuery is the query of the next page; empty: there is none.
	NextQuery string
	Invalid   string // says which filter could not be read
	States    []string
	Since     time.Time // zero, or from when runs were looked for
}

// listedRun is a run with the numbers of its targets, and how it came to be.
type listedRun struct{ executions.Run }

// Succeeded is the number of targets that did not fail, of a run that has ended.
func (r listedRun) Succeeded() int { return r.Targets - r.NotSucceeded }

// ToleratedText says what failed in steps that succeeded with it; empty: nothing, or the run
// failed.
func (r listedRun) ToleratedText() string {
	return jobs.ToleratedBy(r.Lifecycle, r.Tolerated, 0)
}

// Origin is the ID of the run that it repeats; empty: none.
func (r listedRun) Origin() string {
	if r.RerunOf == uuid.Nil {
		return ""
	}
	return r.RerunOf.String()
}

// Short is the beginning of the ID.
func (r listedRun) Short() string { return r.ID.String()[:8] }

// Message is the run's message without what only repeats the state.
func (r listedRun) Message() string {
	if r.Lifecycle == jobs.Succeeded {
		return ""
	}
	return strings.TrimPrefix(r.LastMessage, "Job execution failed. ")
}

// listFilter restricts the list. From and Before are dates or instants, in UTC.
type listFilter struct{ Job, State, From, Before, After string }

// runStates are the states to filter by.
var runStates = []string{"Active", "Succeeded", "SucceededWithSkipped", "Failed", "TimedOut", "Canceled", "Skipped"}

// readFilter reads a filter of a query.
func readFilter(q url.Values) listFilter {
	return listFilter{
		Job: strings.TrimSpace(q.Get("job")), State: q.Get("state"), From: strings.TrimSpace(q.Get("from")),
		Before: strings.TrimSpace(q.Get("before")), After: q.Get("after"),
	}
}

// query returns the filter as a query, with the place to continue after.
func (f listFilter) query(after string) string {
	v := url.Values{}
	for name, value := range map[string]string{"job": f.Job, "state": f.State, "from": f.From, "before": f.Before, "after": after} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v.Encode()
}

// Any reports whether runs are left out.
func (f listFilter) Any() bool { return f.Job+f.State+f.From+f.Before != "" }

// read reads the runs of a filter.
func (f listFilter) read(ctx context.Context, store *controldb.Store) (*listView, error) {
	v := &listView{Filter: f, States: runStates}
	filter := executions.Query{JobName: f.Job, Totals: true}
	var err error
	if filter.CreatedFrom, err = instantOf(f.From); err != nil {
		v.Invalid = "from"
	}
	if filter.CreatedBefore, err = instantOf(f.Before); err != nil {
		v.Invalid = "before"
	}
	switch f.State {
	case "":
	case "Active":
		active := true
		filter.Active = &active
	default:
		filter.Lifecycles = []jobs.Lifecycle{jobs.Lifecycle(f.State)}
		if f.From == "" && f.Job == "" {
			v.Since = time.Now().Add(-searchTime).UTC().Truncate(24 * time.Hour)
			filter.CreatedFrom = v.Since
		}
	}
	after := page.After[executions.Key](f.After)
	runs, next, err := controldb.ReadPage(after, listTop, func(p controldb.Page[executions.Key]) ([]executions.Run, error) {
		return executions.On(store).List(ctx, filter, p)
	}, executions.Run.Key)
	if err != nil {
		return nil, err
	}
	if next != nil {
		v.NextQuery = f.query(controldb.Token(*next))
	}
	for _, r := range runs {
		v.Runs = append(v.Runs, listedRun{r})
	}
	return v, nil
}

// instantOf reads a date or an instant, in UTC if it says nothing else; empty: zero.
func instantOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: want 2006-01-02 or 2006-01-02T15:04", text)
}

// list makes the list of runs.
func list(ctx context.Context, r *page.Request) (*page.View, error) {
	f := readFilter(r.HTTP.URL.Query())
	data, err := f.read(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	v := &page.View{Title: "Runs", Nav: "runs", Template: "runs", Data: data, Equivalents: listEquivalents(f),
		Actions: []page.Link{{Text: "Roll-outs", Href: r.Path("rollouts")}}}
	if f.After == "" { // older pages stay as they are
		v.Topic = "runs/" + base64.RawURLEncoding.EncodeToString([]byte("?"+f.query("")))
	}
	return v, nil
}

// openList opens the updates of the first page of a filter.
func openList(id string) (live.Source, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return nil, fmt.Errorf("invalid filter: %w", err)
	}
	q, err := url.ParseQuery(strings.TrimPrefix(string(text), "?"))
	if err != nil {
		return nil, fmt.Errorf("invalid filter: %w", err)
	}
	f := readFilter(q)
	f.After = ""
	return live.Fragments("runs", func(ctx context.Context, store *controldb.Store) (any, error) { return f.read(ctx, store) }, "runs-list"), nil
}

// listEquivalents are the commands that list the same.
func listEquivalents(f listFilter) []page.Equivalent {
	args := []string{"execution", "list"}
	where := "v.step_id IS NULL"
	if f.Job != "" {
		args = append(args, "--job", f.Job)
		where += "\n    AND v.job_name = " + page.Literal(f.Job)
	}
	switch f.State {
	case "":
	case "Active":
		args = append(args, "--active")
		where += "\n    AND v.is_active = 1"
	default:
		args = append(args, "--lifecycle", f.State)
		where += "\n    AND v.lifecycle = " + page.Literal(f.State)
	}
	if t, err := instantOf(f.From); err == nil && !t.IsZero() {
		where += "\n    AND v.create_time >= " + page.Literal(t)
	}
	if t, err := instantOf(f.Before); err == nil && !t.IsZero() {
		where += "\n    AND v.create_time < " + page.Literal(t)
	}
	return append(page.CLI(args...), page.Equivalent{Door: page.DoorTSQL, Text: "SELECT TOP (50) v.job_execution_id, v.job_name, v.lifecycle, v.create_time, v.end_time\n" +
		"FROM jobs.job_executions AS v\nWHERE " + where + "\nORDER BY v.create_time DESC, v.job_execution_id;"})
}
