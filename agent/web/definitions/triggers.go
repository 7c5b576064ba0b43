package definitions

import (
	"context"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/triggers"
)

// triggerNode is a job in the graph of jobs, with those that start after its runs.
type triggerNode struct {
	Job, Href string
	// Trigger starts the job; nil: no trigger does, and the graph begins here.
	Trigger *triggers.Trigger
	Then    []*triggerNode
	// Above says that what it starts is shown at another place already.
	Above bool
}

// triggersData is what the page of triggers shows.
type triggersData struct{ Roots []*triggerNode }

// showTriggers shows which jobs start after runs of which others.
func showTriggers(ctx context.Context, r *page.Request) (*page.View, error) {
	list, err := triggers.On(r.Store).Triggers(ctx, "")
	if err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Jobs that start others", Nav: "jobs", Crumbs: []page.Link{{Text: "Jobs", Href: r.Path("jobs")}}, Template: "triggers",
		Data: triggersData{graphOfTriggers(list, func(job string) string { return r.Path("jobs", job) })},
		Equivalents: append(page.CLI("job", "graph"), page.Equivalent{
			Door: page.DoorTSQL, Text: "SELECT job_name, trigger_name, enabled, run_when, targets, upstream_jobs FROM jobs.job_triggers ORDER BY job_name, trigger_name;",
		}),
	}, nil
}

// graphOfTriggers arranges triggers as trees. A job that starts after several others is below each
// of them; what it starts is shown once. Procedures refuse circles.
func graphOfTriggers(list []triggers.Trigger, href func(job string) string) []*triggerNode {
	after, started := map[string][]*triggers.Trigger{}, map[string]bool{}
	for i := range list {
		t := &list[i]
		started[t.JobName] = true
		for _, upstream := range t.Upstreams {
			after[upstream] = append(after[upstream], t)
		}
	}
	drawn := map[string]bool{}
	var node func(job string, by *triggers.Trigger) *triggerNode
	node = func(job string, by *triggers.Trigger) *triggerNode {
		n := &triggerNode{Job: job, Href: href(job), Trigger: by, Above: drawn[job] && len(after[job]) > 0}
		if drawn[job] {
			return n
		}
		drawn[job] = true
		for _, t := range after[job] {
			n.Then = append(n.Then, node(t.JobName, t))
		}
		return n
	}
	var names []string
	for job := range after {
		if !started[job] {
			names = append(names, job)
		}
	}
	slices.SortFunc(names, strings.Compare)
	var roots []*triggerNode
	for _, job := range names {
		roots = append(roots, node(job, nil))
	}
	return roots
}
