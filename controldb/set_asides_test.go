package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/doctor"
)

// What is set aside is described, found by the doctor, taken once, and gone when a try succeeds,
// whether it exists or not.
func TestSetAsides(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeSetAsides)))
		part := controldb.Part{Kind: "Trigger", First: 7, Last: 7}
		what, err := c.Store.SetAside(t.Context(), term, part, "error 547: no")
		require.NoError(t, err)
		require.Contains(t, what.Message, "(error 547: no). The trigger starts no run.")
		found := c.findings(t, doctor.CodeSetAsides)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "refuses to advance 1 run, schedule or trigger: trigger of job (deleted): error 547: no")
		require.Empty(t, found[0].Command, "text is no remedy")
		rows := c.rows(t, found[0].Fix())
		require.Len(t, rows, 1, "the statement runs as it is")
		require.Contains(t, rows[0], what.Message)

		taken, err := c.Store.TakeSetAsides(t.Context(), term)
		require.NoError(t, err)
		require.Empty(t, taken, "it is not due")
		c.exec(t, `UPDATE z SET z.retry_at = SYSUTCDATETIME() FROM jobs_internal.set_asides AS z;`)
		res, err := c.Store.Pass(t.Context(), controldb.PassRequest{Term: term, MaxConcurrentTargets: 1})
		require.NoError(t, err)
		require.True(t, res.SetAsidesDue)
		taken, err = c.Store.TakeSetAsides(t.Context(), term)
		require.NoError(t, err)
		require.Len(t, taken, 1)
		again, err := c.Store.TakeSetAsides(t.Context(), term)
		require.NoError(t, err)
		require.Empty(t, again)
		_, skipped, err := c.Store.AdvancePart(t.Context(), term, taken[0].Part())
		require.NoError(t, err)
		require.False(t, skipped)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeSetAsides)))
	})
}
