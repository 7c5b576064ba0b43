package targets

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// Bounds of the comparison.
const (
	comparedShown = 100
	choicesShown  = 30 // runs to compare with
	earlierRead   = 60 // runs among which the previous one is looked for
)

// changeWords describe the changes.
var changeWords = map[executions.Change]struct{ title, text, class string }{
	executions.NewlyFailing: {"Newly failing", "failed now, and not before", "bad"},
	executions.StillFailing: {"Still failing", "failed in both runs", "bad"},
	executions.NewlyFixed:   {"Fixed", "succeeded now, and failed before", "ok"},
	executions.NewTarget:    {"New targets", "were not in the other run", "busy"},
	executions.Vanished:     {"Vanished targets", "were only in the other run", "off"},
	executions.Slower:       {"Much slower", "took at least twice as long, and a second longer", "warn"},
	executions.Faster:       {"Much faster", "took at most half as long, and a second less", "ok"},
	executions.NotFinal:     {"Not ended", "may still change", "wait"},
	executions.Same:         {"As before", "all others", "wait"},
}

// comparePage is the data of the comparison of two runs.
type comparePage struct {
	head
	// Other is nil if there is no run to compare with.
	Other   *head
	Choices []executions.Run
	Steps   []executions.ChangedStep
	Changes []changeRow
	Shown   executions.Change
	Targets []executions.ComparedTarget
	Page    int
	More    bool
}

// changeRow is a change with its number of targets.
type changeRow struct {
	Change             executions.Change
	Title, Text, Class string
	Total              int
}

// showComparison handles the comparison of a run with another one of its job.
func showComparison(ctx context.Context, r *page.Request) (*page.View, error) {
	run, err := identifier(r.Value("run"), "run")
	if err != nil {
		return nil, err
	}
	h, err := readHead(ctx, r.Store, run)
	if err != nil {
		return nil, err
	}
	d := &comparePage{head: h, Page: integer(r.Query("page"), 1, 1, 1<<20)}
	if err := d.chooseOther(ctx, r); err != nil {
		return nil, err
	}
	v := d.runView(r, "compare", d)
	if d.Other == nil {
		return v, nil
	}
	if err := d.read(ctx, r.Store, executions.Change(r.Query("change"))); err != nil {
		return nil, err
	}
	v.Equivalents = []page.Equivalent{page.Query(`DECLARE @run UNIQUEIDENTIFIER = N'?', @other UNIQUEIDENTIFIER = N'?';
WITH a AS (
    SELECT step_name, target_id, target_server_name, target_database_name, lifecycle, last_message
    FROM jobs.job_execution_targets
    WHERE job_execution_id = @run
),
b AS (
    SELECT step_name, target_id, target_server_name, target_database_name, lifecycle
    FROM jobs.job_execution_targets
    WHERE job_execution_id = @other
)
SELECT COALESCE(a.target_server_name, b.target_server_name) AS server_name,
    COALESCE(a.target_database_name, b.target_database_name) AS database_name, a.lifecycle, b.lifecycle AS lifecycle_before, a.last_message
FROM a
FULL OUTER JOIN b ON b.step_name = a.step_name AND b.target_id = a.target_id
WHERE a.lifecycle IS NULL OR b.lifecycle IS NULL OR a.lifecycle <> b.lifecycle;`, run, d.Other.Run.ID)}
	return v, nil
}

// chooseOther reads the run to compare with: the one that was asked for, the origin of a rerun, or
// the latest earlier run of the job that is not a rerun.
func (d *comparePage) chooseOther(ctx context.Context, r *page.Request) error {
	earlier, err := executions.On(r.Store).List(ctx, executions.Query{JobName: d.Run.JobName, Origins: true},
		controldb.Page[executions.Key]{After: new(d.Run.Key()), Top: earlierRead})
	if err != nil {
		return err
	}
	d.Choices = earlier[:min(len(earlier), choicesShown)]
	other := d.Run.RerunOf
	switch {
	case r.Query("with") != "":
		if other, err = identifier(r.Query("with"), "run to compare with"); err != nil {
			return err
		}
	case other == uuid.Nil:
		for _, e := range earlier {
			if e.RerunOnly == "" || d.Run.RerunOnly != "" {
				other = e.ID
				break
			}
		}
	}
	if other == uuid.Nil {
		return nil
	}
	h, err := readHead(ctx, r.Store, other)
	if err != nil {
		return err
	}
	if h.Run.JobID != d.Run.JobID {
		return &rest.Error{Status: 400, Code: rest.CodeInvalidQuery, Message: "Invalid run to compare with: want a run of the same job."}
	}
	d.Other = &h
	return nil
}

// read compares the runs.
func (d *comparePage) read(ctx context.Context, store *controldb.Store, shown executions.Change) error {
	var err error
	if d.Steps, err = executions.On(store).ChangedSteps(ctx, d.Run.JobID, d.Other.Run.JobVersion, d.Run.JobVersion); err != nil {
		return err
	}
	counts, err := executions.On(store).Compare(ctx, d.Run.ID, d.Other.Run.ID)
	if err != nil {
		return err
	}
	for _, c := range executions.Changes() {
		w := changeWords[c]
		d.Changes = append(d.Changes, changeRow{c, w.title, w.text, w.class, counts[c]})
		if c == shown || d.Shown == "" && counts[c] > 0 && c != executions.Same && changeWords[shown].title == "" {
			d.Shown = c
		}
	}
	if d.Shown == "" {
		return nil
	}
	d.Targets, err = executions.On(store).ComparedTargets(ctx, d.Run.ID, d.Other.Run.ID, d.Shown, (d.Page-1)*comparedShown, comparedShown+1)
	if d.More = len(d.Targets) > comparedShown; d.More {
		d.Targets = d.Targets[:comparedShown]
	}
	return err
}

// ShownTitle is the title of the shown change.
func (d *comparePage) ShownTitle() string { return changeWords[d.Shown].title }

// ShownText describes the shown change.
func (d *comparePage) ShownText() string { return changeWords[d.Shown].text }

// link is the address of a change and a page of its targets.
func (d *comparePage) link(change executions.Change, page int) string {
	q := url.Values{"with": {d.Other.Run.ID.String()}, "change": {string(change)}}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "?" + q.Encode()
}

// ChangeLink is the address of the targets of a change.
func (d *comparePage) ChangeLink(change executions.Change) string {
	return d.link(change, 1) + "#targets"
}

// NextLink is the address of the next page.
func (d *comparePage) NextLink() string { return d.link(d.Shown, d.Page+1) + "#targets" }

// Took makes a duration of milliseconds; negative if there are none.
func (d *comparePage) Took(ms *int64) time.Duration {
	if ms == nil {
		return -1
	}
	return time.Duration(*ms) * time.Millisecond
}

// RunOf is the run that has the target: the other one for a target that vanished.
func (d *comparePage) RunOf(t executions.ComparedTarget) (id uuid.UUID) {
	if t.Change == executions.Vanished {
		return d.Other.Run.ID
	}
	return d.Run.ID
}

// StepOf is the number of the step in the run that has the target.
func (d *comparePage) StepOf(t executions.ComparedTarget) int {
	if t.Change == executions.Vanished {
		return t.StepBefore
	}
	return t.StepID
}
