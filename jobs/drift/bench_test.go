package drift_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/drift"
)

// BenchmarkFleet adds 2,000 databases of 1,000 objects, each with an object that no other one has,
// elects the majority and compares. kept-MB is what the fleet holds, at most.
func BenchmarkFleet(b *testing.B) {
	const databases, objects = 2000, 1000
	list := make([]*drift.Object, objects)
	for i := range list {
		list[i] = object(drift.KindView, "", fmt.Sprint("v", i), drift.PropertyText, fmt.Sprintf("CREATE VIEW [dbo].[v%d] AS SELECT %d AS a", i, i))
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		f := drift.NewFleet(drift.Options{}, drift.DefaultBudget)
		for i := range databases {
			e := f.Begin()
			for j, o := range list {
				if i > 0 && j == i%objects {
					o = object(drift.KindView, "", o.Name, drift.PropertyText, fmt.Sprint(i))
				}
				e.Add(o)
			}
			e.End(fmt.Sprint("s/d", i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		r, err := f.Majority()
		require.NoError(b, err)
		require.Equal(b, databases-1, len(f.Compare(r).Differences))
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "kept-MB")
}
