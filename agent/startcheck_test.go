package agent_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// checkedJob returns a job with a step of T-SQL and one that calls an endpoint.
func checkedJob(t *testing.T, declared string) startcheck.Job {
	t.Helper()
	j, err := startcheck.New(declared, []catalog.JobStep{
		{CommandType: "TSql", Command: "SELECT '$(param.tenant)', '$(job_name)';"},
		{CommandType: "Http", Command: `{"url": "https://h/$(param.path)"}`},
		{CommandType: "TSql", Command: "SELECT '$(param."}, // cannot be read: its run says so
	})
	require.NoError(t, err)
	return j
}

// A start that lacks what steps use is refused by name, unless that is permitted.
func TestStartLacksParameters(t *testing.T) {
	t.Parallel()
	j := checkedJob(t, "")
	var missing *parameters.MissingError
	require.ErrorAs(t, j.Check(`{"path": "x"}`, false), &missing)
	require.Equal(t, []string{"tenant"}, missing.Names)
	require.NoError(t, j.Check(`{"path": "x"}`, true))
	require.NoError(t, j.Check(`{"path": "x", "tenant": "t", "more": 1}`, false))
	err := j.Check(`[]`, false)
	require.Error(t, err)
	require.False(t, errors.As(err, &missing))
}

// Declarations are checked, and give their defaults and types.
func TestStartOfDeclaredParameters(t *testing.T) {
	t.Parallel()
	j := checkedJob(t, `[{"name": "tenant", "required": true}, {"name": "path", "default": "p"}, {"name": "days", "type": "integer"}]`)
	var missing *parameters.MissingError
	require.ErrorAs(t, j.Check("", true), &missing, "what is required is required")
	require.Equal(t, []string{"tenant"}, missing.Names)
	require.NoError(t, j.Check(`{"tenant": "t"}`, false), "path has a default")
	require.Error(t, j.Check(`{"tenant": "t", "other": 1}`, false), "a name that is not declared")
	require.Error(t, j.Check(`{"tenant": "t", "days": "x"}`, false), "not an integer")
	text, err := j.Typed(`{"tenant": "7", "days": "7"}`, []string{"tenant", "days"})
	require.NoError(t, err)
	require.JSONEq(t, `{"tenant": "7", "days": 7}`, text)
	_, err = j.Typed(`{"days": "many"}`, []string{"days"})
	require.ErrorContains(t, err, "days")
}
