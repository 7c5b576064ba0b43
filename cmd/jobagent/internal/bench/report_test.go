package bench

import (
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
		share float64
		want  time.Duration
	}{{0.5, 100}, {0.99, 198}, {1, 200}, {0, 1}} {
		require.Equal(t, tt.want, percentile(list, tt.share), tt.share)
	}
	require.Zero(t, percentile(nil, 0.5))
	require.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 0.99))
}
