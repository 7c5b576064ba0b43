package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
)

// Config is what an agent can be told. The zero value of each field means its default.
type Config struct {
	// AgentID identifies the agent in the control database; a new one is made by default. An agent that
	// starts again under its old id ends what is left of its former term at once.
	AgentID uuid.UUID
	// Host is the machine's name, for people who read the tables. Default: the operating system's host name.
	Host string
	// Version is the program's version, for people who read the tables.
	Version string

	// MaxConcurrentTargets is how many targets the agent runs a script on at the same moment, the number
	// behind Azure's JA100 to JA800. Default 100.
	MaxConcurrentTargets int
	// Prefetch is the most tasks beyond the free workers that are claimed, so that a worker which becomes free does not wait for a
	// round trip. How many are is what workers finish in some 0.1 s. Default: MaxConcurrentTargets.
	Prefetch int
	// OutcomeBuffer is how many outcomes may wait for the control database before claiming stops.
	// Default: ten times MaxConcurrentTargets.
	OutcomeBuffer int

	// Lease is how long a term lasts without renewal; work of a dead agent is handed over after at most
	// two of it. Default 30 s, at least 1 s.
	Lease time.Duration
	// PollActive is how soon the next pass follows one while something moves, unless there is a reason for one, and how
	// long an outcome waits for others to be handed over with. While nothing is under way any more, passes follow each other
	// twice as fast for two seconds. Default 50 ms.
	PollActive time.Duration
	// PollIdle is how soon the next pass follows one while nothing does: how long a run that somebody starts, and a stop
	// request, waits at most. New schedules are looked for, and drift under load, at three times the interval. Default 300 ms.
	PollIdle time.Duration
	// MissedAfter is how late a scheduled run may be begun and still be on time; later than that it was missed, and the
	// schedule's catch-up policy decides on it. Default 60 s, as for Quartz with a database.
	MissedAfter time.Duration
	// Grace is how long a stopping agent lets running scripts go on before it cancels them. Default 30 s;
	// negative: none.
	Grace time.Duration
}

// rarely is how often what few changes concern is looked at.
func (c Config) rarely() time.Duration { return 3 * c.PollIdle }

// patience is how long a claimed task waits for a worker before it is handed back.
func (c Config) patience() time.Duration { return 10 * c.PollIdle }

// withDefaults fills in what is not set.
func (c Config) withDefaults() (Config, error) {
	if c.AgentID == uuid.Nil {
		id, err := uuid.NewRandom()
		if err != nil {
			return c, fmt.Errorf("make an agent id: %w", err)
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
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.PollActive = cmp.Or(c.PollActive, 50*time.Millisecond)
	c.PollIdle = cmp.Or(c.PollIdle, 300*time.Millisecond)
	c.MissedAfter = cmp.Or(c.MissedAfter, time.Minute)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	return c, c.validate()
}

// validate names every field that is out of range, and its value.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v: must be %s", field, value, rule))
		}
	}
	check(c.MaxConcurrentTargets >= 1 && c.MaxConcurrentTargets <= 10000, "max concurrent targets", c.MaxConcurrentTargets, "1 to 10000")
	check(c.Prefetch >= 1 && c.Prefetch <= 10000, "prefetch", c.Prefetch, "1 to 10000")
	check(c.OutcomeBuffer >= c.MaxConcurrentTargets, "outcome buffer", c.OutcomeBuffer, "at least max concurrent targets")
	check(c.Lease >= time.Second && c.Lease <= time.Hour, "lease", c.Lease, "1s to 1h")
	check(c.PollActive > 0 && c.PollActive <= c.PollIdle, "active poll interval", c.PollActive, "above 0 and at most the idle one")
	check(c.MissedAfter > 0, "time after which a run was missed", c.MissedAfter, "above 0")
	check(c.PollIdle <= c.Lease/3, "idle poll interval", c.PollIdle, "at most a third of the lease")
	return errors.Join(errs...)
}
