package controldb_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// typedValues are values of which each type takes some.
var typedValues = []string{
	`null`, `true`, `false`, `0`, `-0`, `7`, `-7`, `1.5`, `1.0`, `1e3`, `1E+2`, `-1.5e-7`, `9223372036854775807`, `9223372036854775808`,
	`-9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`, `{}`, `[]`, `{"a": 1}`,
	`""`, `" "`, `"a"`, `"7"`, `"true"`, `"null"`, `"it's \"}"`, `"\u0041"`, `"\ud83d\ude00"`,
	`"2026-01-31"`, `"2026-02-30"`, `"2024-02-29"`, `"2023-02-29"`, `"0001-01-01"`, `"0000-01-01"`, `"9999-12-31"`, `"2026-1-31"`, `"20260131"`,
	`"2026-01-31 "`, `" 2026-01-31"`, `"2026-13-01"`, `"２０２６-01-31"`, `"2026-01-31T22:00:00"`, `"2026-01-31 22:00:00"`, `"2026-01-31T22:00"`,
	`"2026-01-31T22:00:00."`, `"2026-01-31T22:00:00.1"`, `"2026-01-31T22:00:00.1234567"`, `"2026-01-31T22:00:00.12345678"`, `"2026-01-31T22:00:00,1"`,
	`"2026-01-31T22:00:00Z"`, `"2026-01-31T22:00:00+01:00"`, `"2026-01-31T24:00:00"`, `"2026-01-31T23:59:60"`, `"2026-02-30T00:00:00"`, `"0000-01-01T00:00:00"`,
	`"9999-12-31T23:59:59.9999999"`,
}

// The rules of declared parameters are in T-SQL, which decides, and in Go, which says what is wrong
// before a start. Both accept the same declarations and the same values, and complete them to the
// same parameters.
func TestParameterRulesAgree(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		number := func(err error) int32 {
			var e mssqldb.Error
			errors.As(err, &e)
			return e.Number
		}
		declare := func(text string) bool {
			t.Helper()
			_, inGo := parameters.ParseDeclarations(text)
			err := catalog.On(c.Store).SetJobParameters(t.Context(), "j", text, nil)
			require.Equal(t, inGo == nil, err == nil, "%s\nGo: %v\nT-SQL: %v", text, inGo, err)
			if err != nil {
				require.Equal(t, int32(50062), number(err), "%s: %v", text, err)
			}
			return err == nil
		}
		start := func(declared, given string) {
			t.Helper()
			list, err := parameters.ParseDeclarations(declared)
			require.NoError(t, err)
			read, err := parameters.Parse(given)
			require.NoError(t, err)
			want, inGo := parameters.Complete(list, read)
			id := uuid.New()
			_, err = executions.On(c.Store).Start(t.Context(), executions.StartRequest{Job: "j", ID: id, Parameters: given})
			require.Equal(t, inGo == nil, err == nil, "%s\n%s\nGo: %v\nT-SQL: %v", declared, given, inGo, err)
			if err != nil {
				require.Contains(t, []int32{50069, 50159, 50160}, number(err), err)
				return
			}
			stored := get[string](t, c, "SELECT parameters FROM jobs.job_execution_parameters WHERE job_execution_id = '"+id.String()+"';")
			require.JSONEq(t, want.Text(), stored, "%s\n%s", declared, given)
		}
		accepted := 0
		for _, kind := range parameters.Types() {
			for _, value := range typedValues {
				if declare(fmt.Sprintf(`[{"name": "v", "type": "%s", "default": %s}]`, kind, value)) {
					accepted++
					start(fmt.Sprintf(`[{"name": "v", "type": "%s", "default": %s}]`, kind, value), `{}`)
				}
				declare(fmt.Sprintf(`[{"name": "v", "type": "%s", "choices": [%s]}]`, kind, value))
			}
			plain := fmt.Sprintf(`[{"name": "v", "type": "%s"}]`, kind)
			require.True(t, declare(plain))
			for _, value := range typedValues {
				start(plain, `{"v": `+value+`}`)
			}
		}
		require.Greater(t, accepted, 30)
		required := `[{"name": "v", "required": true}, {"name": "w", "type": "number", "choices": [1, 1.0, 2]}]`
		require.True(t, declare(required))
		for _, given := range []string{`{}`, `{"v": null}`, `{"v": "a"}`, `{"V": "a"}`, `{"v": "a", "w": 1}`, `{"v": "a", "w": 1.0}`, `{"v": "a", "w": 1.00}`, `{"v": "a", "w": null}`, `{"v": "a", "x": 1}`} {
			start(required, given)
		}
	})
}
