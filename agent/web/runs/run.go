package runs

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs"
)

// runPage is the dot.Data of the page of a run. The blocks that are updated get Live.
type runPage struct {
	Live  runView
	Query query
	Rows  []rowView
	// Matches is the number of targets that match, and Databases that of databases among them.
	Matches, Databases int
	// NextHref leads to the next rows; empty: there are none.
	NextHref string
	States   []string
	Path     string // of the run
}

func runID(r *page.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(r.Value("run"))
	if err != nil {
		return uuid.Nil, fmt.Errorf("read the run %q: %w", r.Value("run"), dberror.ErrExecutionNotFound)
	}
	return id, nil
}

func (p *pages) run(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := runID(r)
	if err != nil {
		return nil, err
	}
	data := &runPage{Query: readQuery(r), Path: r.Base + "/runs/" + id.String()}
	err = p.watches.use(ctx, r.Base, id, r.Store, freshFor, func(w *watch) error {
		data.Live = w.view()
		data.Rows, data.Matches, data.Databases = w.page(data.Query, rowsShown)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, l := range lifecycles {
		data.States = append(data.States, string(l))
	}
	if shown := data.Query.After + len(data.Rows); shown < data.Matches {
		data.NextHref = data.Path + "?" + data.Query.next(shown).Encode() + "#targets"
	}
	v := data.Live
	job := r.Base + "/jobs/" + page.Segment(v.JobName)
	return &page.View{
		Title: page.RunTitle(v.JobName), Nav: "runs", Template: "run", Data: data,
		Crumbs:  []page.Link{{Text: "Runs", Href: r.Base + "/runs"}, {Text: v.JobName, Href: job}, {Text: id.String()[:8], Href: data.Path}},
		Actions: page.RunActions(data.Path), Phase: v.Phase(), Equivalents: equivalents(id, data.Query),
		Scripts: []string{"runs/grid.js"}, Topic: "run/" + id.String(),
	}, nil
}

// Phase is the phase on which the actions depend.
func (v runView) Phase() string {
	return page.RunPhase(v.Active, v.All.Retrying > 0 || v.resolvesAgain(), v.Lifecycle == jobs.Succeeded)
}

// resolvesAgain reports whether a step waits for another resolution of its target group.
func (v runView) resolvesAgain() bool {
	return slices.ContainsFunc(v.Steps, func(s stepView) bool { return s.Begun() && s.Lifecycle == jobs.WaitingForRetry })
}

// equivalents are the commands that show the same.
func equivalents(id uuid.UUID, q query) []page.Equivalent {
	where := " AND v.target_type IN (N'SqlDatabase', N'Endpoint')"
	if state := stateNamed(q.State); state != "" {
		where += " AND v.lifecycle = " + page.Literal(state)
	}
	if q.Text != "" {
		where += " AND CHARINDEX(" + page.Literal(q.Text) + ", v.last_message) > 0"
	}
	list := page.CLI("execution", "show", id.String())
	return append(list,
		page.TSQL("jobs.sp_get_run", page.Arg{Name: "job_execution_id", Value: id}),
		page.Equivalent{Door: page.DoorTSQL, Text: "SELECT v.step_id, v.target_server_name, v.target_database_name, v.lifecycle, v.last_message\n" +
			"FROM jobs.job_executions AS v\nWHERE v.job_execution_id = " + page.Literal(id) + where +
			"\nORDER BY v.step_id, v.target_server_name, v.target_database_name;"})
}

// stateNamed returns a lifecycle of targets; empty if there is none of this name.
func stateNamed(name string) string {
	for _, l := range lifecycles {
		if string(l) == name && l != "WaitingForCallback" {
			return name
		}
	}
	return ""
}

// readQuery reads the filters.
func readQuery(r *page.Request) query {
	after, err := strconv.Atoi(r.Query("after"))
	if err != nil || after < 0 {
		after = 0
	}
	return query{
		Text: strings.TrimSpace(r.Query("q")), State: r.Query("state"), Server: strings.TrimSpace(r.Query("server")), Step: r.Query("step"),
		Error: r.Query("error"), After: after,
	}
}

// next returns the query of the page after some rows.
func (q query) next(after int) url.Values {
	v := url.Values{"after": {strconv.Itoa(after)}}
	for name, value := range map[string]string{"q": q.Text, "state": q.State, "server": q.Server, "step": q.Step, "error": q.Error} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// cells answers the script of the grid: all targets and cells, or what has changed since a version
// that the script has.
func (p *pages) cells(ctx context.Context, r *page.Request) (*page.View, error) {
	id, err := runID(r)
	if err != nil {
		return nil, err
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(r.Query(name), 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	var body []byte
	err = p.watches.use(ctx, r.Base, id, r.Store, freshFor, func(w *watch) error {
		key := answerKey{since: number("since"), targets: int(number("targets")), texts: int(number("texts"))}
		if number("epoch") != w.epoch {
			key = answerKey{}
		}
		body = w.answer(key)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &page.View{Write: func(w http.ResponseWriter) { writeJSON(w, r.HTTP, body) }}, nil
}
