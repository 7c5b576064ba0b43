package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for i := range 200 {
		list = append(list, time.Duration(i+1))
	}
	for _, tt := range []struct {
		perMille int
		want     time.Duration
	}{{500, 100}, {990, 198}, {991, 199}, {1000, 200}, {0, 1}} {
		require.Equal(t, tt.want, percentile(list, tt.perMille), tt.perMille)
	}
	require.Zero(t, percentile(nil, 500))
	require.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 990))
}

// TestCostWithoutProcessorTime: on a system that does not tell the processor's time, a comparison
// has no figures of it.
func TestCostWithoutProcessorTime(t *testing.T) {
	t.Parallel()
	rates := []Figure{{"rate_off", 20, "targets/s", ""}, {"rate_on", 10, "targets/s", ""}, {"rate_ratio", 0.5, "", ">= 0.97"}}
	used := []Figure{{"cpu_off", 2000, "ms/target", ""}, {"cpu_on", 1000, "ms/target", ""}, {"cpu_ratio", 0.5, "", "<= 1.03"}}
	for _, tt := range []struct {
		used [2][]float64
		want []Figure
	}{
		{[2][]float64{{0, 0, 0}, {0, 0, 0}}, rates},
		{[2][]float64{{1, 0, 2}, {1, 1, 1}}, rates},
		{[2][]float64{{1, 2, 2}, {1, 1, 1}}, slices.Concat(rates, used)},
	} {
		r := &Report{}
		cost{rates: [2][]float64{{10, 20, 40}, {10, 10, 10}}, used: tt.used}.report(r, "targets")
		require.Equal(t, tt.want, r.Figures)
	}
}
