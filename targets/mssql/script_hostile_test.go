package mssql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// A script as long as a file may be takes a bounded time and memory: to split, to look for
// variables, and to expand with the longest parameters.
func TestHostileScripts(t *testing.T) { //nolint:paralleltest // it measures
	const size = 16 << 20
	given, err := parameters.Parse(`{"a":"` + strings.Repeat("x", 100_000) + `","n":1,"q":"` + strings.Repeat("'", 1000) + `"}`)
	require.NoError(t, err)
	vars := runVariables().Variables()
	parse := func(script string) error {
		if _, err := NestedParameters(script); err != nil {
			return err
		}
		if _, err := UnknownNames(script); err != nil {
			return err
		}
		if _, err := ParameterNames(script); err != nil {
			return err
		}
		batches, err := expandedBatches(script, vars, given)
		for _, b := range batches {
			_ = bound(b.Text, given)
		}
		return err
	}
	fill := func(begin, part, end string) string {
		return begin + bounds.Repeat(part, (size-len(begin)-len(end))/len(part)) + end
	}
	var names strings.Builder
	for i := range bounds.Size(size / 24) {
		fmt.Fprintf(&names, "N'$(param.name%07d)'\n", i)
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"batches":                          fill("", "x\nGO\n", ""),
		"batches without text":             fill("", "GO\n", ""),
		"batches with comments":            fill("", "x\nGO /*\n", ""),
		"a comment within comments":        fill("", "/*", ""),
		"a long line after GO":             fill("GO ", "1", ""),
		"blanks":                           fill("", " ", ""),
		"quotes":                           fill("", "''", "'"),
		"brackets":                         fill("", "[]", ""),
		"comments":                         fill("", "/**/--\n", ""),
		"variables":                        fill("", "$(job_name)", ""),
		"parameters in code":               fill("", "$(param.n)\n", ""),
		"parameters in one string":         fill("SELECT N'", "$(param.n)\n", "'"),
		"quotes before parameters":         fill("SELECT N'", "''$(param.n)", "'"),
		"long parameters in strings":       fill("", "N'$(param.a)'\n", ""),
		"long parameters in batches":       fill("", "N'$(param.a)'\nGO\n", ""),
		"the most batches":                 bounds.Repeat("x\nGO\n", maxBatches),
		"the most batches with parameters": bounds.Repeat("N'$(param.a)'\nGO\n", maxBatches),
		"quotes in parameters":             fill("", "N'$(param.q)'\n", ""),
		"parameters that are executed":     fill("", "EXEC (N'$(param.n)');\n", ""),
		"names that are unknown":           fill("", "$(x)\n", ""),
		"a long name":                      fill("$(", "x", ")"),
		"names of parameters":              names.String(),
		"variables of T-SQL":               fill("", "@a@b\n", ""),
		"a lone carriage return before it": fill("--\r", "$(x", ""),
	}, parse))
}

// The limits hold for a script, not for each of its batches, and are errors with a line.
func TestLimitsOfScripts(t *testing.T) {
	t.Parallel()
	given, err := parameters.Parse(`{"a":"` + strings.Repeat("x", 1<<16) + `"}`)
	require.NoError(t, err)
	const mentions = maxGrowth >> 16
	script := "SELECT N'$(param.a)';\nGO\nSELECT N'" + strings.Repeat("$(param.a)", mentions-2) + "'\nGO\n"
	batches, err := expandedBatches(script+"SELECT N'$(param.a)';", nil, given)
	require.NoError(t, err)
	require.Len(t, batches, 3)
	_, err = expandedBatches(script+"\nSELECT N'$(param.a)$(param.a)';", nil, given)
	require.EqualError(t, err, "script variable $(param.a) in line 6: the values of the variables make the script longer by more than 16 MB: "+
		"declare a variable of T-SQL once, and use it instead")

	batches, err = SplitBatches(strings.Repeat("x\nGO\n", maxBatches))
	require.NoError(t, err)
	require.Len(t, batches, maxBatches)
	_, err = SplitBatches(strings.Repeat("x\nGO\n", maxBatches+1))
	require.EqualError(t, err, "script line 200001: the script has more than 100000 batches")

	nested, err := NestedParameters(strings.Repeat("EXEC (N'$(param.a)');\n", maxFound+1))
	require.NoError(t, err)
	require.Len(t, nested, maxFound)
	require.Equal(t, NestedParameter{"param.a", maxFound}, nested[maxFound-1])
	unknown, err := UnknownNames(strings.Repeat("$(a)\n$(b)\n", maxFound))
	require.NoError(t, err)
	require.Len(t, unknown, maxFound)
	require.Equal(t, UnknownName{"b", maxFound}, unknown[maxFound-1])
}
