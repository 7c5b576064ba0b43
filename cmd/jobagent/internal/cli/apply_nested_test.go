package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// validate names the places where a parameter is inserted into dynamic T-SQL, without a database.
func TestValidateNamesNestedParameters(t *testing.T) {
	t.Parallel()
	const text = "apiVersion: jobagent/v1\nkind: Job\nname: j\nsteps:\n  - name: s\n    target_group: g\n    command: |\n      PRINT N'$(param.x)'\n      EXEC(N'PRINT ''$(param.y)''');\n"
	code, _, stderr := runContext(t.Context(), "", text, "validate", "-f", "-")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `step "s" of the job "j", line 2 of the script: $(param.y): text and JSON are refused within dynamic T-SQL`)
	require.NotContains(t, stderr, "param.x")

	const unknown = "apiVersion: jobagent/v1\nkind: Job\nname: j\nsteps:\n  - name: s\n    target_group: g\n    command: |\n      PRINT N'$(a) $(job_name)'\n      -- $(b)\n      USE $(db); SELECT $(job_id), $(param.n)\n"
	code, _, stderr = runContext(t.Context(), "", unknown, "validate", "-f", "-")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, `line 3 of the script: $(db): no run replaces it`)
	require.Equal(t, 1, strings.Count(stderr, "no run replaces it"), stderr)
}
