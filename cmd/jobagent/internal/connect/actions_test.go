package connect

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/jobs/action"
)

func TestActionsOfAConfiguration(t *testing.T) {
	t.Setenv("CONNECT_TEST_SECRET", "open sesame")
	cfg := config.File{Secrets: map[string]config.Secret{
		"door": {Reference: "env:CONNECT_TEST_SECRET", Hosts: []string{"door.example.com"}}, "gone": {Reference: "env:CONNECT_TEST_NONE"},
	}}
	a, err := NewActions(cfg, "test", false)
	require.NoError(t, err)
	require.Len(t, a.Runners, 4)
	require.Nil(t, a.Runners[action.TypeProcess], "without entries, the agent claims no processes")
	value, err := a.Secret(t.Context(), "door")
	require.NoError(t, err)
	require.Equal(t, action.Secret("open sesame", "door.example.com"), value)
	for _, name := range []string{"gone", "unknown"} {
		_, err = a.Secret(t.Context(), name)
		require.ErrorIs(t, err, agent.ErrNoSecret)
	}
	cfg.Processes = []config.Process{{Name: "date", Path: "/bin/date"}}
	a, err = NewActions(cfg, "test", false)
	require.NoError(t, err)
	require.NotNil(t, a.Runners[action.TypeProcess])
}

// An agent says at its start which processes can use its files, whoever runs it.
func TestExposedProcessesAreLogged(t *testing.T) {
	t.Parallel()
	a, err := NewActions(config.File{Processes: []config.Process{{Name: "date", Path: "/bin/date", NewPrivileges: true}}}, "test", false)
	require.NoError(t, err)
	core, logs := observer.New(zap.WarnLevel)
	a.Log(config.File{}, zap.New(core))
	found := logs.FilterMessageSnippet("can use the agent's files, keys and configuration included").All()
	require.Len(t, found, 1)
	require.Equal(t, "date", found[0].ContextMap()["entry"])
}

func TestFaultsOfAConfigurationsActions(t *testing.T) {
	t.Parallel()
	cfg := config.File{Processes: []config.Process{{Name: "relative", Path: "date"}}, SecretKeys: []string{"no reference"}}
	cfg.Outbound.Allow = []string{"10.0.0.0/99"}
	_, err := NewActions(cfg, "test", true)
	for _, want := range []string{"outbound.allow[0]", "processes[0].path", "secret_keys[0]"} {
		require.ErrorContains(t, err, want)
	}
	require.False(t, errors.Is(err, agent.ErrNoSecret))
}
