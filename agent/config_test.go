package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConfigDefaultsAreValid(t *testing.T) {
	t.Parallel()
	cfg, err := Config{}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, 100, cfg.MaxConcurrentTargets)
	require.Equal(t, 100, cfg.Prefetch)
	require.Equal(t, 30*time.Second, cfg.Lease)
	require.NotEmpty(t, cfg.AgentID)
	require.NotEmpty(t, cfg.Host)
}

func TestConfigNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := Config{MaxConcurrentTargets: -1, Lease: time.Millisecond, PollActive: time.Minute}.withDefaults()
	for _, part := range []string{
		"invalid max concurrent targets -1: want 1 to 10000",
		"invalid lease 1ms: want 1s to 1h",
		"invalid active poll interval 1m0s: want",
	} {
		require.ErrorContains(t, err, part)
	}
}
