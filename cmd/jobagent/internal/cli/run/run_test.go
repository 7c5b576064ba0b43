package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The configuration file has all settings of the agent, and flags take precedence.
func TestAgentConfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"agent": {
		"id": "5c6a2a52-9a5e-4f0c-8a0f-0d3f4a0b6c11", "max_concurrent_targets": "JA200", "prefetch": 7, "outcome_buffer": 8, "lease": "11s",
		"grace": "12s", "poll_active": "13ms", "poll_idle": "14ms", "missed_after": "15s"}}`), 0o600))
	a := connect.New(nil, nil, nil)
	a.ConfigPath = path
	cmd := NewCommand(a)
	cfg, err := agentConfig(&a.Settings, cmd, "", "", 0, 0)
	require.NoError(t, err)
	want := agent.Config{
		AgentID: uuid.MustParse("5c6a2a52-9a5e-4f0c-8a0f-0d3f4a0b6c11"), Version: cfg.Version, MaxConcurrentTargets: 200,
		Prefetch:      7,
		OutcomeBuffer: 8, Lease: 11 * time.Second, Grace: 12 * time.Second, PollActive: 13 * time.Millisecond,
		PollIdle: 14 * time.Millisecond, MissedAfter: 15 * time.Second,
	}
	require.Equal(t, want, cfg)

	require.NoError(t, cmd.ParseFlags([]string{"--lease", "20s", "--grace", "0", "--max-concurrent-targets", "5"}))
	cfg, err = agentConfig(&a.Settings, cmd, "", "5", 20*time.Second, 0)
	require.NoError(t, err)
	want.Lease, want.Grace, want.MaxConcurrentTargets = 20*time.Second, -1, 5
	require.Equal(t, want, cfg)
}
