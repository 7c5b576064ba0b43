package actions

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// lackingTop and lackingJobs are the numbers of databases and of jobs of a call.
const (
	lackingTop  = 1000
	lackingJobs = 500
)

// lackingOf returns the databases that lack a job, of those that the address of the start's form
// filters as the page of databases does; nil: the form is about all databases of the target groups.
// A form that was sent has the databases that it was confirmed with.
func lackingOf(ctx context.Context, r *page.Request, job string) (*page.Choice, error) {
	if r.Query("lacking") == "" {
		return nil, nil
	}
	c := &page.Choice{Job: job}
	f := executions.TargetFilter{Group: r.Query("group"), Search: r.Query("search"), JobSearch: job, Top: lackingTop, Jobs: lackingJobs}
	known, err := findJob(ctx, r.Store, &f, job)
	if err != nil {
		return nil, err
	}
	if !known {
		c.Problem = "The job is not found any more, so who lacks it is not known."
		return c, nil
	}
	confirmed, sent := map[string]bool{}, r.Form.Has(page.ChoiceField)
	if sent {
		for id := range strings.SplitSeq(r.Form.Get(page.ChoiceField), ",") {
			confirmed[id] = true
		}
	}
	f.Lacking = !sent
	for {
		o, err := executions.On(r.Store).TargetOutcomes(ctx, f)
		if err != nil {
			return nil, err
		}
		c.Of = o.Databases
		done := succeededOn(o, job)
		for _, t := range o.Targets {
			if sent && confirmed[t.ID.String()] || !sent && !done[t.ID] {
				c.Databases = append(c.Databases, page.ChosenDatabase{ID: t.ID, Server: t.Server, Database: t.Database})
			}
		}
		if o.NextServer == "" || len(c.Databases) > executions.MaxOnlyTargets {
			break
		}
		f.After = executions.FoundTarget{Database: o.NextDatabase, Server: o.NextServer}
	}
	if missing := len(confirmed) - len(c.Databases); missing > 0 {
		c.Problem = page.Counted(missing, "confirmed database is", "confirmed databases are") + " not in the list any more. Go back, and look at the list again."
	}
	return c, nil
}

// findJob sets the page of jobs that has the job: the search finds all jobs whose names contain the
// name. The result is false if no page has the job. Then nothing is known of its outcomes, and no
// database may be taken for one that lacks the job.
func findJob(ctx context.Context, store *controldb.Store, f *executions.TargetFilter, job string) (known bool, err error) {
	probe := *f
	for probe.Top = 1; ; {
		o, err := executions.On(store).TargetOutcomes(ctx, probe)
		if err != nil {
			return false, err
		}
		if indexOf(o, job) >= 0 {
			f.AfterJob = probe.AfterJob
			return true, nil
		}
		if o.NextJob == "" {
			return false, nil
		}
		probe.AfterJob = o.NextJob
	}
}

// indexOf returns the index of a job in an answer; -1: the answer does not have it.
func indexOf(o executions.TargetOutcomes, job string) int {
	return slices.IndexFunc(o.Jobs, func(j executions.OutcomeJob) bool { return strings.EqualFold(j.Name, job) })
}

// succeededOn returns the databases on which a job succeeded last.
func succeededOn(o executions.TargetOutcomes, job string) map[uuid.UUID]bool {
	done := map[uuid.UUID]bool{}
	at := indexOf(o, job)
	for _, one := range o.Outcomes {
		if at >= 0 && one.Job == o.Jobs[at].ID && !one.Lacking() {
			done[one.Target] = true
		}
	}
	return done
}
