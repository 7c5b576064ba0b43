package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jobagent/jobagent/agent/pacing"
)

// Config describes a fleet.
type Config struct {
	Agents   int
	Workers  int           // concurrent targets of each agent
	Buffer   int           // outcomes that stop claims; 0: ten times Workers, as agents have it
	Polls    pacing.Polls  // intervals of the agents
	TaskCPU  time.Duration // of a processor of the agent, for one script
	TaskTime time.Duration // average time of a script beside that; each takes a half to one and a half of it
	// Started says that somebody starts the runs, at their instants. Otherwise they have schedules.
	Started bool

	ControlCores int           // processors of the control database
	Calls        int           // that the control database carries out at once; 0: no limit beside ControlCores
	Latency      time.Duration // of a call beside its cost: network and log
	AgentCores   int           // processors of each agent
	// Shared are processors that all agents and the control database share, as in a test on one
	// machine; 0: they have ControlCores and AgentCores.
	Shared int
	Costs  Costs
	Seed   uint64
	From   time.Duration // calls before this instant are not counted
}

// Costs are the costs of calls, in time of a processor of the control database.
type Costs struct {
	Pass       time.Duration // without work
	PassRun    time.Duration // more, for each active run, if it advances
	PassMoved  time.Duration // more, if it claims or moves something
	Claimed    time.Duration // more, for each claimed task
	Completion time.Duration // a delivery of outcomes
	Outcome    time.Duration // more, for each
	Resolution time.Duration // a call with resolved targets
	Resolved   time.Duration // more, for each target, including the pass that writes its row
	Ended      time.Duration // for each target of a step that ends, in a pass

	Due, Fire, Fired   time.Duration // a look for schedules; a firing; more for each run
	Renewal, Command   time.Duration // of a lease; the read of a step's command
	Alerts, Deliveries time.Duration // looks of the alerts
	Targets, Account   time.Duration // registration of targets; state of the job agent
}

// Contention is how much more a call costs in TestFleet, where twenty agents and the control
// database share two cores, than in TestFleetCosts, where one client makes the same call again and
// again: 1.9 times with one agent, and some three times with twenty.
const Contention = 2.5

// Embedded returns the costs of the embedded server: JOBAGENT_TEST_LONG=1 go test ./cmd/jobagent
// -run 'TestFleetCosts$' -v. Those of a firing, of a resolution without targets and of a command
// are estimates.
func Embedded() Costs {
	const us = time.Microsecond
	return Costs{
		Pass: 254 * us, PassRun: 10 * us, PassMoved: 810 * us, Claimed: 17 * us,
		Completion: 304 * us, Outcome: 14 * us, Resolution: 500 * us, Resolved: 26 * us, Ended: us,
		Due: 200 * us, Fire: 500 * us, Fired: 500 * us, Renewal: 183 * us, Command: 100 * us,
		Alerts: 98 * us, Deliveries: 108 * us, Targets: 183 * us, Account: 99 * us,
	}
}

// Times returns the costs multiplied by a factor.
func (c Costs) Times(factor float64) Costs {
	for _, d := range []*time.Duration{
		&c.Pass, &c.PassRun, &c.PassMoved, &c.Claimed, &c.Completion, &c.Outcome, &c.Resolution, &c.Resolved, &c.Ended, &c.Due, &c.Fire, &c.Fired,
		&c.Renewal, &c.Command, &c.Alerts, &c.Deliveries, &c.Targets, &c.Account,
	} {
		*d = time.Duration(float64(*d) * factor)
	}
	return c
}

// Defaults returns so many agents with their default settings, a second for each script, and a
// control database with so many processors. Its calls cost what they cost the embedded server under
// load.
func Defaults(agents, cores int) Config {
	return Config{
		Agents: agents, Workers: 100, AgentCores: 2, TaskCPU: 3 * time.Millisecond, TaskTime: time.Second,
		Polls:        pacing.Polls{Active: 50 * time.Millisecond, Idle: 300 * time.Millisecond, Lease: 30 * time.Second},
		ControlCores: cores, Latency: 2 * time.Millisecond, Costs: Embedded().Times(Contention),
	}
}

// Start is a run that begins at an instant.
type Start struct {
	At      time.Duration
	Job     int // whose command the agents remember
	Targets int
	Steps   int
}

// Week returns the runs of a number of days: each of the jobs runs once a day, half of them at full
// hours and half at any second, all at the same time each day. If whole is true, each runs on all
// targets. Otherwise the logarithms of the numbers of their targets are spread evenly from 1 to
// targets.
func Week(days, jobs, targets int, whole bool, seed uint64) []Start {
	r := rand.New(rand.NewPCG(seed, 1))
	const day = 24 * time.Hour
	var list []Start
	for job := range jobs {
		at := time.Duration(r.IntN(24)) * time.Hour
		if job%2 == 1 {
			at = time.Duration(r.IntN(int(day/time.Second))) * time.Second
		}
		// Evenly spread quantiles, so that a run with few jobs has the average size, too.
		size := math.Exp((float64(job) + 0.5) / float64(jobs) * math.Log(float64(targets)))
		if whole {
			size = float64(targets)
		}
		for d := range days {
			list = append(list, Start{At: time.Duration(d)*day + at, Job: job, Targets: max(1, int(size)), Steps: 1})
		}
	}
	slices.SortStableFunc(list, func(a, b Start) int { return int(a.At - b.At) })
	return list
}
