package capacity

import (
	"flag"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv"
)

// A week of a large fleet: go test ./testenv/capacity -run 'TestWeek$' -v -capacity.days 7
// -capacity.agents 100
var (
	days    = flag.Float64("capacity.days", testenv.Sample(0.05, 1), "simulated days of TestWeek")
	agents  = flag.Int("capacity.agents", 100, "agents of TestWeek")
	jobs    = flag.Int("capacity.jobs", 1000, "jobs of TestWeek, each of which runs once a day")
	targets = flag.Int("capacity.targets", 100_000, "targets of the largest job of TestWeek")
	whole   = flag.Bool("capacity.whole", false, "each job of TestWeek runs on all targets")
	cores   = flag.Int("capacity.cores", 4, "processors of the control database of TestWeek")
	factor  = flag.Float64("capacity.factor", 1, "cost of calls in TestWeek, compared with Defaults")
	all     = flag.Bool("capacity.all", false, "TestGrowth simulates runs on 10,000 and 100,000 targets, too")
	script  = flag.Duration("capacity.script", time.Second, "average time of a script of TestWeek")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// All runs of a week end, each target once, and the report says what they cost.
func TestWeek(t *testing.T) {
	t.Parallel()
	cfg := Defaults(*agents, *cores)
	cfg.Costs, cfg.TaskTime = cfg.Costs.Times(*factor), *script
	end := time.Duration(*days * float64(24*time.Hour))
	var starts []Start
	expected := 0
	for _, start := range Week(int(*days)+1, *jobs, *targets, *whole, 1) {
		if start.At < end {
			starts = append(starts, start)
			expected += start.Targets
		}
	}
	r := Simulate(cfg, starts, end+time.Hour)
	t.Logf("%d agents, %d runs, %d targets in %.1f hours\n%s", *agents, len(starts), expected, r.end.Hours(), r)
	require.Len(t, r.Runs, len(starts))
	require.Equal(t, expected, r.Targets)
	require.Zero(t, r.Unended)
}

// measured is what TestFleet measured in cmd/jobagent: medians of five rounds, on two cores that
// others used as well.
type measured struct {
	agents int
	delay  time.Duration // -fleet.delay

	// calls for each target
	passes, deliveries, all float64
	seconds                 float64 // of a run
	joined                  int     // agents that took part
	work                    float64 // of the control database, ms of a processor for each target
}

// calibration are measurements of runs on 2,000 targets: -fleet.targets 2000 -fleet.rounds 5.
var calibration = []measured{
	{agents: 1, delay: 100 * time.Millisecond, passes: 0.029, deliveries: 0.026, all: 0.059, seconds: 2.30, joined: 1, work: 0.18},
	{agents: 5, delay: 100 * time.Millisecond, passes: 0.054, deliveries: 0.029, all: 0.088, seconds: 0.75, joined: 5, work: 0.18},
	{agents: 20, delay: 100 * time.Millisecond, passes: 0.122, deliveries: 0.026, all: 0.172, seconds: 1.13, joined: 13, work: 0.31},
	{agents: 20, delay: time.Second, passes: 0.349, deliveries: 0.102, all: 0.495, seconds: 2.36, joined: 20, work: 0.65},
}

// predict simulates a measurement on two processors that all processes share, and returns medians
// of several simulations.
func predict(m measured) (p measured) {
	var list []measured
	for seed := range uint64(11) {
		cfg := Defaults(m.agents, 2)
		cfg.Shared, cfg.Started, cfg.Seed = 2, true, seed
		cfg.Latency, cfg.TaskCPU, cfg.TaskTime = 200*time.Microsecond, taskCPU, m.delay
		cfg.From = time.Minute + time.Duration(seed)*37*time.Millisecond
		starts := []Start{{At: cfg.From, Targets: 2000, Steps: 1}}
		run := Simulate(cfg, starts, cfg.From+time.Minute).Runs[0]
		r := Simulate(cfg, starts, cfg.From+run.Elapsed) // the same again, to count the calls until its end
		each := func(n int) float64 { return float64(n) / 2000 }
		list = append(list, measured{
			passes: each(r.Calls[callPass].Count), deliveries: each(r.Calls[callOutcomes].Count), all: each(r.All.Count),
			seconds: run.Elapsed.Seconds(), joined: run.Agents, work: milliseconds(r.All.Cost) / 2000,
		})
	}
	middle := func(of func(measured) float64) float64 {
		values := make([]float64, 0, len(list))
		for _, one := range list {
			values = append(values, of(one))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return measured{
		agents: m.agents, delay: m.delay,
		passes: middle(func(m measured) float64 { return m.passes }), deliveries: middle(func(m measured) float64 { return m.deliveries }),
		all: middle(func(m measured) float64 { return m.all }), seconds: middle(func(m measured) float64 { return m.seconds }),
		joined: int(middle(func(m measured) float64 { return float64(m.joined) })), work: middle(func(m measured) float64 { return m.work }),
	}
}

// taskCPU is what a script costs an agent in TestFleet, whose targets use no TLS.
const taskCPU = 400 * time.Microsecond

// The model predicts what was measured within a factor of two, and calls of idle agents within a
// tenth.
func TestCalibration(t *testing.T) {
	t.Parallel()
	for _, m := range calibration {
		p := predict(m)
		for _, v := range []struct {
			name                string
			measured, predicted float64
		}{
			{"passes a target", m.passes, p.passes}, {"deliveries a target", m.deliveries, p.deliveries}, {"calls a target", m.all, p.all},
			{"seconds of a run", m.seconds, p.seconds}, {"agents that took part", float64(m.joined), float64(p.joined)},
			{"ms of the control database a target", m.work, p.work},
		} {
			t.Logf("%2d agents, scripts of %v: %s: measured %.3f, predicted %.3f (%+.0f %%)", m.agents, m.delay, v.name, v.measured, v.predicted,
				100*(v.predicted/v.measured-1))
			require.InDelta(t, 0, math.Log(v.predicted/v.measured), math.Log(2), v.name)
		}
	}
	cfg := Defaults(20, 2)
	cfg.From = time.Minute
	r := Simulate(cfg, nil, 2*time.Minute)
	const idle, passes = 61.3, 33.5 // measured with -fleet.idle 20s, without the calls that reads of metrics make
	t.Logf("20 idle agents: measured %.1f calls and %.1f passes a second, predicted %.1f and %.1f", idle, passes,
		r.Rate(), float64(r.Calls[callPass].Count)/60)
	require.InEpsilon(t, idle, r.Rate(), 0.1)
	require.InEpsilon(t, passes, float64(r.Calls[callPass].Count)/60, 0.1)
}

// growth simulates one run on so many targets, and returns what was counted from its start to its
// end.
func growth(agents, targets int) *Report {
	cfg := Defaults(agents, *cores)
	cfg.TaskTime, cfg.Costs, cfg.Started, cfg.From = *script, cfg.Costs.Times(*factor), true, time.Minute
	starts := []Start{{At: cfg.From, Targets: targets, Steps: 1}}
	run := Simulate(cfg, starts, cfg.From+time.Hour).Runs[0]
	return Simulate(cfg, starts, cfg.From+run.Elapsed)
}

// What grows with agents and with targets. However many agents there are, idle ones make as many
// passes as ten do, and a target costs the control database at most a quarter more than with one.
func TestGrowth(t *testing.T) {
	t.Parallel()
	counts, sizes := []int{1, 2, 5, 10, 20, 50, 100, 200}, []int{1000, 10_000, 100_000}
	if !testenv.IsLong() && !*all {
		counts, sizes = []int{1, 20, 100}, sizes[:1]
	}
	one := map[int]float64{}
	for _, agents := range counts {
		cfg := Defaults(agents, *cores)
		cfg.From = time.Minute
		idle := Simulate(cfg, nil, 2*time.Minute)
		passes := float64(idle.Calls[callPass].Count) / 60
		t.Logf("%3d idle agents: %6.1f calls a second, %5.1f passes, %5.1f looks for schedules, %4.1f %% of the control database", agents, idle.Rate(),
			passes, float64(idle.Calls[callDue].Count)/60, 100*idle.Busy)
		require.LessOrEqual(t, passes, 1.05*10/cfg.Polls.Idle.Seconds())
		for _, targets := range sizes {
			r := growth(agents, targets)
			run, cost := r.Runs[0], milliseconds(r.All.Cost)/float64(targets)
			t.Logf("%3d agents, %6d targets: %7.1f s, %6.0f targets/s; %6.0f calls a second, %.3f calls and %.3f ms a target; %5.1f %% busy, calls wait %.1f ms, %d took part",
				agents, targets, run.Elapsed.Seconds(), float64(targets)/run.Elapsed.Seconds(), r.Rate(), r.PerTarget(),
				cost, 100*r.Busy, milliseconds(r.Waits.Mean()), run.Agents)
			if agents == 1 {
				one[targets] = cost
			}
			require.LessOrEqual(t, cost, 1.25*one[targets])
		}
	}
}
