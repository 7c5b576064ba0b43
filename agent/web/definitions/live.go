package definitions

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
)

// setName is the name of the set.
const setName = "definitions"

// Blocks that are updated live: what runs, agents and operators change. Scripts, members and
// versions are read once.
var (
	jobsBlocks      = []string{"jobs-list"}
	jobBlocks       = []string{"job-last", "job-next", "job-duration", "job-runs", "job-schedules", "job-triggers"}
	schedulesBlocks = []string{"schedules-list"}
	scheduleBlocks  = []string{"schedule-words", "schedule-notices", "schedule-cards", "schedule-calendar", "schedule-next", "schedule-past"}
	groupsBlocks    = []string{"groups-list"}
	groupBlocks     = []string{"group-resolved", "group-targets", "group-failures"}
)

// topics are the live updates. A hub reads ten times more rarely while nothing changes.
var topics = []live.Topic{
	{Pattern: "jobs/{id}", Interval: 3 * time.Second, Open: open(jobsBlocks, func() reading { return reads(readJobs) })},
	{Pattern: "job/{id}", Interval: 3 * time.Second, Open: open(jobBlocks, func() reading { return reads(readJob) })},
	{Pattern: "schedules/{id}", Interval: 5 * time.Second, Open: open(schedulesBlocks, func() reading { return reads(readSchedules) })},
	{Pattern: "schedule/{id}", Interval: 5 * time.Second, Open: open(scheduleBlocks, func() reading { return new(scheduleReader).read })},
	{Pattern: "groups/{id}", Interval: 10 * time.Second, Open: open(groupsBlocks, func() reading { return reads(readGroups) })},
	{Pattern: "group/{id}", Interval: 5 * time.Second, Open: open(groupBlocks, func() reading { return new(groupReader).read })},
}

// reading reads the data of a page for live updates.
type reading func(ctx context.Context, r *page.Request) (any, error)

// reads returns a function that keeps nothing between reads.
func reads[T any](read func(context.Context, *page.Request) (T, error)) reading {
	return func(ctx context.Context, r *page.Request) (any, error) { return read(ctx, r) }
}

// parameters are the values of paths and queries on which pages depend. A topic has these only.
var parameters = []string{"job", "schedule", "group", "search", "show", "state", "after", "month"}

// topic names the live updates of a page: what the page was asked for, in one segment.
func topic(kind string, r *page.Request) string {
	asked := map[string]string{}
	for _, name := range parameters {
		if v := r.Value(name); v != "" {
			asked[name] = v
		} else if v := r.Query(name); v != "" {
			asked[name] = v
		}
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return "" // texts can be encoded
	}
	return kind + "/" + base64.RawURLEncoding.EncodeToString(text)
}

// open returns a function that opens the live updates of a page.
func open(blocks []string, begin func() reading) func(id string) (live.Source, error) {
	return func(id string) (live.Source, error) {
		text, err := base64.RawURLEncoding.DecodeString(id)
		if err != nil {
			return nil, fmt.Errorf("invalid topic: %w", err)
		}
		var asked map[string]string
		if err := json.Unmarshal(text, &asked); err != nil {
			return nil, fmt.Errorf("invalid topic: %w", err)
		}
		q := url.Values{}
		for name, v := range asked {
			q.Set(name, v)
		}
		read := begin()
		return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
			r := &http.Request{URL: &url.URL{RawQuery: q.Encode()}}
			for _, name := range []string{"job", "schedule", "group"} {
				r.SetPathValue(name, "~"+q.Get(name)) // see page.Request.Value
			}
			return read(ctx, &page.Request{HTTP: r, Store: store, Role: rest.RoleReader, Base: live.Base(ctx), Now: time.Now()})
		}, blocks...), nil
	}
}

// clock is embedded by the data of pages that show ages.
type clock struct {
	now time.Time
	// ages is true where the server writes ages: not in live updates, because they would change
	// with each read. The base script writes them there.
	ages bool
}

// at returns the clock of a request: with ages, if it comes from a person.
func at(r *page.Request) clock { return clock{now: r.Now, ages: r.HTTP.Method != ""} }

// Ago shows an instant as an age or a delay.
func (c clock) Ago(t time.Time) template.HTML {
	if c.ages {
		return page.When(c.now, t)
	}
	return page.When(t, t)
}
