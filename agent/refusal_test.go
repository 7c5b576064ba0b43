package agent

import (
	"context"
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// One refused pass is no reason for a search, and neither are two with another error between them.
// The controller has no store: a search would panic.
func TestOneRefusedPassIsNotSearched(t *testing.T) {
	t.Parallel()
	refused := mssqldb.Error{Number: 547, Class: 16, Message: "conflict"}
	c := &controller{}
	for range 2 {
		require.Equal(t, error(refused), c.passFailed(t.Context(), refused))
		require.ErrorIs(t, c.passFailed(t.Context(), context.DeadlineExceeded), context.DeadlineExceeded)
	}
}

// The table of what is set aside has 1,000 characters for the error.
func TestDescribedRefusalFitsItsColumn(t *testing.T) {
	t.Parallel()
	refused := mssqldb.Error{Number: 547, Class: 16, ProcName: "p", LineNo: 3, Message: strings.Repeat("é", 2000)}
	text := describeRefusal(refused)
	require.Len(t, []rune(text), 1000)
	require.True(t, strings.HasPrefix(text, "error 547 in p, line 3: éé"), text)
}

// The upkeep of a newer control database fails, and nothing is purged in its place.
func TestUnknownUpkeepFails(t *testing.T) {
	t.Parallel()
	r := (&taskHost{}).upkeep(t.Context(), controldb.Task{ID: 7, Attempt: 2}, "rebuild")
	require.Equal(t, controldb.TaskID(7), r.task)
	require.Equal(t, targets.Failed, r.outcome.Outcome)
	require.Equal(t, `Unknown upkeep "rebuild": upgrade the agent.`, r.outcome.Message)
}
