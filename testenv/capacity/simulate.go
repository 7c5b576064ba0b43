package capacity

import (
	"math/rand/v2"
	"time"
)

// simulation is the state of one simulation.
type simulation struct {
	cfg     Config
	q       events
	rng     *rand.Rand
	control *control
	agents  []*agent
	report  *Report
}

// Simulate simulates a fleet from a moment before the first start until end. The runs of starts
// must be ordered by time.
func Simulate(cfg Config, starts []Start, end time.Duration) *Report {
	s := &simulation{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 2))}
	if s.cfg.Buffer == 0 {
		s.cfg.Buffer = 10 * cfg.Workers
	}
	s.report = newReport(s, end)
	own := func(cores int) *processors { return &processors{q: &s.q, free: cores} }
	shared := own(cfg.Shared)
	on := func(cores int) *processors {
		if cfg.Shared > 0 {
			return shared
		}
		return own(cores)
	}
	s.control = &control{s: s, process: &process{on: on(cfg.ControlCores), limit: cfg.Calls}}
	if cfg.Started {
		for _, start := range starts {
			s.q.after(start.At, func(*run) { s.control.create(start) }, nil)
		}
	} else {
		s.control.starts = starts
	}
	for range cfg.Agents {
		a := &agent{s: s, process: &process{on: on(cfg.AgentCores)}, agents: cfg.Agents, known: map[int]bool{}}
		a.claims.Workers, a.claims.Prefetch = cfg.Workers, cfg.Workers
		s.agents = append(s.agents, a)
		a.begin()
	}
	for s.q.next(end) {
		continue
	}
	s.report.finish()
	return s.report
}

// random returns a time from 0 to d.
func (s *simulation) random(d time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(int64(d) + 1))
}

// jittered returns d plus or minus up to a tenth, as agents do.
func (s *simulation) jittered(d time.Duration) time.Duration { return d - d/10 + s.random(d/5) }
