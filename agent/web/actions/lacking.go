package actions

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
)

// lackingTop is the number of databases of a call.
const lackingTop = 1000

// lackingOf returns the databases that lack a job, of those that the address of the start's form
// filters as the page of databases does; nil: the form is about all databases of the target groups.
// A form that was sent has the databases that it was confirmed with.
func lackingOf(ctx context.Context, r *page.Request, job string) (*page.Choice, error) {
	if r.Query("lacking") == "" {
		return nil, nil
	}
	c := &page.Choice{Job: job}
	confirmed, sent := strings.Split(r.Form.Get(page.ChoiceField), ","), r.Form.Has(page.ChoiceField)
	f := controldb.TargetFilter{
		Group: r.Query("group"), Search: r.Query("search"), JobSearch: job, Lacking: !sent, Top: lackingTop, Jobs: 500,
	}
	for {
		o, err := r.Store.TargetOutcomes(ctx, f)
		if err != nil {
			return nil, err
		}
		c.Of = o.Databases
		done := succeededOn(o, job)
		for _, t := range o.Targets {
			if sent && slices.Contains(confirmed, t.ID.String()) || !sent && !done[t.ID] {
				c.Databases = append(c.Databases, page.ChosenDatabase{ID: t.ID, Server: t.Server, Database: t.Database})
			}
		}
		if o.NextServer == "" || len(c.Databases) > controldb.MaxOnlyTargets {
			return c, nil
		}
		f.After = controldb.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
	}
}

// succeededOn returns the databases on which a job succeeded last.
func succeededOn(o controldb.TargetOutcomes, job string) map[uuid.UUID]bool {
	done := map[uuid.UUID]bool{}
	at := slices.IndexFunc(o.Jobs, func(j controldb.OutcomeJob) bool { return strings.EqualFold(j.Name, job) })
	for _, one := range o.Outcomes {
		if at >= 0 && one.Job == o.Jobs[at].ID && !one.Lacking() {
			done[one.Target] = true
		}
	}
	return done
}
