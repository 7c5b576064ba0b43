package controldb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
)

// TestCommandTypes: jobs.command_types and jobs/action have the same types in the same order.
func TestCommandTypes(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		var steps []string
		for _, kind := range action.Types() {
			steps = append(steps, fmt.Sprint(kind))
		}
		require.Equal(t, steps, c.rows(t, `SELECT command_type FROM jobs.command_types WHERE is_step = 1 AND is_task = 1 ORDER BY place;`))
		require.Equal(t, action.ChannelTypes(), c.rows(t, `SELECT command_type FROM jobs.command_types WHERE is_channel = 1 ORDER BY place;`))
	})
}
