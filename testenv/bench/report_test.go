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
		perMille int
		want     time.Duration
	}{{500, 100}, {990, 198}, {991, 199}, {1000, 200}, {0, 1}} {
		require.Equal(t, tt.want, percentile(list, tt.perMille), tt.perMille)
	}
	require.Zero(t, percentile(nil, 500))
	require.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 990))
}
