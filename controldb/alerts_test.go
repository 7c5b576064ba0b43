package controldb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
)

// TestAlertRulesAndChannels: what was added is read, by name or all of it, until it is deleted.
func TestAlertRulesAndChannels(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		channels := []string{"hook"}
		runs, share := 3, 12.5
		require.NoError(t, c.AddAlertChannel(ctx, "hook", "Http", `{"url": "https://example.com/x"}`, true))
		require.NoError(t, c.AddAlertChannel(ctx, "away", "Http", `{"url": "https://example.com/y"}`, false))
		require.NoError(t, c.AddAlert(ctx, "silence", controldb.AlertNoAgent, controldb.AlertChange{Channels: &channels}))
		require.NoError(t, c.AddAlert(ctx, "failures", controldb.AlertTargetsFailed, controldb.AlertChange{PercentFailed: &share}))

		list, err := c.AlertChannels(ctx, "")
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []any{"away", false, "hook", true}, []any{list[0].Name, list[0].Enabled, list[1].Name, list[1].Enabled})
		list, err = c.AlertChannels(ctx, "hook")
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.JSONEq(t, `{"url": "https://example.com/x"}`, list[0].Definition)

		require.NoError(t, c.MuteAlert(ctx, "silence", time.Minute, "maintenance"))
		rules, err := c.AlertRules(ctx, "")
		require.NoError(t, err)
		require.Len(t, rules, 2)
		require.Equal(t, []any{"failures", share, "silence"}, []any{rules[0].Name, rules[0].PercentFailed, rules[1].Name})
		require.True(t, rules[0].MutedUntil.IsZero())
		require.Equal(t, "maintenance", rules[1].MuteNote)
		names, err := rules[1].Channels()
		require.NoError(t, err)
		require.Equal(t, channels, names)

		require.ErrorIs(t, c.UpdateAlert(ctx, "nothing", controldb.AlertChange{Runs: &runs}), controldb.ErrAlertNotFound)
		require.Error(t, c.DeleteAlertChannel(ctx, "hook"), "a rule uses it")
		require.NoError(t, c.DeleteAlert(ctx, "silence"))
		require.NoError(t, c.DeleteAlertChannel(ctx, "hook"))
		rules, err = c.AlertRules(ctx, "silence")
		require.NoError(t, err)
		require.Empty(t, rules)
	})
}
