package capacity

import (
	"time"

	"github.com/jobagent/jobagent/agent/pacing"
)

// The intervals of an agent's calls that depend on nothing (agent/registrar.go, account.go,
// hosting.go).
const (
	everyTargets = 15 * time.Second
	everyAccount = 5 * time.Second
)

// listing is how long the listing of one database takes an agent.
const listing = 20 * time.Microsecond

// epoch is the beginning as a time, for package pacing.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// agent is one agent: a controller, workers, an outbox and a scheduler.
type agent struct {
	s       *simulation
	process *process
	agents  int          // that share the control database, as the last renewal said
	known   map[int]bool // jobs whose command the agent has read

	// The queue.
	queued        []share
	claims        pacing.Claims // Queued, Running and Held are counts
	pace          pacing.Pace
	passRequested bool

	// The controller.
	passing    bool
	wake       bool
	timer      uint64 // number of the timer that counts
	activeAt   time.Duration
	wasActive  bool
	deliveries int // that had been made at the last pass

	// The outbox.
	outcomes   []share
	answers    []*run // resolutions
	waiting    int    // outcomes and answers
	gathering  bool
	delivering bool
	ready      bool
	gather     uint64 // number of the timer that counts
	delivered  int    // deliveries

	wakeDeliveries func() // looks for deliveries of alerts at once
}

// begin starts the loops of the agent at random times of their first interval.
func (a *agent) begin() {
	s := a.s
	costs := &s.cfg.Costs
	s.q.after(s.random(s.cfg.Polls.Idle), func(*run) { a.pass() }, nil)
	a.repeat(callRenew, s.cfg.Polls.Renewal, costs.Renewal, func() { a.agents = s.cfg.Agents })
	a.repeat(callTargets, constant(everyTargets), costs.Targets, nil)
	a.repeat(callAccount, constant(everyAccount), costs.Account, nil)
	a.wakeDeliveries = a.repeat(callDeliveries, func() time.Duration { return pacing.AlertClaim(a.agents) }, costs.Deliveries, nil)
	a.repeat(callAlerts, func() time.Duration { return pacing.Evaluation(a.agents) }, costs.Alerts, func() { a.wakeDeliveries() })
	s.q.after(s.random(s.cfg.Polls.Slow()), func(*run) { a.schedules() }, nil)
}

// constant returns an interval that does not change.
func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// repeat makes a call at an interval with jitter, also when the returned function is called, and
// calls done after each.
func (a *agent) repeat(name string, every func() time.Duration, cost time.Duration, done func()) (now func()) {
	timer, calling := uint64(0), false
	var call func()
	wait := func() {
		timer++
		mine := timer
		a.s.q.after(a.s.jittered(every()), func(*run) {
			if mine == timer && !calling {
				call()
			}
		}, nil)
	}
	call = func() {
		calling = true
		a.s.control.call(name, func() time.Duration { return cost }, func() {
			calling = false
			wait()
			if done != nil {
				done()
			}
		})
	}
	a.s.q.after(a.s.random(every()), func(*run) {
		if !calling {
			call()
		}
	}, nil)
	return func() {
		if !calling {
			call()
		}
	}
}

// schedules looks for schedules and fires those that are due.
func (a *agent) schedules() {
	c := a.s.control
	due, next, none := 0, time.Duration(0), false
	c.call(callDue, func() time.Duration {
		due, next, none = c.dueNow()
		return a.s.cfg.Costs.Due
	}, func() {
		rest := func() {
			longest := a.s.cfg.Polls.Schedules(a.agents)
			wait := longest - a.s.random(longest/10)
			if !none {
				wait = min(wait, max(time.Millisecond, next-a.s.q.now))
			}
			a.s.q.after(wait, func(*run) { a.schedules() }, nil)
		}
		if due == 0 || a.s.cfg.Started {
			rest()
			return
		}
		fired := false
		c.call(callFire, func() (cost time.Duration) {
			cost, fired = c.fire()
			return cost
		}, func() {
			if fired {
				a.requestPass()
			}
			rest()
		})
	})
}

// limits returns what decides on claims, as of now.
func (a *agent) limits() pacing.Claims {
	a.claims.Ahead = a.pace.Ahead(epoch.Add(a.s.q.now))
	a.claims.OutboxFull = a.waiting >= a.s.cfg.Buffer
	return a.claims
}

// requestPass makes a pass now, or right after the one under way.
func (a *agent) requestPass() {
	if a.passing {
		a.wake = true
		return
	}
	a.pass()
}

// pass makes a pass.
func (a *agent) pass() {
	a.passing = true
	a.timer++
	asked := a.limits().Wanted()
	var res claimed
	var advances bool
	a.s.control.call(callPass, func() (cost time.Duration) {
		res, cost, advances = a.s.control.pass(a, asked)
		if advances { // the lock ends with the transaction
			a.s.q.after(cost+a.s.cfg.Latency/2, func(*run) { a.s.control.advancing = false }, nil)
		}
		return cost
	}, func() { a.passed(asked, res) })
}

// passed takes the answer to a pass.
func (a *agent) passed(asked int, res claimed) {
	a.passing, a.passRequested = false, false
	if asked > 0 {
		a.claims.Backlog = res.count >= asked
	}
	for _, r := range res.resolutions {
		a.queued = append(a.queued, share{r, -1}) // a resolution
	}
	a.queued = append(a.queued, res.targets...)
	a.claims.Queued += res.count
	a.claims.Held += res.count
	a.work()
	if res.count > 0 || a.delivered != a.deliveries {
		a.activeAt, a.wasActive, a.deliveries = a.s.q.now, true, a.delivered
	}
	c := a.limits()
	wait := a.s.cfg.Polls.AfterPass(pacing.Passed{
		Full: res.count > 0 && res.count == asked, Low: c.Low() && c.Wanted() > 0, Fed: c.Fed(), More: res.more,
		Active: a.wasActive, SinceActive: a.s.q.now - a.activeAt, Held: c.Held, Agents: a.agents,
	}, a.s.jittered)
	if a.wake || wait == 0 {
		a.wake = false
		a.pass()
		return
	}
	a.timer++
	mine := a.timer
	a.s.q.after(wait, func(*run) {
		if mine == a.timer && !a.passing {
			a.pass()
		}
	}, nil)
}

// needsTasks reports whether the queue is nearly empty although there may be more tasks.
func (a *agent) needsTasks() bool { return a.claims.Backlog && !a.passRequested && a.limits().Low() }

// work lets idle workers take tasks.
func (a *agent) work() {
	for a.claims.Running < a.s.cfg.Workers && len(a.queued) > 0 {
		next := &a.queued[0]
		r, resolution := next.run, next.count < 0
		if next.count--; next.count <= 0 {
			a.queued = a.queued[1:]
		}
		a.claims.Queued--
		a.claims.Running++
		if a.needsTasks() {
			if a.waiting > 0 {
				a.notify()
			} else if a.limits().Wanted() > 0 {
				a.passRequested = true
				a.requestPass()
			}
		}
		a.carryOut(r, resolution)
	}
}

// carryOut runs a script, or resolves the targets of a run.
func (a *agent) carryOut(r *run, resolution bool) {
	s := a.s
	switch {
	case resolution:
		s.q.after(10*time.Millisecond+listing*time.Duration(r.Targets), a.resolved, r)
		return
	case !a.known[r.Job]:
		a.known[r.Job] = true // the other workers would wait for the same call
		s.control.call(callCommand, func() time.Duration { return s.cfg.Costs.Command }, func() { a.script(r) })
		return
	}
	a.script(r)
}

// script uses the agent's processors and then waits for the target.
func (a *agent) script(r *run) {
	a.process.submit(work{cost: a.s.cfg.TaskCPU, run: r, end: a.sent})
}

// sent waits for the target.
func (a *agent) sent(r *run) {
	d := a.s.cfg.TaskTime
	a.s.q.after(d/2+a.s.random(d), a.ended, r)
}

// ended puts the outcome of a script into the outbox.
func (a *agent) ended(r *run) {
	a.pace.Add(epoch.Add(a.s.q.now))
	if last := len(a.outcomes) - 1; last >= 0 && a.outcomes[last].run == r {
		a.outcomes[last].count++
	} else {
		a.outcomes = append(a.outcomes, share{r, 1})
	}
	a.reported()
}

// resolved puts the answer to a resolution into the outbox.
func (a *agent) resolved(r *run) {
	a.pace.Add(epoch.Add(a.s.q.now))
	a.answers = append(a.answers, r)
	a.reported()
}

// reported counts a report. Its worker takes the next task.
func (a *agent) reported() {
	a.waiting++
	a.claims.Running--
	a.notify()
	a.work()
}

// notify considers a delivery.
func (a *agent) notify() {
	switch {
	case a.delivering:
		a.ready = true
	case a.gathering:
		if a.gathered() {
			a.deliver()
		}
	default:
		a.gathering = true
		a.gather++
		if a.gathered() {
			a.deliver()
			return
		}
		mine := a.gather
		a.s.q.after(a.s.cfg.Polls.Gather(a.agents, a.limits().Fed()), func(*run) {
			if mine == a.gather && a.gathering {
				a.deliver()
			}
		}, nil)
	}
}

// gathered reports whether a delivery should not wait for more.
func (a *agent) gathered() bool {
	return a.claims.Queued+a.claims.Running == 0 || a.needsTasks() || pacing.Enough(a.waiting, a.s.cfg.Workers) || len(a.answers) > 0
}

// deliver delivers a batch.
func (a *agent) deliver() {
	a.gathering = false
	if a.waiting == 0 {
		return
	}
	a.delivering = true
	var batch []share
	answers, n := a.answers, 0
	a.answers = nil
	for len(a.outcomes) > 0 && n < pacing.OutcomesPerCall {
		o := &a.outcomes[0]
		take := min(o.count, pacing.OutcomesPerCall-n)
		batch = append(batch, share{o.run, take})
		n += take
		if o.count -= take; o.count == 0 {
			a.outcomes = a.outcomes[1:]
		}
	}
	if n == 0 {
		a.answer(answers, 0)
		return
	}
	c := a.s.control
	c.call(callOutcomes, func() time.Duration { return c.complete(batch) }, func() {
		a.waiting -= n
		a.claims.Held -= n
		a.answer(answers, 0)
	})
}

// answer delivers resolutions, in calls of at most listSlice targets, and then ends the delivery.
func (a *agent) answer(answers []*run, calls int) {
	if len(answers) > 0 {
		r, c := answers[0], a.s.control
		calls++
		last := calls*listSlice >= r.Targets
		c.call(callResolution, func() time.Duration { return c.resolve(r, last) }, func() {
			if !last {
				a.answer(answers, calls)
				return
			}
			a.waiting--
			a.claims.Held--
			a.answer(answers[1:], 0)
		})
		return
	}
	a.delivering = false
	a.delivered++
	if !a.limits().Fed() {
		a.passRequested = true
		a.requestPass()
	}
	if a.waiting > 0 || a.ready {
		a.ready = false
		if a.waiting > 0 {
			a.notify()
		}
	}
}
