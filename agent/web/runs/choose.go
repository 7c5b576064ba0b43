package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
)

// choose returns the databases of a run that a form or an address names. Endpoints are never
// chosen: a run is limited to databases.
func (p *pages) choose(ctx context.Context, r *page.Request, run uuid.UUID) (*page.Choice, error) {
	c := &page.Choice{Run: run}
	err := p.watches.use(ctx, r.Base, run, r.Store, freshFor, func(w *watch) error {
		c.Job, c.Version, c.Active = w.head.JobName, w.head.JobVersion, w.head.Active
		for _, s := range w.steps {
			c.Unreached = c.Unreached || s.ResolvedAt.IsZero()
		}
		for _, t := range w.targets {
			if t.database != "" {
				c.Of++
			}
		}
		for _, i := range w.chosen(r) {
			c.Databases = append(c.Databases, w.chosenDatabase(&w.targets[i]))
		}
		return nil
	})
	return c, err
}

// chosen returns the targets that a form or an address names, by server and database.
func (w *watch) chosen(r *page.Request) []int32 {
	params := r.HTTP.URL.Query()
	var names []string
	not := false
	q := query{}
	switch {
	case r.Form.Has(page.ChoiceField):
		names = strings.Split(r.Form.Get(page.ChoiceField), ",")
	case params.Get(page.ChoiceAll) != "":
		names, not, q = params[page.ChoiceExcept], true, readQuery(r)
	default:
		names = params[page.ChoiceTarget]
	}
	named := map[uuid.UUID]bool{}
	for _, name := range names {
		if id, err := uuid.Parse(name); err == nil {
			named[id] = true
		}
	}
	return slices.DeleteFunc(w.matching(q), func(i int32) bool {
		t := &w.targets[i]
		return t.database == "" || named[t.id] == not
	})
}

// chosenDatabase returns a target with the states of its steps.
func (w *watch) chosenDatabase(t *target) page.ChosenDatabase {
	d := page.ChosenDatabase{ID: t.id, Server: t.server, Database: t.database}
	for _, at := range t.cells {
		c := &w.steps[at.step].cells[at.index]
		switch {
		case !c.state.final():
		case c.unknown:
			d.Ended = append(d.Ended, "Unknown")
		case c.state == succeededWithSkipped:
			d.Ended = append(d.Ended, string(lifecycles[succeeded]))
		default:
			d.Ended = append(d.Ended, string(lifecycles[c.state]))
		}
	}
	return d
}
