package metrics

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/jobs"
)

const (
	// readEvery is how long the numbers of runs are kept, however often Prometheus asks.
	readEvery = 5 * time.Second
	// readLimit bounds a read. Prometheus waits 10 s for an answer by default.
	readLimit = 4 * time.Second
)

// RunCounts reads the numbers of runs and skips. since is the value Until of the last read; zero
// before the first one.
type RunCounts func(ctx context.Context, since time.Time) (measure.RunCounts, error)

// runReader counts the runs of a control database. All who ask within a few seconds share a read.
type runReader struct {
	mu      sync.Mutex // held during a read
	ok      int        // reads that succeeded
	failed  int        // reads that did not
	sources []*RunCounts
	at      time.Time // of the last read; zero: none
	known   bool      // the last read succeeded
	since   time.Time // Until of the last read that succeeded
	paused  float64   // 1: paused
	active  map[string]int64
	ended   map[string]int64 // since the process began to count
	skips   map[string]int64
}

// CountRuns counts runs with read, until stop is called. Of several, the first one is used.
func (d *Database) CountRuns(read RunCounts) (stop func()) {
	if d == nil {
		return func() {}
	}
	r := &d.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = append(r.sources, &read)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, one := range r.sources {
			if one == &read {
				r.sources = append(r.sources[:i:i], r.sources[i+1:]...)
				return
			}
		}
	}
}

// runNumbers are what a reader has counted.
type runNumbers struct {
	ok, failed           int
	known                bool // what follows is up to date
	paused               float64
	active, ended, skips map[string]int64
}

// numbers returns what the reader has counted, and whether it counts at all.
func (r *runReader) numbers(ctx context.Context) (n runNumbers, counts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sources) == 0 {
		return n, false
	}
	if r.at.IsZero() || time.Since(r.at) >= readEvery {
		r.read(ctx)
	}
	return runNumbers{
		ok: r.ok, failed: r.failed, known: r.known, paused: r.paused,
		active: maps.Clone(r.active), ended: maps.Clone(r.ended), skips: maps.Clone(r.skips),
	}, true
}

// read reads what is new. r.mu must be held.
func (r *runReader) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	c, err := (*r.sources[0])(ctx, r.since)
	r.at, r.known = time.Now(), err == nil
	if err != nil {
		r.failed++
		return
	}
	r.ok++
	if r.ended == nil {
		r.ended, r.skips = lifecycles(false), zeros(measure.SkipCauses())
	}
	r.since, r.active = c.Until, lifecycles(true)
	if r.paused = 0; c.Paused {
		r.paused = 1
	}
	maps.Copy(r.active, c.Active)
	for lifecycle, n := range c.Ended {
		r.ended[lifecycle] += n
	}
	for cause, n := range c.Skips {
		r.skips[cause] += n
	}
}

// lifecycles returns the lifecycles of active runs, or of ended ones, with the value 0.
func lifecycles(active bool) map[string]int64 {
	m := map[string]int64{}
	for _, l := range jobs.Lifecycles() {
		if l.Active() == active {
			m[string(l)] = 0
		}
	}
	return m
}

// zeros returns a map in which each key has the value 0.
func zeros(keys []string) map[string]int64 {
	m := make(map[string]int64, len(keys))
	for _, key := range keys {
		m[key] = 0
	}
	return m
}
