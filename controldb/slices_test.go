package controldb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// TestPassesAreCutOff: a pass that is cut off says so, and passes end a stopped run of many targets
// while other runs advance.
func TestPassesAreCutOff(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 2)
		c.job(t, "j", nil)
		term := c.term(t)
		run := c.start(t, "j")
		databases := make([]string, 7)
		for i := range databases {
			databases[i] = fmt.Sprint("d", i)
		}
		c.resolve(t, term, databases...)
		require.NoError(t, c.StopJob(t.Context(), run))
		other := c.start(t, "j")
		passes := 0
		for c.passMax(t, term, 0).More() {
			passes++
			require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, other))
		}
		require.Equal(t, 3, passes)
		require.Equal(t, "Canceled", c.lifecycle(t, run))
	})
}

// TestLockedCallbacksDoNotRepeatPasses: a callback past its deadline that another session holds is
// no reason for the next pass at once, so an agent does not repeat passes that change nothing.
func TestLockedCallbacksDoNotRepeatPasses(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		c.waits(t, term)
		c.exec(t, `UPDATE jobs_internal.callbacks SET deadline_at = DATEADD(SECOND, -5, SYSUTCDATETIME())`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.callbacks SET acked = acked`)
		require.NoError(t, err)
		require.False(t, c.pass(t, term).More())
		require.NoError(t, tx.Rollback())
	})
}
