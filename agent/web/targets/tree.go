package targets

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Bounds of the tree.
const (
	firstTargets = 5   // of each step and state
	pageOfState  = 100 // targets on a page of one state
	backfillRuns = 5   // before and after the run
	maxRerunHops = 20
)

// treePage is the data of the tree of a run.
type treePage struct {
	head
	Explanation executions.Explanation
	Steps       []treeStep
	// Dependencies is true if a step has other predecessors than the one before it.
	Dependencies bool
	Rerun        []executions.Run // reruns of this run
	Ancestors    []uuid.UUID      // the runs that it repeats, the first one first
	Backfill     []executions.Run
}

// treeStep is a step of the version of the run.
type treeStep struct {
	catalog.JobStep
	// Run is the step in the run; nil if its turn has not come.
	Run    *executions.RunStep
	Groups []treeGroup
	Total  int
	Waits  []treeWait
}

// treeGroup is the targets of a step in one state.
type treeGroup struct {
	State   jobs.Lifecycle
	Total   int
	Unknown int
	First   []executions.RunTarget
}

// Rest is the number of targets that are not among the first.
func (g treeGroup) Rest() int { return g.Total - len(g.First) }

// Open reports whether the group is shown open: what failed, and what is in progress.
func (g treeGroup) Open() bool {
	return g.State.IsFailure() || active(g.State) && g.State != jobs.Created
}

// treeWait is what some targets of a step, or the step itself, wait for.
type treeWait struct {
	Title string
	Total int // 0: the step
	Text  string
	Waits []executions.Wait // of targets
}

// showTree handles the tree of a run, and the list of the targets of one state.
func showTree(ctx context.Context, r *page.Request) (*page.View, error) {
	run, err := identifier(r.Value("run"), "run")
	if err != nil {
		return nil, err
	}
	if state := r.Query("state"); state != "" {
		return showState(ctx, r, run, jobs.Lifecycle(state))
	}
	d, err := readTree(ctx, r.Store, run)
	if err != nil {
		return nil, err
	}
	v := d.runView(r, "tree", d)
	if d.Run.Active {
		v.Topic = "tree/" + run.String()
	}
	v.Equivalents = append(page.CLI("execution", "explain", run.String()),
		page.TSQL("jobs.sp_explain_execution", page.Arg{Name: "job_execution_id", Value: run}),
		page.Query(`DECLARE @run UNIQUEIDENTIFIER = N'?';
SELECT step_id, lifecycle, COUNT(*) AS targets
FROM jobs.job_execution_targets
WHERE job_execution_id = @run
GROUP BY step_id, lifecycle
ORDER BY step_id, lifecycle;`, run))
	return v, nil
}

// openTree makes the source of live updates of a tree.
func openTree(id string) (live.Source, error) {
	run, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("invalid run: %w", err)
	}
	return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
		return readTree(ctx, store, run)
	}, "tree-head", "tree-steps"), nil
}

// readTree reads the tree of a run: its targets are counted once and the first ones of each state
// are read once, so it costs as much as the run has targets.
func readTree(ctx context.Context, store *controldb.Store, run uuid.UUID) (*treePage, error) {
	h, err := readHead(ctx, store, run, executions.States)
	if err != nil {
		return nil, err
	}
	d := &treePage{head: h}
	if d.Explanation, err = executions.On(store).Explain(ctx, run); err != nil {
		return nil, err
	}
	if err := d.readSteps(ctx, store); err != nil {
		return nil, err
	}
	if err := d.readReruns(ctx, store); err != nil {
		return nil, err
	}
	d.Backfill, err = executions.On(store).OfBackfill(ctx, h.Run, backfillRuns)
	return d, err
}

// readSteps reads the steps with the first targets of each state.
func (d *treePage) readSteps(ctx context.Context, store *controldb.Store) error {
	version := d.Run.JobVersion
	steps, err := catalog.On(store).JobSteps(ctx, d.Run.JobName, &version)
	if err != nil {
		return err
	}
	first, err := executions.On(store).FirstTargets(ctx, d.Run.ID, firstTargets)
	if err != nil {
		return err
	}
	for _, s := range steps {
		t := treeStep{JobStep: s}
		if s.After != nil || s.RunWhen != "Succeeded" || s.OnTargets != "All" {
			d.Dependencies = true
		}
		for i, of := range d.Run.Steps {
			if of.Begun() && of.StepID == s.StepID {
				t.Run = &d.Run.Steps[i]
				t.addGroups(of.States, first)
			}
		}
		t.addWaits(d.Explanation)
		d.Steps = append(d.Steps, t)
	}
	return nil
}

// addGroups adds the states of the step's targets.
func (t *treeStep) addGroups(states []executions.StateCount, first []executions.RunTarget) {
	for _, s := range states {
		t.Total += s.Total
		i := slices.IndexFunc(t.Groups, func(g treeGroup) bool { return g.State == s.Lifecycle })
		if i < 0 {
			i = len(t.Groups)
			t.Groups = append(t.Groups, treeGroup{State: s.Lifecycle})
		}
		t.Groups[i].Total += s.Total
		if s.Unknown {
			t.Groups[i].Unknown += s.Total
		}
	}
	slices.SortFunc(t.Groups, func(a, b treeGroup) int { return cmp.Compare(stateOrder(a.State), stateOrder(b.State)) })
	for i := range t.Groups {
		for _, f := range first {
			if f.StepID == t.StepID && f.Lifecycle == t.Groups[i].State {
				t.Groups[i].First = append(t.Groups[i].First, f)
			}
		}
	}
}

// addWaits adds what the step and its targets wait for.
func (t *treeStep) addWaits(e executions.Explanation) {
	for _, w := range e.Waits {
		if w.StepID != nil && *w.StepID == t.StepID && w.Server == "" && w.For != "Targets" {
			t.Waits = append(t.Waits, treeWait{Title: waitTitle(w.For), Text: w.Text})
		}
	}
	for _, n := range e.Totals {
		if n.StepID != t.StepID {
			continue
		}
		one := treeWait{Title: waitTitle(n.For), Total: n.Total}
		for _, w := range e.Waits {
			if w.StepID != nil && *w.StepID == t.StepID && w.Server != "" && w.For == n.For {
				one.Waits = append(one.Waits, w)
			}
		}
		t.Waits = append(t.Waits, one)
	}
}

// Count returns the number of targets in states of a class of the stylesheet.
func (t treeStep) Count(class string) (n int) {
	for _, g := range t.Groups {
		if page.StateClass(string(g.State)) == class {
			n += g.Total
		}
	}
	return n
}

// Words says when the step starts and on which targets, if that is not the default.
func (t treeStep) Words() string {
	text := ""
	if t.After != nil {
		text = "starts with the run"
		if len(t.After) > 0 {
			text = "after "
			for i, name := range t.After {
				if i > 0 {
					text += ", "
				}
				text += name
			}
		}
	}
	switch t.RunWhen {
	case "Failed":
		text = join(text, "only after a failure")
	case "Finished":
		text = join(text, "whatever the result before it")
	}
	switch t.OnTargets {
	case "Failed":
		text = join(text, "on the targets that failed")
	case "Succeeded":
		text = join(text, "on the targets that succeeded")
	}
	return text
}

// join joins two parts of a sentence.
func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// readReruns reads the reruns of the run, and the runs that it repeats.
func (d *treePage) readReruns(ctx context.Context, store *controldb.Store) (err error) {
	if d.Rerun, err = executions.On(store).RerunsOf(ctx, d.Run.ID); err != nil {
		return err
	}
	for origin := d.Run.RerunOf; origin != uuid.Nil && len(d.Ancestors) < maxRerunHops; {
		d.Ancestors = append(d.Ancestors, origin)
		o, err := executions.On(store).Get(ctx, origin)
		if err != nil {
			return err
		}
		origin = o.RerunOf
	}
	slices.Reverse(d.Ancestors)
	return nil
}

// RunWait is what the run itself waits for; nil if its steps do.
func (d *treePage) RunWait() *executions.Wait {
	for i, w := range d.Explanation.Waits {
		if w.StepID == nil {
			return &d.Explanation.Waits[i]
		}
	}
	return nil
}

// WaitTitle is the heading of a wait.
func (d *treePage) WaitTitle(keyword string) string { return waitTitle(keyword) }

// Graph draws the dependencies of the steps.
func (d *treePage) Graph() template.HTML {
	if !d.Dependencies || len(d.Steps) > maxGraphSteps {
		return ""
	}
	nodes := make([]graphNode, 0, len(d.Steps))
	place := map[string]int{}
	for i, s := range d.Steps {
		place[s.StepName] = i
		n := graphNode{Label: fmt.Sprintf("%d. %s", s.StepID, s.StepName), Class: "wait", Note: s.RunWhen, Link: "#step-" + strconv.Itoa(s.StepID)}
		n.Title = n.Label + ": not started"
		if s.Run != nil {
			n.Class = page.StateClass(string(s.Run.Lifecycle))
			n.Title = n.Label + ": " + string(s.Run.Lifecycle)
		}
		switch {
		case s.After == nil && i > 0:
			n.After = []int{i - 1}
		case s.After != nil:
			for _, name := range s.After {
				if at, ok := place[name]; ok {
					n.After = append(n.After, at)
				} else if at := slices.IndexFunc(d.Steps, func(o treeStep) bool { return o.StepName == name }); at >= 0 {
					n.After = append(n.After, at)
				}
			}
		}
		nodes = append(nodes, n)
	}
	return drawGraph(nodes)
}

// statePage is the data of the list of the targets of a step in one state.
type statePage struct {
	head
	StepID  int
	State   jobs.Lifecycle
	Targets []executions.RunTarget
	Next    string
}

// showState shows the targets of a step in one state.
func showState(ctx context.Context, r *page.Request, run uuid.UUID, state jobs.Lifecycle) (*page.View, error) {
	h, err := readHead(ctx, r.Store, run)
	if err != nil {
		return nil, err
	}
	d := &statePage{head: h, StepID: integer(r.Query("step"), 1, 1, 1<<30), State: state}
	after := page.After[executions.StepRunKey](r.Query("after"))
	var next *executions.StepRunKey
	if d.Targets, next, err = controldb.ReadPage(after, pageOfState, func(p controldb.Page[executions.StepRunKey]) ([]executions.RunTarget, error) {
		return executions.On(r.Store).Targets(ctx, run, executions.RunTargetFilter{
			Steps: []int{d.StepID}, Lifecycles: []jobs.Lifecycle{state}, Holds: true, After: p.After, Limit: p.Top,
		})
	}, executions.RunTarget.Key); err != nil {
		return nil, err
	}
	if next != nil {
		q := r.HTTP.URL.Query()
		q.Set("after", controldb.Token(*next))
		d.Next = "?" + q.Encode()
	}
	v := h.view(r, fmt.Sprintf("Step %d: targets in the state %s", d.StepID, wording.Clip(string(state), 40, wording.Characters)), "state", d)
	v.Crumbs = append(v.Crumbs, page.NewLink("Tree", r.Path("runs", run.String(), "tree")))
	v.Equivalents = []page.Equivalent{page.Query(`DECLARE @run UNIQUEIDENTIFIER = N'?', @step INT = N'?', @state NVARCHAR(50) = N'?';
SELECT target_server_name, target_database_name, last_message, waiting_reason
FROM jobs.job_execution_targets
WHERE job_execution_id = @run
    AND step_id = @step
    AND lifecycle = @state
ORDER BY target_server_name, target_database_name;`, run, d.StepID, string(state))}
	return v, nil
}
