package capacity

import "time"

// The procedures, as the metrics of agents name them.
const (
	callPass       = "jobs_internal.controller_pass"
	callOutcomes   = "jobs_internal.complete_tasks"
	callResolution = "jobs_internal.complete_resolution"
	callCommand    = "jobs_internal.get_command"
	callDue        = "jobs_internal.due_schedules"
	callFire       = "jobs_internal.fire_schedules"
	callRenew      = "jobs_internal.renew_term"
	callAlerts     = "jobs_internal.evaluate_alerts"
	callDeliveries = "jobs_internal.claim_alert_deliveries"
	callTargets    = "jobs_internal.register_targets"
	callAccount    = "read the job agent"
)

// listSlice is how many targets of a long list one pass writes, and the largest list that the call
// of a resolution writes itself (sql/DESIGN.md, "Slices").
const listSlice = 5000

// run is one run in the control database.
type run struct {
	Start
	firedAt, endedAt time.Duration

	step    int
	left    int // targets of the step whose rows are not written
	due     int // targets that nobody has claimed
	active  int // targets of the step that have no outcome
	began   bool
	holders map[*agent]time.Duration // when each agent first claimed a target
}

// control is the control database.
type control struct {
	s       *simulation
	process *process
	// advancing says that a pass holds the lock under which runs advance.
	advancing bool

	starts   []Start // that have not fired, by time
	active   int     // runs
	moving   []*run  // that the next pass advances
	unsolved []*run  // whose resolution nobody has claimed
	waiting  []*run  // with due targets, oldest first
}

// call makes a call. begin makes its changes and returns its cost, and done gets the answer.
func (c *control) call(name string, begin func() time.Duration, done func()) {
	s := c.s
	half := s.cfg.Latency / 2
	s.q.after(half, func(*run) {
		asked := s.q.now
		c.process.submit(work{
			begin: func() time.Duration {
				cost := begin()
				s.report.called(name, s.q.now, s.q.now-asked, cost)
				return cost
			},
			end: func(*run) { s.q.after(half, func(*run) { done() }, nil) },
		})
	}, nil)
}

// create makes the run of a start.
func (c *control) create(start Start) {
	r := &run{Start: start, firedAt: c.s.q.now, holders: map[*agent]time.Duration{}}
	c.active++
	c.moving = append(c.moving, r)
}

// claimed is what a pass has claimed.
type claimed struct {
	resolutions []*run
	targets     []share
	count       int
	more        bool
}

// share is a number of targets of a run.
type share struct {
	run   *run
	count int
}

// pass advances runs, unless another pass does, and claims at most so many tasks.
func (c *control) pass(a *agent, tasks int) (res claimed, cost time.Duration, advances bool) {
	costs := &c.s.cfg.Costs
	cost = costs.Pass
	if !c.advancing {
		c.advancing, advances = true, true
		cost += costs.PassRun * time.Duration(c.active)
		moved := len(c.moving) > 0
		cost += c.advance()
		if moved {
			cost += costs.PassMoved
		}
		res.more = len(c.moving) > 0
	}
	for len(c.unsolved) > 0 && res.count < tasks {
		res.resolutions = append(res.resolutions, c.unsolved[0])
		c.unsolved = c.unsolved[1:]
		res.count++
	}
	for len(c.waiting) > 0 && res.count < tasks {
		r := c.waiting[0]
		n := min(r.due, tasks-res.count)
		r.due -= n
		res.count += n
		res.targets = append(res.targets, share{r, n})
		if _, took := r.holders[a]; !took {
			r.holders[a] = c.s.q.now
		}
		if r.due == 0 {
			c.waiting = c.waiting[1:]
		}
	}
	if res.count > 0 {
		cost += costs.PassMoved + costs.Claimed*time.Duration(res.count)
	}
	return res, cost, advances
}

// advance moves the runs that can move, and returns what it costs.
func (c *control) advance() (cost time.Duration) {
	costs := &c.s.cfg.Costs
	moving := c.moving
	c.moving = nil
	for _, r := range moving {
		switch {
		case !r.began: // the step begins
			r.began = true
			c.unsolved = append(c.unsolved, r)
		case r.left > 0:
			cost += c.write(r) / 2
		default: // the step has ended
			cost += costs.Ended * time.Duration(r.Targets)
			if r.step++; r.step < r.Steps {
				r.began = false
				c.moving = append(c.moving, r)
				continue
			}
			c.active--
			r.endedAt = c.s.q.now
			c.s.report.ended(r)
		}
	}
	return cost
}

// write writes rows of targets, and returns what the whole handling of the list costs.
func (c *control) write(r *run) time.Duration {
	n := min(r.left, listSlice)
	if r.left -= n; r.left > 0 {
		c.moving = append(c.moving, r)
	} else { // claims see a list when all of it is written
		r.due = r.Targets
		c.waiting = append(c.waiting, r)
	}
	return c.s.cfg.Costs.Resolved * time.Duration(n)
}

// resolve takes one of so many calls with the resolved targets of a run, and returns its cost.
func (c *control) resolve(r *run, last bool) time.Duration {
	costs := &c.s.cfg.Costs
	n := min(r.Targets, listSlice)
	if !last {
		return costs.Resolution + costs.Resolved*time.Duration(n)/2
	}
	r.active, r.left = r.Targets, r.Targets
	if r.Targets <= listSlice {
		return costs.Resolution + c.write(r)
	}
	c.moving = append(c.moving, r)
	return costs.Resolution + costs.Resolved*time.Duration(n)/2
}

// complete takes outcomes and returns the cost.
func (c *control) complete(outcomes []share) time.Duration {
	n := 0
	for _, o := range outcomes {
		n += o.count
		if o.run.active -= o.count; o.run.active == 0 {
			c.moving = append(c.moving, o.run)
		}
	}
	return c.s.cfg.Costs.Completion + c.s.cfg.Costs.Outcome*time.Duration(n)
}

// dueNow returns how many starts are due, and when the next one is; none reports that there is
// none.
func (c *control) dueNow() (due int, next time.Duration, none bool) {
	for due < len(c.starts) && c.starts[due].At <= c.s.q.now {
		due++
	}
	if due == len(c.starts) {
		return due, 0, true
	}
	return due, c.starts[due].At, false
}

// fire fires the starts that are due and returns the cost, and whether a run was created.
func (c *control) fire() (cost time.Duration, fired bool) {
	due, _, _ := c.dueNow()
	for _, start := range c.starts[:due] {
		c.create(start)
		c.s.report.fired(c.s.q.now - start.At)
	}
	c.starts = c.starts[due:]
	return c.s.cfg.Costs.Fire + c.s.cfg.Costs.Fired*time.Duration(due), due > 0
}
