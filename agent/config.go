package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
)

// Config configures an agent. The zero value of each field means its default.
type Config struct {
	// AgentID identifies the agent in the control database. The default is a new ID. An agent that
	// restarts with its old ID ends its former term at once.
	AgentID uuid.UUID
	// Host is the machine's name, for display. Default: the operating system's host name.
	Host string
	// Version is the program's version, for display.
	Version string

	// MaxConcurrentTargets is the number of workers, and so the number of targets on which the
	// agent runs scripts at the same time. It corresponds to Azure's JA100 to JA800. Default 100.
	MaxConcurrentTargets int
	// Budget shares the workers of several agents of this process; nil means that this agent has
	// MaxConcurrentTargets workers of its own. With a budget, MaxConcurrentTargets is an upper
	// limit.
	Budget *Budget
	// AccountRequired means that the agent works only for a job agent that was created in the
	// control database. Otherwise the agent also works for a database that has never had one.
	AccountRequired bool
	// Prefetch is the largest number of tasks that are claimed beyond the idle workers, so that a
	// worker need not wait for a round trip. The actual number is the number of tasks that the
	// workers finish in some 0.1 s. Default: MaxConcurrentTargets.
	Prefetch int
	// OutcomeBuffer is how many outcomes may wait for the control database before claiming stops.
	// Default: ten times MaxConcurrentTargets.
	OutcomeBuffer int
	// TargetsPerCall is the largest number of targets of a resolution in one call to the control
	// database; a longer list takes several calls. Default 5000.
	TargetsPerCall int

	// Lease is how long a term lasts without renewal. The tasks of an agent that was killed are
	// handed to another agent after at most two leases. Default 30 s, at least 1 s.
	Lease time.Duration
	// PollActive is the time between passes while tasks are claimed, canceled or delivered, unless
	// a pass is requested earlier, or the queue has enough tasks of a backlog: then the time is
	// PollIdle. It is also the longest time for which an outcome waits for others of its batch.
	// While the term holds no task, the time between passes is half of PollActive for two seconds
	// after the last activity. With more than ten agents, all of these times are longer in
	// proportion, up to PollIdle. Default 50 ms.
	PollActive time.Duration
	// PollIdle is the time between passes of an idle agent. A new run and a stop request wait for
	// at most this time. New schedules, and drift under load, are polled at three times the
	// interval. Default 300 ms.
	PollIdle time.Duration
	// MissedAfter is the longest delay of a scheduled run that still counts as on time. A later
	// occurrence was missed, and the schedule's catch-up policy applies. Default 60 s, like Quartz
	// with a database.
	MissedAfter time.Duration
	// Grace is how long a stopping agent waits for running scripts before it cancels them. Default
	// 30 s; a negative value means no grace period.
	Grace time.Duration

	// Alive is called after each pass, and after each failed attempt to reach the control database
	// or to start a term. A call to the control database takes at most a minute; a process in which
	// nothing calls Alive for several minutes hangs. Several goroutines may call Alive at the same
	// time. The default does nothing.
	Alive func()

	// Metrics counts what the agent does; nil counts nothing.
	Metrics *metrics.Agent
}

// polls returns the intervals that decide when the agent calls the control database.
func (c Config) polls() pacing.Polls {
	return pacing.Polls{Active: c.PollActive, Idle: c.PollIdle, Lease: c.Lease}
}

// claimTimeout is the time without a worker that takes a task after which queued tasks are
// returned.
func (c Config) claimTimeout() time.Duration { return 10 * c.PollIdle }

// withDefaults returns c with defaults for fields that are not set.
func (c Config) withDefaults() (Config, error) {
	if c.AgentID == uuid.Nil {
		id, err := uuid.NewRandom()
		if err != nil {
			return c, fmt.Errorf("create an agent ID: %w", err)
		}
		c.AgentID = id
	}
	if c.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("read the host name (set it in the configuration): %w", err)
		}
		c.Host = host
	}
	c.MaxConcurrentTargets = cmp.Or(c.MaxConcurrentTargets, 100)
	c.Prefetch = cmp.Or(c.Prefetch, c.MaxConcurrentTargets)
	c.OutcomeBuffer = cmp.Or(c.OutcomeBuffer, 10*c.MaxConcurrentTargets)
	c.TargetsPerCall = cmp.Or(c.TargetsPerCall, controldb.TargetsPerCall)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.PollActive = cmp.Or(c.PollActive, 50*time.Millisecond)
	c.PollIdle = cmp.Or(c.PollIdle, 300*time.Millisecond)
	c.MissedAfter = cmp.Or(c.MissedAfter, time.Minute)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	if c.Alive == nil {
		c.Alive = func() {}
	}
	return c, c.validate()
}

// validate returns an error for every field that is out of range.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("invalid %s %v: want %s", field, value, rule))
		}
	}
	check(c.MaxConcurrentTargets >= 1 && c.MaxConcurrentTargets <= 10000,
		"max concurrent targets", c.MaxConcurrentTargets, "1 to 10000")
	check(c.Prefetch >= 1 && c.Prefetch <= 10000, "prefetch", c.Prefetch, "1 to 10000")
	check(c.OutcomeBuffer >= c.MaxConcurrentTargets, "outcome buffer", c.OutcomeBuffer, "at least max concurrent targets")
	check(c.TargetsPerCall >= 1 && c.TargetsPerCall <= controldb.TargetsPerCall,
		"targets per call", c.TargetsPerCall, fmt.Sprintf("1 to %d", controldb.TargetsPerCall))
	check(c.Lease >= time.Second && c.Lease <= time.Hour, "lease", c.Lease, "1s to 1h")
	check(c.PollActive > 0 && c.PollActive <= c.PollIdle,
		"active poll interval", c.PollActive, "more than 0 and at most the idle poll interval")
	check(c.MissedAfter > 0, "missed-after time", c.MissedAfter, "more than 0")
	check(c.PollIdle <= c.Lease/3, "idle poll interval", c.PollIdle, "at most a third of the lease")
	return errors.Join(errs...)
}
