package capacity

import (
	"flag"
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
	cores   = flag.Int("capacity.cores", 4, "processors of the control database of TestWeek")
	factor  = flag.Float64("capacity.factor", 1, "cost of calls in TestWeek, compared with the embedded server")
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
	for _, start := range Week(int(*days)+1, *jobs, *targets, 1) {
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
