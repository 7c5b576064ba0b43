// Package targets has the pages about the inside of a run: one target, the tree of steps and
// targets, the timeline, and the comparison with another run.
//
// The page of a target is /runs/{run}/targets/{target}?step=N, where the target is the target_id of
// jobs.job_executions. Without a step, it shows the first step that failed on the target, else the
// last one that has begun. Further parameters choose an attempt (attempt, its id) and a part of its
// messages (after, an ordinal; messages=important).
package targets

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

//go:embed *.html *.css
var files embed.FS

// Intervals of live updates. A target's page costs about ten reads by key, a timeline sorts all
// targets of the run.
const (
	targetInterval   = 2 * time.Second
	treeInterval     = 2 * time.Second
	timelineInterval = 5 * time.Second
)

// setName is the name of the set.
const setName = "targets"

// Set returns the pages.
func Set() page.Set {
	return page.Set{
		Name: setName, Files: files,
		Pages: []page.Page{
			{Path: "/runs/{run}/targets/{target}", Role: rest.RoleReader, Handle: showTarget},
			{Path: "/runs/{run}/tree", Role: rest.RoleReader, Handle: showTree},
			{Path: "/runs/{run}/timeline", Role: rest.RoleReader, Handle: showTimeline},
			{Path: "/runs/{run}/compare", Role: rest.RoleReader, Handle: showComparison},
		},
		Topics: []live.Topic{
			{Pattern: "target/{id}", Interval: targetInterval, Open: openTarget},
			{Pattern: "tree/{id}", Interval: treeInterval, Open: openTree},
			{Pattern: "timeline/{id}", Interval: timelineInterval, Open: openTimeline},
		},
	}
}

// head is what all pages of a run show of it.
type head struct{ Run executions.Run }

// Now is the database's time.
func (h head) Now() time.Time { return h.Run.Now }

// Duration is the time from the first step to the end, or to now.
func (h head) Duration() time.Duration { return h.Run.Duration() }

// Short is the beginning of the run's id, for texts.
func (h head) Short() string { return h.Run.ID.String()[:8] }

func readHead(ctx context.Context, store *controldb.Store, id uuid.UUID, parts ...executions.Part) (head, error) {
	run, err := executions.On(store).Get(ctx, id, parts...)
	return head{Run: run}, err
}

// identifier reads an id of a path or a query; what names it in the error. An invalid id is a 404,
// because nothing has it.
func identifier(text, what string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) {
		return uuid.Nil, &rest.Error{
			Status: 404, Code: rest.CodeUnknownPath, Message: fmt.Sprintf("Invalid %s %s: want an id such as %s.", what, strconv.QuoteToASCII(wording.Clip(text, 60, wording.Characters)), uuid.Nil),
		}
	}
	return id, nil
}

// integer reads a number of a query; def if it is absent or invalid, and at least least.
func integer(text string, def, least, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return def
	}
	return min(max(n, least), most)
}

// Phase is the phase on which the run's actions depend.
func (h head) Phase() string {
	return page.RunPhase(h.Run.Active, false, h.Run.Lifecycle == jobs.Succeeded)
}

// runView makes the view of a page that shows the whole run: the actions on the run, and the title
// that all these pages have.
func (h head) runView(r *page.Request, template string, data any) *page.View {
	v := h.view(r, page.RunTitle(h.Run.JobName), template, data)
	v.Actions, v.Phase = page.RunActions(r.Path("runs", h.Run.ID.String())), h.Phase()
	return v
}

// view makes the view of a page about a part of a run.
func (h head) view(r *page.Request, title, template string, data any) *page.View {
	return &page.View{
		Title: title, Nav: "runs", Template: template, Data: data,
		Crumbs: []page.Link{
			page.NewLink("Runs", r.Path("runs")),
			page.NewLink(h.Run.JobName, r.Path("jobs", h.Run.JobName)),
			page.NewLink("Run "+h.Short(), r.Path("runs", h.Run.ID.String())),
		},
		Styles: []string{"code/code.css"},
	}
}

// active reports whether a state may still change.
func active(l jobs.Lifecycle) bool { return l.Active() || l == jobs.WaitingForCallback }

// topicID makes the id of a topic from parts that have no dot.
func topicID(parts ...string) string { return strings.Join(parts, ".") }

// stateOrder is the order in which people look for states.
func stateOrder(l jobs.Lifecycle) int {
	switch l {
	case jobs.Failed:
		return 0
	case jobs.TimedOut:
		return 1
	case jobs.InProgress:
		return 2
	case jobs.WaitingForCallback:
		return 3
	case jobs.WaitingForRetry:
		return 4
	case jobs.Created:
		return 5
	case jobs.Canceled:
		return 6
	case jobs.Skipped:
		return 7
	default:
		return 8
	}
}
