package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// TestYearOracleAgreesWithTheEngine compares the two computations over the whole year, without an
// agent.
func TestYearOracleAgreesWithTheEngine(t *testing.T) {
	t.Parallel()
	made := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	end := made.AddDate(1, 0, 0)
	instants := 0
	for i, name := range yearZones {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		steps := walk(zone, made.AddDate(0, 0, -5), end.AddDate(0, 0, 5))
		d := drawing{rand.New(rand.NewPCG(7, uint64(i))), zone, made, end, i%2 == 1}
		for k := range 100 {
			s := d.draw(k)
			if s.kind == "" || s.moving > 0 {
				continue
			}
			plan, err := schedule.Parse(schedule.Kind(s.kind), []byte(s.spec), schedule.Options{
				Created: made, Zone: s.zone, Uncounted: true,
			})
			require.NoError(t, err, "%s %s", s.kind, s.spec)
			want := s.oracle.due(steps, made, end)
			got := make([]time.Time, 0, len(want))
			for at, ok := plan.Next(made.Add(-1)); ok && at.Before(end); at, ok = plan.Next(at) {
				got = append(got, at)
			}
			require.Equal(t, want, got, "%s %s in %s", s.kind, s.spec, name)
			instants += len(got)
		}
	}
	t.Logf("%d instants", instants)
}
