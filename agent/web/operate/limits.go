package operate

import (
	"context"
	"net/url"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs/model"
)

const topicLimits = "limits"

var limitBlocks = []string{"limits-list", "limits-steps"}

// maxUses is the number of objects and jobs that the page shows.
const maxUses = 500

// limitsData is what the page of limits shows.
type limitsData struct {
	Limits []limitData
	// Steps are the uses of max_parallelism.
	Steps []summary.LimitedJob
	// Cut says that there are more uses than the page shows.
	Cut bool
}

// limitData is a limit with the objects that it counts now.
type limitData struct {
	summary.LimitWithID
	Uses []summary.LimitedJob
}

func limitsPage(ctx context.Context, r *page.Request) (*page.View, error) {
	d, err := readLimits(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Limits", Nav: "limits", Template: "limits", Data: d, Topic: topicLimits,
		Actions: []page.Link{{Text: "New limit", Href: r.Path("new", "limit"), Role: rest.RoleAuthor}},
		Equivalents: append(append(page.CLI("limit", "list"), page.CLI("limit", "set", "Server", "sql1.example.com", "10")...),
			page.TSQL("jobs.sp_get_limits"),
			page.TSQL("jobs.sp_set_limit", page.Arg{Name: "scope", Value: "Server"}, page.Arg{Name: "name", Value: "sql1.example.com"},
				page.Arg{Name: "max_concurrent_targets", Value: 10})),
	}, nil
}

// readLimits reads the limits and what uses them.
func readLimits(ctx context.Context, store *controldb.Store) (*limitsData, error) {
	u, err := summary.On(store).LimitUse(ctx, maxUses)
	if err != nil {
		return nil, err
	}
	d := &limitsData{Cut: len(u.Uses) == maxUses}
	at := map[int]int{}
	for i, l := range u.Limits {
		d.Limits = append(d.Limits, limitData{LimitWithID: l})
		at[l.ID] = i
	}
	for _, use := range u.Uses {
		if use.LimitID == nil {
			d.Steps = append(d.Steps, use)
		} else if i, ok := at[*use.LimitID]; ok {
			d.Limits[i].Uses = append(d.Limits[i].Uses, use)
		}
	}
	return d, nil
}

// Edit is the path of the form of the limit.
func (l limitData) Edit(r *page.Request) string {
	path := r.Path("limits", l.Scope, l.Name, "edit")
	if l.Server != "" {
		path += "?" + url.Values{"server": {l.Server}}.Encode()
	}
	return path
}

// Each reports whether the limit counts several objects separately.
func (l limitData) Each() bool {
	return l.Name == "*" && l.Scope != model.LimitAgent || l.Scope == model.LimitElasticPool && l.Server == ""
}

// Full reports whether the limit, or that of one of its objects, is used up.
func (l limitData) Full() bool {
	for _, u := range l.Uses {
		if u.Full {
			return true
		}
	}
	return !l.Each() && l.Running >= l.Max
}

// What says in words what the limit counts.
func (l limitData) What() string {
	name := l.Scope
	if l.Scope == model.LimitElasticPool {
		name = "Elastic pool"
	}
	switch {
	case l.Scope == model.LimitAgent && l.Name == "*":
		return "All targets of this control database (capacity of the job agent)"
	case l.Name == "*":
		return "Each " + strings.ToLower(name) + " without a limit of its own"
	}
	return name
}
