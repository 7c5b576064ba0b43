// Package overview has the first page of a control database: whether agents work, what runs, what
// failed, and what is due next.
package overview

import (
	"context"
	"embed"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/controldb/timetable"
)

//go:embed *.html *.css
var files embed.FS

// Sizes of the page. Each bounds a list, so that the page stays small at any number of jobs.
const (
	top          = 12 // rows of a list
	failureHours = 24
	stripDays    = 7
	stripJobs    = 30
	stripRuns    = 30
	maxFailures  = 12 // groups of errors
	maxAlerts    = 5
)

// The times between two reads of what costs more, and changes less, than the state of now.
const (
	slowly = 15 * time.Second
	// soon applies when a run has begun or ended.
	soon = 3 * time.Second
)

// topic is the name of the live updates.
const topic = "overview"

// blocks are the templates that are updated live.
var blocks = []string{
	"overview-alarms", "overview-figures", "overview-runs", "overview-attention", "overview-failures", "overview-due", "overview-strips",
}

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: "overview", Files: files,
		Pages: []page.Page{{Path: "/", Role: rest.RoleReader, Handle: handle}},
		Topics: []live.Topic{{Pattern: topic, Interval: 2 * time.Second, Open: func(string) (live.Source, error) {
			r := &reader{now: time.Now}
			return live.Fragments("overview", func(ctx context.Context, store *controldb.Store) (any, error) {
				return r.read(ctx, store)
			}, blocks...), nil
		}}},
	}
}

func handle(ctx context.Context, r *page.Request) (*page.View, error) {
	one := reader{now: time.Now}
	d, err := one.read(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	d.ages = true
	if r.May(rest.RoleOperator) { // names and activity of agents are not for readers
		if d.Agents, err = fleet.On(r.Store).List(ctx); err != nil {
			return nil, err
		}
		d.Agents = liveFirst(d.Agents)
	}
	view := &page.View{
		Title: "Overview", Nav: "overview", Template: "overview", Data: d, Topic: topic,
		Equivalents: append(append(page.CLI("execution", "list", "--active"), page.CLI("agent", "status")...),
			page.TSQL("jobs.sp_get_overview"), page.TSQL("jobs.sp_get_failures", page.Arg{Name: "hours", Value: failureHours}),
			page.TSQL("jobs.sp_get_recent_runs", page.Arg{Name: "days", Value: stripDays})),
	}
	if d.O.Jobs == 0 {
		view.Equivalents = nil // the page itself shows how to begin
	}
	return view, nil
}

// liveFirst returns the live agents, and as many others that had a term lately that there are five
// at most.
func liveFirst(list []fleet.Agent) []fleet.Agent {
	var alive, gone []fleet.Agent
	for _, a := range list {
		if a.Live {
			alive = append(alive, a)
		} else {
			gone = append(gone, a)
		}
	}
	return append(alive, gone[:min(len(gone), max(5-len(alive), 0))]...)
}

// reader reads the page's data. It keeps what costs more for a while.
type reader struct {
	now      func() time.Time
	readAt   time.Time
	active   map[string]bool // the runs at that time
	failures *failures
	strips   *strips
	words    map[int64]string // of due schedules, by id
}

// read returns the data of now.
func (r *reader) read(ctx context.Context, store *controldb.Store) (*data, error) {
	o, err := summary.On(store).Overview(ctx, top)
	if err != nil {
		return nil, err
	}
	d := &data{O: o}
	if d.Alerts, err = alerting.On(store).Alerts(ctx, alerting.Filter{
		States: []alerting.State{alerting.AlertOpen, alerting.AlertAcknowledged}, Limit: maxAlerts + 1,
	}); err != nil {
		return nil, err
	}
	if err := r.readSlow(ctx, store, o); err != nil {
		return nil, err
	}
	d.Failures, d.Strips, d.words = r.failures, r.strips, r.words
	return d, nil
}

// readSlow reads failures and strips, if they may have changed.
func (r *reader) readSlow(ctx context.Context, store *controldb.Store, o summary.Overview) error {
	active := make(map[string]bool, len(o.Runs))
	same := len(o.Runs) == len(r.active)
	for _, run := range o.Runs {
		active[run.ID.String()] = true
		same = same && r.active[run.ID.String()]
	}
	age := r.now().Sub(r.readAt)
	if r.failures != nil && (age < soon || same && age < slowly) {
		return nil
	}
	f, err := summary.On(store).Failures(ctx, failureHours)
	if err != nil {
		return err
	}
	runs, err := summary.On(store).RecentRuns(ctx, stripDays, stripJobs, stripRuns)
	if err != nil {
		return err
	}
	due, err := timetable.On(store).Find(ctx, timetable.Search{State: timetable.Due}, controldb.Page[timetable.Key]{Top: top})
	if err != nil {
		return err
	}
	r.words = make(map[int64]string, len(due))
	for _, s := range due {
		r.words[int64(s.ID)] = s.Words()
	}
	r.failures, r.strips = groupFailures(f), newStrips(runs)
	r.readAt, r.active = r.now(), active
	return nil
}
