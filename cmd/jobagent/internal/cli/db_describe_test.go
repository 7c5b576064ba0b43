package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// run executes one command line.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	code = cli.Run(t.Context(), args, nil, &out, &errors)
	return code, out.String(), errors.String()
}

// An object is found by its name with and without the schema, in any case, and with brackets.
func TestDescribeOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"jobs.sp_add_job", "sp_add_job", "JOBS.SP_ADD_JOB", "[jobs].[sp_add_job]"} {
		code, out, stderr := run(t, "db", "describe", name)
		require.Equal(t, exit.CodeOK, code, stderr)
		require.True(t, strings.HasPrefix(out, "### jobs.sp_add_job\n"), out)
		require.Equal(t, 1, strings.Count(out, "### "))
		require.Contains(t, out, "| `@job_name` | `NVARCHAR(129)` |")
	}
	code, out, _ := run(t, "db", "describe", "jobs.job_executions")
	require.Equal(t, exit.CodeOK, code)
	require.Contains(t, out, "| `lifecycle` |")
}

func TestDescribeJSON(t *testing.T) {
	t.Parallel()
	var one, all output.Reference
	code, out, stderr := run(t, "db", "describe", "sp_add_job", "-o", "json")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(out), &one))
	require.Len(t, one.Objects, 1)
	o := one.Objects[0]
	require.Equal(t, "jobs.sp_add_job", o.Name)
	require.Equal(t, "procedure", o.Kind)
	require.Equal(t, "@enabled", o.Parameters[2].Name)
	require.Equal(t, "BIT = 0", o.Parameters[2].Type)
	require.Equal(t, "50001", o.Errors[0].Name)

	code, out, stderr = run(t, "db", "describe", "-o", "json")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Greater(t, len(all.Objects), 200)
	for _, o := range all.Objects {
		require.Contains(t, all.Markdown, "\n### "+o.Name+"\n")
	}
}

func TestDescribeUnknown(t *testing.T) {
	t.Parallel()
	code, out, stderr := run(t, "db", "describe", "sp_add_jobs")
	require.Equal(t, exit.CodeNotFound, code)
	require.Empty(t, out)
	require.Equal(t, "error: the control database has no \"sp_add_jobs\" (did you mean \"jobs.sp_add_job\"?); jobagent db describe lists all\n", stderr)
	code, _, stderr = run(t, "db", "describe", "nothing like it at all")
	require.Equal(t, exit.CodeNotFound, code)
	require.NotContains(t, stderr, "did you mean")
}

// Names are completed; those of the schema jobs come first.
func TestDescribeCompletes(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, "__complete", "db", "describe", "jobs.sp_add_jo")
	require.Equal(t, exit.CodeOK, code)
	require.Contains(t, out, "jobs.sp_add_job\njobs.sp_add_job_trigger\njobs.sp_add_jobstep\n")
	require.True(t, strings.HasSuffix(strings.TrimSpace(out), ":4"), "no file names: %s", out)
	_, out, _ = run(t, "__complete", "db", "describe", "")
	require.True(t, strings.HasPrefix(out, "jobs."), out[:40])
}
