package definitions

import (
	"context"
	"slices"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
)

// groupRow is a row of the list of target groups.
type groupRow struct {
	targetgroups.Detail
	Href               string
	Includes, Excludes int
	Jobs               int
}

// groupsData is the data of the list of target groups.
type groupsData struct {
	Search      string
	Rows        []groupRow
	Next, First string
}

// listGroups shows the target groups by name.
func listGroups(ctx context.Context, r *page.Request) (*page.View, error) {
	d, err := readGroups(ctx, r)
	if err != nil {
		return nil, err
	}
	return &page.View{
		Title: "Target groups", Nav: "groups", Template: "groups", Data: d, Topic: topic("groups", r),
		Actions:     []page.Link{{Text: "New target group", Href: r.Path("new", "group"), Role: rest.RoleAuthor}},
		Equivalents: append(page.CLI("target-group", "list"), page.Query("SELECT target_group_name FROM jobs.target_groups ORDER BY target_group_name;")),
	}, nil
}

// readGroups reads a page of the list.
func readGroups(ctx context.Context, r *page.Request) (groupsData, error) {
	d := groupsData{Search: r.Query("search")}
	after := page.After[string](r.Query("after"))
	list, next, err := controldb.ReadPage(after, listSize, func(p controldb.Page[string]) ([]targetgroups.Detail, error) {
		return targetgroups.On(r.Store).Find(ctx, d.Search, p)
	}, func(g targetgroups.Detail) string { return g.Name })
	if err != nil {
		return d, err
	}
	names := make([]string, 0, len(list))
	for _, g := range list {
		names = append(names, g.Name)
	}
	uses, err := targetgroups.On(r.Store).Uses(ctx, names, 0)
	if err != nil {
		return d, err
	}
	jobs := map[string]map[string]bool{}
	for _, u := range uses {
		if jobs[u.Group] == nil {
			jobs[u.Group] = map[string]bool{}
		}
		jobs[u.Group][u.JobName] = true
	}
	for _, g := range list {
		row := groupRow{Detail: g, Href: r.Path("groups", g.Name), Jobs: len(jobs[g.Name])}
		for _, m := range g.Members {
			if m.Membership == targets.Exclude {
				row.Excludes++
			} else {
				row.Includes++
			}
		}
		d.Rows = append(d.Rows, row)
	}
	if next != nil {
		d.Next = page.With(r.Path("groups"), "search", d.Search, "after", controldb.Token(*next))
	}
	if after != nil {
		d.First = page.With(r.Path("groups"), "search", d.Search)
	}
	return d, nil
}

// resolution is what a run made of a group.
type resolution struct {
	targetgroups.Resolution
	Href, JobHref string
}

// useRow is a step that uses a group.
type useRow struct {
	targetgroups.Use
	Href string
}

// groupData is the data of the page of a target group.
type groupData struct {
	Group targetgroups.Detail
	// Members are the first members.
	Members []targets.Member
	// Last is the last resolution; nil: no run that is kept has resolved the group.
	Last *resolution
	// Before is the resolution of the run before; nil: there is none.
	Before        *resolution
	Search        string
	Count         int
	Targets       []targetRow
	Next, First   string
	Added, Gone   []targetgroups.ResolvedTarget
	AddedN, GoneN int
	Uses          []useRow
	Failed        []targetgroups.FailedTarget
	Runs          int // of which failures are counted
	// Outcomes is the matrix of these databases and the jobs that use the group.
	Outcomes string
	clock
}

// MoreMembers returns how many members the page leaves out.
func (d groupData) MoreMembers() int { return len(d.Group.Members) - len(d.Members) }

// More returns how many of n targets a list leaves out.
func (d groupData) More(n int, list []targetgroups.ResolvedTarget) int { return n - len(list) }

// targetRow is a target of the last resolution.
type targetRow struct {
	targetgroups.ResolvedTarget
	Added bool // it was not in the list before
}

const (
	// shownTargets is the number of targets on the page of a group, and shownDifferences that of
	// targets that were added, and of those that vanished.
	shownTargets, shownDifferences = 100, 200
	// shownMembers is the number of members on the page of a group.
	shownMembers = 300
	// shownResolutions is the number of resolutions that are read.
	shownResolutions = 30
	// failureRuns is the number of resolutions whose failures are counted.
	failureRuns = 5
)

// showGroup shows a target group: its members, and the targets that runs made of it.
func showGroup(ctx context.Context, r *page.Request) (*page.View, error) {
	group, err := targetgroups.On(r.Store).Get(ctx, r.Value("group"))
	if err != nil {
		return nil, err
	}
	d := groupData{Group: group, Search: r.Query("search"), clock: at(r)}
	d.Members = group.Members[:min(len(group.Members), shownMembers)]
	d.Outcomes = page.With(r.Path("databases"), "group", group.Name)
	uses, err := targetgroups.On(r.Store).Uses(ctx, []string{group.Name}, 500)
	if err != nil {
		return nil, err
	}
	for _, u := range uses {
		d.Uses = append(d.Uses, useRow{Use: u, Href: r.Path("jobs", u.JobName)})
	}
	lists, err := targetgroups.On(r.Store).Resolutions(ctx, group.ID, shownResolutions)
	if err != nil {
		return nil, err
	}
	if err := d.addResolutions(ctx, r, lists); err != nil {
		return nil, err
	}
	return &page.View{
		Title: group.Name, Nav: "groups", Template: "group", Data: d, Topic: topic("group", r), Crumbs: []page.Link{{Text: "Target groups", Href: r.Path("groups")}},
		Actions: []page.Link{{Text: "Edit", Href: r.Path("groups", group.Name, "edit"), Role: rest.RoleAuthor}},
		Equivalents: append(page.CLI("target-group", "show", group.Name), page.Query(`DECLARE @group NVARCHAR(128) = N'?';
SELECT membership_type, target_type, server_name, database_name, elastic_pool_name, shard_map_name, tag_filter, query, member_group_name,
    refresh_credential_name
FROM jobs.target_group_member_details
WHERE target_group_name = @group;`, group.Name)),
	}, nil
}

// groupReader reads what runs make of a target group, for live updates.
type groupReader struct {
	last   *groupData
	lists  []targetgroups.Resolution
	readAt time.Time
}

// targetsTime bounds the age of the targets while no run resolves the group again: their states
// change, and comparing long lists costs more than the list of resolutions.
const targetsTime = 20 * time.Second

// read implements reading.
func (g *groupReader) read(ctx context.Context, r *page.Request) (any, error) {
	group, err := targetgroups.On(r.Store).Get(ctx, r.Value("group"))
	if err != nil {
		return nil, err
	}
	lists, err := targetgroups.On(r.Store).Resolutions(ctx, group.ID, shownResolutions)
	if err != nil {
		return nil, err
	}
	if g.last != nil && slices.Equal(g.lists, lists) && r.Now.Sub(g.readAt) < targetsTime {
		return g.last, nil
	}
	d := &groupData{Group: group, Search: r.Query("search"), clock: at(r)}
	if err := d.addResolutions(ctx, r, lists); err != nil {
		return nil, err
	}
	g.last, g.lists, g.readAt = d, lists, r.Now
	return d, nil
}

// addResolutions reads the targets of the last resolution, and compares it with the one of the run
// before.
func (d *groupData) addResolutions(ctx context.Context, r *page.Request, lists []targetgroups.Resolution) error {
	if len(lists) == 0 {
		return nil
	}
	shown := func(g targetgroups.Resolution) *resolution {
		return &resolution{Resolution: g, Href: r.Path("runs", g.Run.String()), JobHref: r.Path("jobs", g.JobName)}
	}
	d.Last = shown(lists[0])
	counted := lists[:0:0]
	runs := map[string]bool{}
	for _, l := range lists {
		if d.Before == nil && l.Run != d.Last.Run {
			d.Before = shown(l)
		}
		if len(counted) < failureRuns {
			counted = append(counted, l)
			runs[l.Run.String()] = true
		}
	}
	d.Runs = len(runs)
	var err error
	if d.Count, err = targetgroups.On(r.Store).CountResolvedTargets(ctx, d.Last.Run, d.Last.StepID); err != nil {
		return err
	}
	added := map[targetgroups.ResolvedTarget]bool{}
	key := func(t targetgroups.ResolvedTarget) targetgroups.ResolvedTarget { t.Lifecycle = ""; return t }
	if d.Before != nil {
		if d.Added, d.AddedN, err = targetgroups.On(r.Store).MissingTargets(ctx, d.Last.Resolution, d.Before.Resolution, shownDifferences); err != nil {
			return err
		}
		if d.Gone, d.GoneN, err = targetgroups.On(r.Store).MissingTargets(ctx, d.Before.Resolution, d.Last.Resolution, shownDifferences); err != nil {
			return err
		}
		for _, t := range d.Added {
			added[key(t)] = true
		}
	}
	after := page.After[targetgroups.ResolvedTarget](r.Query("after"))
	list, next, err := controldb.ReadPage(after, shownTargets, func(p controldb.Page[targetgroups.ResolvedTarget]) ([]targetgroups.ResolvedTarget, error) {
		return targetgroups.On(r.Store).ResolvedTargets(ctx, d.Last.Run, d.Last.StepID, d.Search, p)
	}, key)
	if err != nil {
		return err
	}
	for _, t := range list {
		d.Targets = append(d.Targets, targetRow{ResolvedTarget: t, Added: added[key(t)]})
	}
	self := r.Path("groups", d.Group.Name)
	if next != nil {
		d.Next = page.With(self, "search", d.Search, "after", controldb.Token(*next)) + "#targets"
	}
	if after != nil {
		d.First = page.With(self, "search", d.Search) + "#targets"
	}
	d.Failed, err = targetgroups.On(r.Store).FailedTargets(ctx, counted, 20)
	return err
}
