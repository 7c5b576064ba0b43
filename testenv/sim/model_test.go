package sim

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/oracle"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// The settings of all jobs of the model.
const (
	modelRetries = 2
	modelWait    = 10 * time.Second // before each retry
	modelTimeout = 120 * time.Second
	modelLease   = 60 * time.Second
	modelMax     = 3 // MaxConcurrentTargets of every agent
	// modelFailUnknown is the job whose steps are not retried after an unknown outcome.
	modelFailUnknown = 1
	// modelTransient is the job whose steps are retried after transient errors only.
	modelTransient = 2
	// modelTolerant is the job whose steps tolerate failures: one, and half of the targets.
	modelTolerant = 3
)

// modelTolerated are the tolerated failures of the steps of modelTolerant.
var modelTolerated = []string{"1", "50%"}

// modelDatabases is the number of databases that a group may have.
const modelDatabases = 3

// modelTarget returns a database of the model, from 1.
func modelTarget(n int) targets.Target { return targets.NewTarget("s", fmt.Sprintf("db%d", n), "") }

// modelPolicy is the retry policy of all steps, without the time limit, which a pass applies.
var modelPolicy = oracle.RetryPolicy{Retries: modelRetries, Initial: modelWait, Maximum: modelWait, Multiplier: 1}

// work is a step execution or a target execution of the model; both can be claimed.
type work struct {
	run       *modelRun
	step      int
	database  string // empty for a step
	lifecycle jobs.Lifecycle
	attempts  int
	next      time.Time // when the next attempt may start; zero: no attempt waits
	deadline  time.Time // of a target; zero before its first attempt
	targets   []*work   // of a step, once it is resolved
	resolved  bool      // a step: its targets are known
	tolerated bool      // a step: it succeeded although targets failed
	unknown   bool      // the outcome of the last attempt that was sent is unknown
}

// active reports whether w is not final.
func (w *work) active() bool { return !w.lifecycle.Terminal() }

// become changes the lifecycle of w. A transition that package oracle forbids fails the check.
func (w *work) become(l jobs.Lifecycle) {
	if !oracle.CanBecome(w.lifecycle, l) {
		panic(fmt.Sprintf("invalid transition in the model: %s to %s", w.lifecycle, l))
	}
	w.lifecycle = l
}

// modelRun is a run of the model.
type modelRun struct {
	id        uuid.UUID
	job       int
	lifecycle jobs.Lifecycle
	stopping  bool
	steps     []*work
	only      []string    // databases to which it is limited; nil: it is not
	rerun     *modelRerun // nil: an ordinary run
}

// modelTerm is a term of the model.
type modelTerm struct {
	id      controldb.TermID
	agent   int
	expires time.Time
	ended   bool
	// trusted is until when its agent may count on it, by the agent's own clock: an agent gives a
	// term up a sixth of the lease before it thinks that the term expires.
	trusted time.Duration
}

// holds records that the term was renewed or confirmed.
func (t *modelTerm) holds(c *modelClock) { t.trusted = c.elapsed() + modelLease*5/6 }

// modelTask is a task of the model.
type modelTask struct {
	controldb.Task
	term *modelTerm
	work *work
	open bool
}

// model is the expected state of the control database: a plain program without sets, locks and
// transactions.
type model struct {
	store  *controldb.Store
	clock  *modelClock
	agents []uuid.UUID
	steps  []int // number of steps of each job
	runs   []*modelRun
	terms  []*modelTerm
	tasks  []*modelTask
	reruns []*work // steps of reruns that wait for their targets, in order of creation

	advanced   time.Time // when a pass last advanced executions
	termsUntil time.Time // no term ends before
	gaps       int       // in succession
	broken     string    // a promise to an agent that a pass has broken
}

const (
	modelGap  = 5 * time.Second // a longer time without a pass is a gap
	modelGaps = 3               // that many gaps in succession keep terms
)

// lasts reports whether a term has not ended.
func (m *model) lasts(t *modelTerm) bool { return !t.ended }

// expired reports whether a term has expired that no pass has ended.
func (m *model) expired(t *modelTerm) bool { return !t.ended && !t.expires.After(m.clock.Now()) }

// beginPass follows a clock that was turned back, and decides whether a pass may end terms.
func (m *model) beginPass() (mayEnd bool) {
	now, expired := m.clock.Now(), slices.ContainsFunc(m.terms, m.expired)
	turned := m.advanced.After(now.Add(modelGap))
	switch {
	case m.advanced.Before(now.Add(-modelGap)) && m.gaps < modelGaps, turned:
		m.termsUntil = now.Add(modelLease)
		if m.gaps++; !expired {
			m.gaps = 0
		}
	case !expired:
		m.gaps = 0
	}
	mayEnd = !m.termsUntil.After(now)
	if turned {
		m.turnBack()
	}
	if m.advanced.Before(now.Add(-time.Second)) {
		m.advanced = now
	}
	return mayEnd
}

// turnBack moves what is later than the clock: what was due is due, and other times keep their
// distance.
func (m *model) turnBack() {
	now := m.clock.Now()
	for _, t := range m.terms {
		if t.expires.After(now.Add(modelLease + modelGap)) {
			t.expires = now.Add(modelLease)
		}
	}
	for _, w := range m.works() {
		switch {
		case w.next.IsZero() || !w.next.After(now):
		case w.next.After(m.advanced):
			w.next = w.next.Add(now.Sub(m.advanced))
		default:
			w.next = now
		}
	}
	m.advanced = now
}

// works lists all steps and targets.
func (m *model) works() (list []*work) {
	for _, r := range m.runs {
		for _, s := range r.steps {
			list = append(append(list, s), s.targets...)
		}
	}
	return list
}

// handOver ends the tasks of ended terms.
func (m *model) handOver() {
	for _, k := range m.tasks {
		if k.open && k.term.ended {
			m.settle(k, targets.Unknown, "")
		}
	}
}

// settle applies an accepted outcome; class is that of the error, and empty if nobody knows it.
func (m *model) settle(k *modelTask, o targets.Outcome, class targets.Class) {
	k.open = false
	w := k.work
	w.next = time.Time{}
	wait := modelWait
	switch {
	case o == targets.Succeeded, o == targets.TimedOut, o == targets.Canceled:
		w.become(jobs.Lifecycle(o))
	case w.run.stopping:
		w.become(jobs.Canceled)
	case o == targets.NotSent && w.attempts <= 1:
		w.become(jobs.Created)
		wait = 0
	case o == targets.NotSent:
		w.become(jobs.WaitingForRetry)
		wait = 0
	case o == targets.Unknown && w.database != "" && w.run.job == modelFailUnknown:
		w.become(jobs.Failed)
	case o == targets.Failed && w.run.job == modelTransient && class != "" && !class.Retryable():
		w.become(jobs.Failed)
	default:
		w.become(modelPolicy.After(w.attempts, jobs.Failed, time.Time{}, m.clock.Now()).Lifecycle)
	}
	if o == targets.NotSent {
		if w.attempts--; w.attempts == 0 {
			w.deadline = time.Time{}
		}
	}
	if w.active() {
		w.next = m.clock.Now().Add(wait)
	}
	if o != targets.NotSent { // an attempt that sent nothing leaves an unknown outcome unknown
		w.unknown = o == targets.Unknown
	}
}

// claimable lists the steps, or else the targets, that a pass may claim now.
func (m *model) claimable(steps bool) (list []*work) {
	now := m.clock.Now()
	for _, r := range m.runs {
		if r.stopping || r.lifecycle.Terminal() {
			continue
		}
		for _, s := range r.steps {
			if steps && !s.next.IsZero() && !s.next.After(now) {
				list = append(list, s)
			}
			for _, w := range s.targets {
				if !steps && !w.next.IsZero() && !w.next.After(now) && (w.deadline.IsZero() || w.deadline.After(now)) {
					list = append(list, w)
				}
			}
		}
	}
	return list
}

// advance applies the first part of a pass of a term. A pass without work does nothing.
func (m *model) advance(caller *modelTerm) {
	if !slices.ContainsFunc(m.runs, func(r *modelRun) bool { return !r.lifecycle.Terminal() }) && !slices.ContainsFunc(m.terms, m.expired) {
		return
	}
	now := m.clock.Now()
	mayEnd, protected := m.beginPass(), m.gaps < modelGaps
	m.startRerunSteps()
	for _, t := range m.terms {
		if !mayEnd || !m.expired(t) || t == caller {
			continue
		}
		t.ended = true
		if protected && t.trusted > m.clock.elapsed() && slices.ContainsFunc(m.tasks, func(k *modelTask) bool { return k.open && k.term == t }) {
			m.broken = fmt.Sprintf("a pass has ended the term %d, whose agent counts on it for %s", t.id.Number, t.trusted-m.clock.elapsed())
		}
	}
	m.handOver()
	for _, r := range m.runs {
		if r.lifecycle.Terminal() {
			continue
		}
		open := false
		for _, s := range r.steps {
			if r.stopping && (!s.next.IsZero() || s.lifecycle == jobs.Created) {
				s.become(jobs.Canceled)
				s.next = time.Time{}
			}
			pending := false
			for _, w := range s.targets {
				if r.stopping && !w.next.IsZero() {
					w.become(jobs.Canceled)
					w.next = time.Time{}
				}
				if !w.next.IsZero() && !w.deadline.IsZero() && !w.deadline.After(now) {
					w.become(jobs.TimedOut)
					w.next = time.Time{}
				}
				pending = pending || w.active()
			}
			if s.lifecycle == jobs.WaitingForChildJobExecutions && !pending {
				s.become(s.ends())
			}
			open = open || s.active()
		}
		if open {
			continue
		}
		more, result := len(r.steps) < m.steps[r.job], aggregate(r.steps)
		switch {
		case !oracle.StartsNextStep(result):
			r.lifecycle = result
		case more && r.stopping:
			r.lifecycle = jobs.Canceled
		case more:
			r.lifecycle = jobs.WaitingForChildJobExecutions
			r.steps = append(r.steps, &work{run: r, step: len(r.steps) + 1, lifecycle: jobs.Created, next: now})
			if r.rerun != nil {
				m.waitForRerun(r.steps[len(r.steps)-1])
			}
		default:
			r.lifecycle = result
		}
	}
}

// aggregate returns the lifecycle of a parent from those of its children (I6).
func aggregate(children []*work) jobs.Lifecycle {
	list := make([]jobs.Lifecycle, 0, len(children))
	for _, c := range children {
		list = append(list, c.lifecycle)
	}
	return oracle.Aggregate(list...)
}

// ends returns how a step ends whose targets have ended.
func (w *work) ends() jobs.Lifecycle {
	end := aggregate(w.targets)
	if w.run.job != modelTolerant || !end.IsFailure() {
		return end
	}
	failed, skipped := 0, 0
	for _, t := range w.targets {
		switch t.lifecycle {
		case jobs.Failed, jobs.TimedOut:
			failed++
		case jobs.Skipped:
			skipped++
		}
	}
	w.tolerated = failed <= 1
	if w.step == 2 {
		w.tolerated = 2*failed <= len(w.targets)-skipped
	}
	switch {
	case !w.tolerated:
		return end
	case skipped > 0:
		return jobs.SucceededWithSkipped
	}
	return jobs.Succeeded
}

// start starts a run, perhaps on some databases only.
func (m *model) start(t *rapid.T) {
	job := rapid.IntRange(0, len(m.steps)-1).Draw(t, "job")
	req := executions.StartRequest{Job: fmt.Sprint("job ", job), ID: uuid.New()}
	var only []string
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		for n := range modelDatabases {
			if rapid.Bool().Draw(t, "chosen") {
				target := modelTarget(n + 1)
				req.OnlyTargets, only = append(req.OnlyTargets, target), append(only, target.Database)
			}
		}
	}
	id, err := executions.On(m.store).Start(t.Context(), req)
	require.NoError(t, err)
	m.runs = append(m.runs, &modelRun{id: id, job: job, only: only, lifecycle: jobs.Created})
}

// stop stops a run.
func (m *model) stop(t *rapid.T) {
	if len(m.runs) == 0 {
		t.Skip("not applicable, so rapid draws another action: no run to stop")
	}
	r := rapid.SampledFrom(m.runs).Draw(t, "run")
	require.NoError(t, executions.On(m.store).Stop(t.Context(), r.id))
	if !r.lifecycle.Terminal() {
		r.stopping = true
	}
}

// wait lets time pass.
func (m *model) wait(t *rapid.T) {
	m.clock.pass(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
}

// steady makes passes without a gap between them. Only the latest term is renewed.
func (m *model) steady(t *rapid.T, passes int) {
	for range passes {
		m.clock.pass(4 * time.Second)
		if term := m.latest(); term != nil {
			_, err := m.store.RenewTerm(t.Context(), term.id, modelLease)
			require.NoError(t, err)
			term.expires = m.clock.Now().Add(modelLease)
			term.holds(m.clock)
			m.passOf(t, term)
		}
	}
}

// jump sets the clock between two passes, as a time service or a failover does.
func (m *model) jump(t *rapid.T) {
	term := m.latest()
	if term == nil {
		t.Skip("not applicable, so rapid draws another action: no term")
	}
	m.passOf(t, term)
	m.clock.jump(time.Duration(rapid.IntRange(-200, 200).Draw(t, "seconds")) * time.Second)
	m.passOf(t, term)
}

// pass makes a pass. In one of four cases the answer is lost, and the pass is repeated.
func (m *model) pass(t *rapid.T) {
	m.passOf(t, m.anyTerm(t))
}

// passOf makes a pass for a term.
func (m *model) passOf(t *rapid.T, term *modelTerm) {
	room := rapid.IntRange(0, 4).Draw(t, "max_tasks")
	var last controldb.TaskID
	held := 0
	for _, k := range m.tasks {
		if k.term == term {
			last = max(last, k.ID)
			if k.open {
				held++
			}
		}
	}
	req := controldb.PassRequest{Term: term.id, MaxTasks: room, MaxConcurrentTargets: modelMax, LastTask: &last}
	lost := rapid.IntRange(0, 3).Draw(t, "lost") == 0
	if lost {
		if _, err := m.store.Pass(t.Context(), req); err != nil {
			require.ErrorIs(t, err, dberror.ErrTermEnded)
		} else {
			m.advance(term)
		}
	}
	res, err := m.store.Pass(t.Context(), req)
	if !m.refusedUnlessItLasts(t, term, err) {
		return
	}
	m.advance(term)
	room = min(room, 2*modelMax-held)
	steps, tasks := m.claimable(true), m.claimable(false)
	want := max(0, min(room, len(steps)+len(tasks)))
	require.Len(t, res.Tasks, want, "%d steps and %d targets can be claimed", len(steps), len(tasks))
	resolutions := 0
	for _, task := range res.Tasks {
		require.Greater(t, task.ID, last)
		list := tasks
		if task.Kind == controldb.TaskResolve {
			list = steps
			resolutions++
		}
		i := slices.IndexFunc(list, func(w *work) bool {
			return w.run.id == task.JobExecutionID && w.step == task.StepID && w.database == task.Target.Database && w.lifecycle != jobs.InProgress
		})
		require.GreaterOrEqual(t, i, 0, "task %d cannot be claimed: %+v", task.ID, task)
		w := list[i]
		w.become(jobs.InProgress)
		w.next = time.Time{}
		w.attempts++
		require.Equal(t, w.attempts, task.Attempt)
		if w.deadline.IsZero() && w.database != "" {
			w.deadline = m.clock.Now().Add(modelTimeout)
		}
		m.tasks = append(m.tasks, &modelTask{Task: task, term: term, work: w, open: true})
	}
	if !lost { // the lost pass may have claimed targets because the steps that wait now did not wait then
		require.Equal(t, min(max(0, room), len(steps)), resolutions, "resolutions go first")
	}
	var digest controldb.Digest
	var canceled, toCancel []controldb.TaskID
	for _, k := range m.tasks {
		if k.open && k.term == term {
			digest.Add(k.ID, k.Attempt)
			if k.work.run.stopping {
				toCancel = append(toCancel, k.ID)
			}
		}
	}
	for _, c := range res.Cancels {
		canceled = append(canceled, c.Task)
	}
	require.Equal(t, digest, res.Held)
	require.ElementsMatch(t, toCancel, canceled)
}

// complete delivers an outcome, possibly under a term that does not hold the task.
func (m *model) complete(t *rapid.T) {
	if len(m.tasks) == 0 {
		t.Skip("not applicable, so rapid draws another action: no task")
	}
	m.completeTask(t, rapid.SampledFrom(m.tasks[max(0, len(m.tasks)-10):]).Draw(t, "task"))
}

// work makes passes of a valid term and completes every task that it holds, so that runs end.
func (m *model) work(t *rapid.T) {
	lasting := slices.IndexFunc(m.terms, m.lasts)
	if lasting < 0 {
		m.term(t)
		lasting = len(m.terms) - 1
	}
	for range 3 {
		m.passOf(t, m.terms[lasting])
		for _, k := range m.tasks {
			if k.open && m.lasts(k.term) {
				m.completeTask(t, k)
			}
		}
	}
}

// completeTask delivers an outcome of a task.
func (m *model) completeTask(t *rapid.T, k *modelTask) {
	term := k.term
	if rapid.IntRange(0, 5).Draw(t, "other term") == 0 {
		term = m.anyTerm(t)
	}
	attempt := k.Attempt
	if rapid.IntRange(0, 9).Draw(t, "other attempt") == 0 {
		attempt++
	}
	accepted := k.open && term == k.term && attempt == k.Attempt
	if k.Kind == controldb.TaskResolve && rapid.Bool().Draw(t, "resolved") {
		m.resolve(t, k, term, attempt, accepted)
		return
	}
	outcome := rapid.SampledFrom([]targets.Outcome{
		targets.Succeeded, targets.Succeeded, targets.Failed, targets.TimedOut, targets.Canceled, targets.Unknown, targets.NotSent,
	}).Draw(t, "outcome")
	class := drawClass(t)
	refusals, err := m.store.CompleteTasks(t.Context(), term.id, []controldb.Outcome{{
		Task: k.ID, Attempt: attempt, Outcome: outcome, Error: targets.ErrorDetail{Class: class},
	}})
	if !m.refusedUnlessItLasts(t, term, err) {
		return
	}
	if k.Kind == controldb.TaskResolve && outcome == targets.Succeeded {
		accepted = false // a resolution succeeds only with a list of targets
	}
	require.Equal(t, !accepted, len(refusals) == 1)
	if accepted {
		m.settle(k, outcome, class)
	}
}

// resolve delivers a list of targets, or a failure to resolve them.
func (m *model) resolve(t *rapid.T, k *modelTask, term *modelTerm, attempt int, accepted bool) {
	r := controldb.Resolution{Attempt: attempt}
	n := rapid.IntRange(-1, modelDatabases).Draw(t, "targets")
	if n < 0 {
		r.Failure, r.Error.Class = "the server does not answer", drawClass(t)
	}
	for i := range max(0, n) {
		r.Targets = append(r.Targets, modelTarget(i+1))
	}
	err := m.store.CompleteResolution(t.Context(), term.id, k.ID, r)
	if !m.refusedUnlessItLasts(t, term, err) || !accepted {
		return
	}
	switch step := k.work; {
	case step.run.stopping:
		m.settle(k, targets.Canceled, "")
	case r.Failure != "":
		m.settle(k, targets.Failed, r.Error.Class)
	default:
		k.open = false
		step.become(jobs.WaitingForChildJobExecutions)
		step.resolved = true
		list, missing := step.limited(r.Targets)
		if len(list) == 0 {
			step.become(jobs.Succeeded)
		}
		for i, database := range list {
			w := &work{run: step.run, step: step.step, database: database, lifecycle: jobs.Created, next: m.clock.Now()}
			if i >= len(list)-missing || m.busy(w) {
				w.become(jobs.Skipped)
				w.next = time.Time{}
			}
			step.targets = append(step.targets, w)
		}
	}
}

// limited returns the databases on which a step runs that has resolved its target group; the last
// ones are chosen, and missing in the group.
func (w *work) limited(resolved []targets.Target) (list []string, missing int) {
	only := w.run.only
	for _, t := range resolved {
		if only == nil || slices.Contains(only, t.Database) {
			list = append(list, t.Database)
		}
	}
	for _, d := range only {
		if !slices.Contains(list, d) {
			list, missing = append(list, d), missing+1
		}
	}
	return list, missing
}

// busy reports whether another run of the job has the same step active on the same database.
func (m *model) busy(w *work) bool {
	for _, r := range m.runs {
		if r == w.run || r.job != w.run.job || len(r.steps) < w.step {
			continue
		}
		for _, o := range r.steps[w.step-1].targets {
			if o.database == w.database && o.active() {
				return true
			}
		}
	}
	return false
}

// check compares every run with the control database.
func (m *model) check(t *rapid.T) {
	require.Empty(t, m.broken)
	runs, err := executions.On(m.store).List(t.Context(), executions.Query{System: true}, controldb.Page[executions.Key]{})
	require.NoError(t, err)
	var rows []executions.Execution
	for _, run := range runs {
		list, err := executions.On(m.store).Rows(t.Context(), run.ID)
		require.NoError(t, err)
		rows = append(rows, list...)
	}
	var want, got []string
	line := func(run uuid.UUID, step int, database string, l jobs.Lifecycle, attempts int) string {
		return fmt.Sprintf("%s step %d %s: %s, %d attempts", run, step, database, l, attempts)
	}
	for _, e := range rows {
		step := 0
		if e.StepID != nil {
			step = *e.StepID
		}
		got = append(got, line(e.ID, step, e.Database, e.Lifecycle, e.Attempts))
	}
	for _, r := range m.runs {
		want = append(want, line(r.id, 0, "", r.lifecycle, 0))
		for _, s := range r.steps {
			want = append(want, line(r.id, s.step, "", s.lifecycle, s.attempts))
			for _, w := range s.targets {
				want = append(want, line(r.id, w.step, w.database, w.lifecycle, w.attempts))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}

// TestModel makes random sequences of calls, and compares the control database with the model after
// each call. To run more of them:
//
//	go test ./testenv/sim -run TestModel -rapid.checks=1000 -rapid.steps=100
func TestModel(t *testing.T) {
	const password = "Only-4-tests"
	clock := &modelClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	server, err := tsqld.New(tsqld.Config{SAPassword: password, Now: clock.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.WithoutCancel(t.Context()))) })
	connector := func(t require.TestingT, database string) *mssql.Connector {
		c, err := mssql.NewConnector("sqlserver://sa:"+password+"@tsqld?encrypt=disable&database="+database, server.Dialer())
		require.NoError(t, err)
		return c
	}
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		number++
		name := fmt.Sprint("control", number)
		require.NoError(rt, server.CreateFrom(rt.Context(), name, testenv.Installed(t)))
		store, err := controldb.New(controldb.Config{Connector: connector(rt, name), ServerName: "tsqld"})
		require.NoError(rt, err)
		defer store.Close()
		m := &model{store: store, clock: clock, agents: []uuid.UUID{uuid.New(), uuid.New()}, steps: []int{1, 2, 3, len(modelTolerated)}}
		m.define(rt)
		m.term(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"start": m.start, "stop": m.stop, "retry now": m.retryNow, "give up": m.giveUp, "rerun": m.rerun, "work": m.work, "work again": m.work, "term": m.term, "renew": m.renew, "end": m.end, "confirm": m.confirm, "jump": m.jump, "lose": m.lose,
			"pass": m.pass, "pass again": m.pass, "pass once more": m.pass,
			"complete": m.complete, "complete again": m.complete, "complete once more": m.complete,
			"wait": m.wait,
			"":     m.check,
		})
		control := sql.OpenDB(connector(rt, name))
		defer control.Close()
		found, err := invariant.Find(rt.Context(), control, false)
		require.NoError(rt, err)
		require.Empty(rt, found)
	})
}

// define creates the jobs.
func (m *model) define(t *rapid.T) {
	_, err := targetgroups.On(m.store).Add(t.Context(), "g")
	require.NoError(t, err)
	_, err = targetgroups.On(m.store).AddMember(t.Context(), "g", targets.Member{Membership: targets.Include, Kind: targets.SQLServer, Server: "s", RefreshCredential: "c"})
	require.NoError(t, err)
	attempts, wait, limit := modelRetries, int(modelWait/time.Second), int(modelTimeout/time.Second)
	errors := slices.Repeat([]string{"All"}, len(m.steps))
	errors[modelTransient] = "Transient"
	for i, steps := range m.steps {
		name := fmt.Sprint("job ", i)
		_, err := catalog.On(m.store).AddJob(t.Context(), jobmodel.JobSpec{Name: name})
		require.NoError(t, err)
		for s := range steps {
			stepName := fmt.Sprint("step ", s+1)
			_, err := catalog.On(m.store).AddJobStep(t.Context(), jobmodel.StepSpec{
				JobName: name, StepName: &stepName, Command: new("SELECT 1;"), TargetGroup: new("g"),
				RetryAttempts: &attempts, InitialRetryInterval: &wait, MaximumRetryInterval: &wait, Timeout: &limit,
				RetryErrors: &errors[i],
			})
			require.NoError(t, err)
			if i == modelTolerant {
				_, err := catalog.On(m.store).UpdateJobStep(t.Context(), jobmodel.StepSpec{JobName: name, StepName: &stepName, ToleratedFailures: &modelTolerated[s]})
				require.NoError(t, err)
			}
			if i == modelFailUnknown {
				fail := "Fail"
				_, err := catalog.On(m.store).UpdateJobStep(t.Context(), jobmodel.StepSpec{
					JobName: name, StepName: &stepName, OnUnknownOutcome: &fail,
				})
				require.NoError(t, err)
			}
		}
	}
}
