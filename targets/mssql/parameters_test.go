package mssql

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
)

func parse(t testing.TB, text string) *parameters.Parameters {
	t.Helper()
	p, err := parameters.Parse(text)
	require.NoError(t, err)
	return p
}

const someParameters = `{"tenant": "it's a \"t\" [x]", "n": -5, "f": 1.50e2, "yes": true, "no": false, "none": null,
	"o": {"a": [1, "b'"], "x-y": 7}, "Größe": "g"}`

// expandOne expands one batch alone.
func expandOne(text string, vars Variables, p *parameters.Parameters) (string, error) {
	room := maxGrowth
	return expandRun(text, vars, p, &room)
}

func TestExpandRun(t *testing.T) {
	t.Parallel()
	p := parse(t, someParameters)
	vars := runVariables().Variables()
	for in, want := range map[string]string{
		"SELECT N'$(param.tenant)'":                              `SELECT N'it''s a "t" [x]'`,
		"SELECT 1 AS [$(param.tenant)]":                          `SELECT 1 AS [it's a "t" [x]]]`,
		`SELECT 1 AS "$(payload.tenant)"`:                        `SELECT 1 AS "it's a ""t"" [x]"`,
		"SELECT $(param.n), 3 -$(param.n)":                       "SELECT  -5, 3 - -5",
		"WHERE a = $(param.f) AND b = $(param.yes)":              "WHERE a = 1.50e2 AND b = 1",
		"VALUES ($(param.no), $(param.none))":                    "VALUES (0, NULL)",
		"'$(param.no)$(param.none)$(param.n)'":                   "'false-5'",
		"N'$(param.o)'":                                          `N'{"a":[1,"b''"],"x-y":7}'`,
		"$(param.o.a.0) + $(Payload.o.x-y)":                      "1 + 7",
		"N'$(param.o.a.1)'":                                      "N'b'''",
		"N'$(param.Größe)'":                                      "N'g'",
		"-- $(param.missing) $(secret.x)\n/* $(param.tenant) */": "-- $(param.missing) $(secret.x)\n/* $(param.tenant) */",
		"$(step_id) $(other) $(params.x) '$(param)'":             "2 $(other) $(params.x) '$(param)'",
		"$(payload_of_mine) '$(payload x'":                       "$(payload_of_mine) '$(payload x'",
		"t_$(param.yes)":                                         "t_1",
		"N'$(payload)'":                                          "N'" + strings.ReplaceAll(whole(p), "'", "''") + "'",
	} {
		got, err := expandOne(in, vars, p)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	got, err := expandOne("N'$(payload)' $(job_version)", vars, nil)
	require.NoError(t, err)
	require.Equal(t, "N'{}' 3", got)
}

func whole(p *parameters.Parameters) string {
	v, _ := p.Lookup(parameters.Payload)
	return v.Text
}

func TestExpandRunErrors(t *testing.T) {
	t.Parallel()
	p := parse(t, someParameters)
	for in, want := range map[string]string{
		"SELECT $(param.tenant)": "script variable $(param.tenant) in line 1: its value is text, which is allowed only within a string",
		"SELECT $(param.o)":      "its value is an object or array",
		"SELECT $(payload)":      "its value is an object or array",
		"N'$(param.missing)'":    "script variable $(param.missing) in line 1: the run's parameters have no such name",
		"N'$(param.TENANT)'":     "names are compared exactly",
		"N'$(payload.o.a.2)'":    "no such name",
		"N'$(param.)'":           "no such name",
		"N'$(param.a b)'":        "want letters, digits, _, - and dots up to the closing bracket",
		"N'$(param.tenant'":      "want letters, digits",
		"$(param.x'y')":          "want letters, digits",
		"N'$(secret.api)'":       "script variable $(secret.api) in line 1: a secret cannot stand in a T-SQL script",
		"[$(Secret.api)]":        "a secret cannot stand",
	} {
		_, err := expandOne(in, nil, p)
		require.ErrorContains(t, err, want, in)
		var variable *VariableError
		require.ErrorAs(t, err, &variable, in)
		require.NotContains(t, err.Error(), "it's a", "the value")
	}
	_, err := expandOne("N'$(param.tenant)'", nil, nil)
	require.ErrorContains(t, err, "the run has no parameters")
}

// No value of a parameter can leave its place: whatever the value, the text has the same regions as
// with the number 1, or it is refused.
func FuzzExpandRun(f *testing.F) {
	f.Add("SELECT '", `"'; DROP TABLE t --"`, "' + 1 AS [x]")
	f.Add("SELECT [", `"]; x ["`, "] FROM t")
	f.Add("SELECT 1 -", "-5", "\n, 2")
	f.Add("SELECT 1 -", "-0.5e-3", "--\n, 2")
	f.Add("/* ", `"*/"`, " */ SELECT 'a'")
	f.Add(`"`, `{"\"": "'"}`, `"`)
	f.Add("/", "true", "*")
	f.Add("x = ", "null", "")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		if strings.Contains(before+after, "$(") || !json.Valid([]byte(value)) {
			return
		}
		p, err := parameters.Parse(`{"v": ` + value + `}`)
		if err != nil {
			return
		}
		text := before + "$(param.v)" + after
		plain, err := expandOne(text, nil, parse(t, `{"v": 1}`))
		if err != nil {
			return // such as "$(" cut into two regions
		}
		got, err := expandOne(text, nil, p)
		if err != nil {
			v, _ := p.Lookup("param.v")
			if v.Kind != parameters.String && v.Kind != parameters.JSON {
				t.Fatalf("%q refuses %s: %v", text, value, err)
			}
			return
		}
		if g, w := kinds(got), kinds(plain); g != w {
			t.Fatalf("%q with %s becomes %q (%s), with 1 %q (%s)", text, value, got, g, plain, w)
		}
		if strings.HasPrefix(got, before) != strings.HasPrefix(plain, before) || !strings.HasSuffix(got, after) {
			t.Fatalf("%q with %s changes the text around it: %q", text, value, got)
		}
	})
}

// kinds returns the kinds of a text's regions.
func kinds(text string) string {
	var b strings.Builder
	for pos := 0; pos < len(text); {
		r := nextRegion(text, pos)
		pos = r.end
		fmt.Fprintf(&b, "%d", r.kind)
	}
	return b.String()
}

func TestBound(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"tenant": "x", "n": -5, "big": 12345678901234567890, "f": 1.5, "huge": 1e999, "yes": true, "none": null,
		"o": {"a": 1}, "a b": 1, "1st": 2, "größe": 3, "`+strings.Repeat("l", 128)+`": 4}`)
	for batch, want := range map[string][]driver.NamedValue{
		"SELECT 1": nil,
		"SELECT @tenant, @N": {
			{Name: "tenant", Ordinal: 1, Value: mssqldb.NVarCharMax("x")}, {Name: "n", Ordinal: 2, Value: int64(-5)}},
		"SELECT @big + @f":                          {{Name: "big", Ordinal: 1, Value: 12345678901234567890.0}, {Name: "f", Ordinal: 2, Value: 1.5}},
		"SELECT @huge":                              {{Name: "huge", Ordinal: 1, Value: mssqldb.NVarCharMax("1e999")}},
		"IF @yes=1 SELECT @none":                    {{Name: "yes", Ordinal: 1, Value: true}, {Name: "none", Ordinal: 2, Value: sql.NullString{}}},
		"SELECT @o":                                 {{Name: "o", Ordinal: 1, Value: mssqldb.NVarCharMax(`{"a":1}`)}},
		"SELECT @größe":                             {{Name: "größe", Ordinal: 1, Value: int64(3)}},
		"SELECT JSON_VALUE(@payload, '$.n')":        {{Name: "payload", Ordinal: 1, Value: mssqldb.NVarCharMax(whole(p))}},
		"SELECT '@n', [@n], \"@n\" -- @n\n/* @n */": nil,
		"SELECT @@n, a@n, @tenant_of, #@n":          nil,
		"SELECT @a, @" + strings.Repeat("l", 128):   nil,
		"SELECT @1st":                               nil,
		"-- first\n/* x */ CREATE OR ALTER PROCEDURE p @n INT AS SELECT @n": nil,
		"alter view v as select 1 as n -- @n":                               nil,
		"CREATE TABLE t (i INT DEFAULT 1); SELECT @n":                       {{Name: "n", Ordinal: 1, Value: int64(-5)}},
		"'x' CREATE PROCEDURE p AS SELECT @n":                               {{Name: "n", Ordinal: 1, Value: int64(-5)}},
	} {
		require.Equal(t, want, bound(batch, p), batch)
	}
	require.Nil(t, bound("SELECT @n", nil))
	own := parse(t, `{"Payload": 1}`)
	require.Equal(t, []driver.NamedValue{{Name: "Payload", Ordinal: 1, Value: int64(1)}}, bound("SELECT @payload", own))
}
