package pacing

import "time"

// crowdSize is how many agents call the control database at the configured intervals. Each of a
// larger number calls less often, so that all of them together make as many calls as crowdSize
// agents, and new work still waits for hardly longer than a tenth of an interval until one of them
// finds it.
const crowdSize = 10

// activeTime is the time after the last activity (a claim, a cancel signal or a delivery) during
// which passes follow each other at the active poll interval, because people and programs often
// start several runs one after the other. While a long script runs without other activity, and
// while the queue feeds the workers, the idle poll interval applies; a stop request and a new run
// then wait for at most this interval.
const activeTime = 2 * time.Second

const (
	// evaluateEvery is the time between evaluations of the alerts of a control database, by all
	// processes.
	evaluateEvery = 5 * time.Second
	// claimEvery is the time between looks for deliveries of alerts that are due.
	claimEvery = 2 * time.Second
)

// Polls are the intervals of an agent's configuration.
type Polls struct {
	Active time.Duration // between passes while tasks are claimed, canceled or delivered; with many agents up to Idle
	Idle   time.Duration // between other passes
	Lease  time.Duration // of a term without renewal
}

// Passed is what an agent knows after a pass.
type Passed struct {
	Full bool // the pass claimed all that it asked for
	Low  bool // the queue is nearly empty and tasks may be claimed
	// Fed means that the control database has more tasks than the queue, which is not nearly empty:
	// the pass that follows as soon as it is needs no timer.
	Fed  bool
	More bool // the control database has more to do at once
	// Active says that a task was claimed, canceled or delivered before, and SinceActive how long
	// ago the last one was.
	Active      bool
	SinceActive time.Duration
	Held        int // tasks of the term
	Agents      int // that share the control database; 0: not known yet
	// Wakes means that something in the control database is due at a known time, WakesIn from now.
	Wakes   bool
	WakesIn time.Duration
}

// AfterPass returns the time to the next pass. jitter changes the idle interval, so that the passes
// of several agents do not run in step.
func (p Polls) AfterPass(s Passed, jitter func(time.Duration) time.Duration) time.Duration {
	switch {
	case s.Full && s.Low:
		return 0 // there may be more
	case s.More:
		return 0
	case !s.Active || s.SinceActive >= activeTime || s.Fed:
	case s.Held == 0:
		return crowded(s.Agents, p.Active/2, p.Idle)
	default:
		return crowded(s.Agents, p.Active, p.Idle)
	}
	idle := p.Idle
	if s.Held == 0 { // else a stop request waits for this agent
		idle = crowded(s.Agents, idle, p.Lease/3)
	}
	idle = jitter(idle)
	if s.Wakes {
		idle = min(idle, max(p.Active, s.WakesIn))
	}
	return idle
}

// Gather returns how long an outcome waits for others of its delivery at most. While the queue
// feeds the workers ([Claims.Fed]), that is longer: the queue asks for a delivery when it is nearly
// empty, nothing is claimed before, and a delivery has a cost that does not depend on its outcomes.
func (p Polls) Gather(agents int, fed bool) time.Duration {
	limit := crowded(agents, p.Active, p.Idle)
	if fed {
		limit = max(limit, min(3*p.Active, p.Idle))
	}
	return limit
}

// Slow is the time between looks for state that changes rarely, such as drift under load.
func (p Polls) Slow() time.Duration { return 3 * p.Idle }

// Schedules returns the longest time between two looks for schedules that are new or due, of an
// agent of so many: one second at the default Idle. A due instant that is known ends the wait
// earlier.
func (p Polls) Schedules(agents int) time.Duration { return crowded(agents, 10*p.Idle/3, p.Lease) }

// Evaluation returns the time between two evaluations of alerts, of an agent of so many. A
// watchdog that is late by this time after most agents have died is still useful.
func Evaluation(agents int) time.Duration {
	return crowded(agents, evaluateEvery, 3*evaluateEvery)
}

// AlertClaim returns the time between two looks for deliveries of alerts that are due, of an agent
// of so many.
func AlertClaim(agents int) time.Duration { return crowded(agents, claimEvery, 10*claimEvery) }

// Renewal returns the time between two renewals of a term.
func (p Polls) Renewal() time.Duration { return p.Lease / 3 }

// crowded returns the time between two calls of an agent of so many: base, and with more than
// crowdSize agents longer in proportion, but not longer than most.
func crowded(agents int, base, most time.Duration) time.Duration {
	if agents <= crowdSize {
		return base
	}
	return max(base, min(most, base*time.Duration(agents)/crowdSize))
}
