package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what a simulation has found.
type Report struct {
	s   *simulation
	end time.Duration

	Calls map[string]*Calls // by procedure
	All   Calls
	// Busy is the share of the control database's processors that were busy, from 0 to 1, and
	// BusiestMinute that of the minute with the most work.
	Busy, BusiestMinute float64
	Waits               Spread // of calls for a processor
	Lags                Spread // of schedules: from the due instant to the run
	Runs                []Run
	Targets             int           // of the steps of ended runs
	Unended             int           // runs that are active at the end, or have not begun
	AgentCPU            time.Duration // sum of all scripts

	minutes []time.Duration // work that began in each minute
}

// Calls are the calls of one procedure.
type Calls struct {
	Count int
	Cost  time.Duration // sum
}

// Run is a run that has ended.
type Run struct {
	Targets int // of all steps
	Elapsed time.Duration
	Agents  int // that took part
	// FirstJoin and LastJoin are from the beginning of the run to the first claims of agents.
	FirstJoin, LastJoin time.Duration
}

// newReport returns an empty report.
func newReport(s *simulation, end time.Duration) *Report {
	return &Report{s: s, end: end, Calls: map[string]*Calls{}, minutes: make([]time.Duration, int(end/time.Minute)+1)}
}

// called counts a call that begins to be carried out after a wait.
func (r *Report) called(name string, at, wait, cost time.Duration) {
	if at < r.s.cfg.From {
		return
	}
	c := r.Calls[name]
	if c == nil {
		c = &Calls{}
		r.Calls[name] = c
	}
	c.Count++
	c.Cost += cost
	r.All.Count++
	r.All.Cost += cost
	r.Waits.add(wait)
	r.minutes[at/time.Minute] += cost
}

// fired counts a schedule that has fired.
func (r *Report) fired(lag time.Duration) { r.Lags.add(lag) }

// ended counts a run that has ended.
func (r *Report) ended(x *run) {
	one := Run{Targets: x.Targets * x.Steps, Elapsed: x.endedAt - x.firedAt, Agents: len(x.holders), FirstJoin: x.endedAt - x.firedAt}
	for _, at := range x.holders {
		one.FirstJoin = min(one.FirstJoin, at-x.firedAt)
		one.LastJoin = max(one.LastJoin, at-x.firedAt)
	}
	r.Targets += one.Targets
	r.Runs = append(r.Runs, one)
}

// finish computes what the counts say.
func (r *Report) finish() {
	s := r.s
	cores := float64(s.cfg.ControlCores)
	if s.cfg.Shared > 0 {
		cores = float64(s.cfg.Shared)
	}
	r.Busy = r.All.Cost.Seconds() / r.counted() / cores
	for _, busy := range r.minutes {
		r.BusiestMinute = max(r.BusiestMinute, busy.Seconds()/time.Minute.Seconds()/cores)
	}
	r.Unended = s.control.active + len(s.control.starts)
	for _, a := range s.agents {
		r.AgentCPU += a.process.busy
	}
}

// counted returns the seconds in which calls were counted.
func (r *Report) counted() float64 { return (r.end - r.s.cfg.From).Seconds() }

// Rate returns the calls a second.
func (r *Report) Rate() float64 { return float64(r.All.Count) / r.counted() }

// PerTarget returns the calls for each target.
func (r *Report) PerTarget() float64 { return float64(r.All.Count) / float64(max(1, r.Targets)) }

// Elapsed returns the median time of the runs with so many targets: at least from, and less than
// to. n is the number of these runs.
func (r *Report) Elapsed(from, to int) (median time.Duration, n int) {
	var list []time.Duration
	for _, run := range r.Runs {
		if run.Targets >= from && run.Targets < to {
			list = append(list, run.Elapsed)
		}
	}
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	return list[len(list)/2], len(list)
}

// String returns the report as lines of text.
func (r *Report) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Calls)) {
		c := r.Calls[name]
		fmt.Fprintf(&b, "%9.2f calls a second, %6.2f ms each, %5.2f %% of the work: %s\n", float64(c.Count)/r.counted(),
			milliseconds(c.Cost)/float64(c.Count), 100*c.Cost.Seconds()/r.All.Cost.Seconds(), name)
	}
	fmt.Fprintf(&b, "%9.2f calls a second, %.4f and %.4f ms of a processor for each of %d targets\n", r.Rate(), r.PerTarget(),
		milliseconds(r.All.Cost)/float64(max(1, r.Targets)), r.Targets)
	fmt.Fprintf(&b, "control database: %.2f %% busy, %.1f %% in the busiest minute; calls wait %s\n", 100*r.Busy, 100*r.BusiestMinute, &r.Waits)
	if r.Lags.count > 0 {
		fmt.Fprintf(&b, "schedules fire late by %s\n", &r.Lags)
	}
	for from := 1; from <= 100_000; from *= 10 {
		if median, n := r.Elapsed(from, 10*from); n > 0 {
			fmt.Fprintf(&b, "runs on %d to %d targets take %s (median of %d)\n", from, 10*from-1, median.Round(time.Millisecond), n)
		}
	}
	fmt.Fprintf(&b, "runs that have not ended: %d", r.Unended)
	return b.String()
}

// milliseconds converts a duration.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Spread counts durations in classes whose limits grow by a quarter.
type Spread struct {
	classes [100]int
	count   int
	sum     time.Duration
	most    time.Duration
}

// spreadUnit is the limit of the first class.
const spreadUnit = 10 * time.Microsecond

// add counts a duration.
func (s *Spread) add(d time.Duration) {
	s.count++
	s.sum += d
	s.most = max(s.most, d)
	class := 0
	for limit := spreadUnit; d > limit && class < len(s.classes)-1; limit += limit / 4 {
		class++
	}
	s.classes[class]++
}

// Mean returns the average.
func (s *Spread) Mean() time.Duration { return s.sum / time.Duration(max(1, s.count)) }

// Percentile returns the limit of the class with a percentile; share is from 0 to 1.
func (s *Spread) Percentile(share float64) time.Duration {
	limit, seen := spreadUnit, 0
	for _, n := range s.classes {
		if seen += n; float64(seen) >= share*float64(s.count) {
			break
		}
		limit += limit / 4
	}
	return min(limit, s.most)
}

// String returns the average, the 99th percentile and the maximum.
func (s *Spread) String() string {
	return fmt.Sprintf("%.2f ms on average, %.2f ms at p99, %.2f ms at most", milliseconds(s.Mean()), milliseconds(s.Percentile(0.99)), milliseconds(s.most))
}
