package mssql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestSplitBatches(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script string
		want   []Batch
	}{
		"One":              {"SELECT 1", []Batch{{"SELECT 1", 1, 1}}},
		"Two":              {"SELECT 1\nGO\nSELECT 2", []Batch{{"SELECT 1\n", 1, 1}, {"SELECT 2", 3, 1}}},
		"Windows":          {"SELECT 1\r\nGO\r\nSELECT 2\r\n", []Batch{{"SELECT 1\r\n", 1, 1}, {"SELECT 2\r\n", 3, 1}}},
		"CaseAndBlanks":    {"a\n \tgO  \nb", []Batch{{"a\n", 1, 1}, {"b", 3, 1}}},
		"Count":            {"a\nGO 5\nb\nGO 007\n", []Batch{{"a\n", 1, 5}, {"b\n", 3, 7}}},
		"CountAndComment":  {"a\nGO 5 -- it's five\nb", []Batch{{"a\n", 1, 5}, {"b", 3, 1}}},
		"BlockComment":     {"a\nGO /* ' */\nb", []Batch{{"a\n", 1, 1}, {"b", 3, 1}}},
		"AtTheEnd":         {"a\nGO", []Batch{{"a\n", 1, 1}}},
		"Alone":            {"GO", nil},
		"AtTheStart":       {"GO\na", []Batch{{"a", 2, 1}}},
		"Repeated":         {"a\nGO\nGO\n\nGO\nb", []Batch{{"a\n", 1, 1}, {"b", 6, 1}}},
		"Blank":            {" \n\t\r\n", nil},
		"Empty":            {"", nil},
		"InString":         {"SELECT '\nGO\n'", []Batch{{"SELECT '\nGO\n'", 1, 1}}},
		"AfterString":      {"SELECT 'it''s'\nGO\nb", []Batch{{"SELECT 'it''s'\n", 1, 1}, {"b", 3, 1}}},
		"InComment":        {"/* /* */\nGO\n*/ a", []Batch{{"/* /* */\nGO\n*/ a", 1, 1}}},
		"AfterLineComment": {"a -- it's\nGO\nb", []Batch{{"a -- it's\n", 1, 1}, {"b", 3, 1}}},
		"InBrackets":       {"SELECT 1 AS [\nGO\n]]\nGO\n]", []Batch{{"SELECT 1 AS [\nGO\n]]\nGO\n]", 1, 1}}},
		"InQuotedName":     {"SELECT 1 AS \"\nGO\n\"", []Batch{{"SELECT 1 AS \"\nGO\n\"", 1, 1}}},
		"Unclosed":         {"SELECT '\nGO\nb", []Batch{{"SELECT '\nGO\nb", 1, 1}}},
		"Names":            {"goto x\ngo_on\nGÖ\ngo@x\ngo1", []Batch{{"goto x\ngo_on\nGÖ\ngo@x\ngo1", 1, 1}}},
		"AfterOtherText":   {"SELECT 1 GO\nSELECT 2", []Batch{{"SELECT 1 GO\nSELECT 2", 1, 1}}},
		"AfterComment":     {"/* x\n*/ GO\nb", []Batch{{"/* x\n*/ GO\nb", 1, 1}}},
		"ByteOrderMark":    {"\uFEFFGO\na", []Batch{{"a", 2, 1}}},
		"TwoInOneRegion": {"a\nGO\nb\nGO\nc 'x'\nGO\nd",
			[]Batch{{"a\n", 1, 1}, {"b\n", 3, 1}, {"c 'x'\n", 5, 1}, {"d", 7, 1}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := SplitBatches(c.script)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestSplitBatchesErrors(t *testing.T) {
	t.Parallel()
	for script, line := range map[string]int{
		"a\nb\nGO b":            3,
		"GO;":                   1,
		"a\nGO\nb\n'\n'\nGO 'x": 6,
		"a\nGO 99999999999":     2,
		"a\nGO -1":              2,
		"a\nGO 0":               2,
		"a\nGO 1 2":             2,
		"a\nGO /* open":         2,
	} {
		_, err := SplitBatches(script)
		var fault *ScriptError
		require.ErrorAs(t, err, &fault, script)
		require.Equal(t, line, fault.Line, script)
	}
}

func runVariables() RunVariables {
	return RunVariables{
		JobName: `it's a "job" [x]`, JobID: uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e"), JobVersion: 3,
		StepID: 2, StepName: "Größe", JobExecutionID: uuid.MustParse("7c9e6679-7425-40de-944b-e07fc1f90ae7"),
		JobExecutionCreateTime: time.Date(2026, 1, 31, 23, 0, 0, 123456700, time.FixedZone("", 3600)), TargetGroupName: "G1",
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	vars := runVariables().Variables()
	require.ElementsMatch(t, action.RunNames(), slices.Collect(maps.Keys(vars)))
	cases := map[string]struct{ in, want string }{
		"Name":          {"SELECT $(job_name)", `SELECT N'it''s a "job" [x]'`},
		"Guid":          {"WHERE id = $(job_execution_id)", "WHERE id = '7C9E6679-7425-40DE-944B-E07FC1F90AE7'"},
		"Integer":       {"SELECT $(step_id)+$(job_version)", "SELECT 2+3"},
		"Time":          {"SELECT $(job_execution_create_time)", "SELECT '2026-01-31T22:00:00.1234567'"},
		"InString":      {"SELECT 'job $(job_name)!'", `SELECT 'job it''s a "job" [x]!'`},
		"InNString":     {"SELECT N'$(step_name)'", "SELECT N'Größe'"},
		"GuidInString":  {"SELECT '$(job_id)'", "SELECT '0F8FAD5B-D9CB-469F-A165-70867728950E'"},
		"TimeInString":  {"SELECT '$(job_execution_create_time)'", "SELECT '2026-01-31T22:00:00.1234567'"},
		"InBrackets":    {"SELECT 1 AS [$(job_name)]", `SELECT 1 AS [it's a "job" [x]]]`},
		"InQuotedName":  {`SELECT 1 AS "$(job_name)"`, `SELECT 1 AS "it's a ""job"" [x]"`},
		"LineComment":   {"-- $(step_id)\nSELECT $(step_id)", "-- $(step_id)\nSELECT 2"},
		"BlockComment":  {"/* /* $(step_id) */ $(step_id) */ $(step_id)", "/* /* $(step_id) */ $(step_id) */ 2"},
		"AnyCase":       {"$(Step_ID)", "2"},
		"Unknown":       {"$(server) $( step_id) $() $(step_id", "$(server) $( step_id) $() $(step_id"},
		"Nested":        {"$($(step_id))", "$(2)"},
		"Doubled":       {"$$(step_id)", "$2"},
		"AfterQuote":    {"'a''$(step_id)' $(step_id)", "'a''2' 2"},
		"Unclosed":      {"'$(job_name)", `'it''s a "job" [x]`},
		"AcrossRegions": {"$(step'_id)'", "$(step'_id)'"},
		"NoVariables":   {"SELECT 1", "SELECT 1"},
		"Twice":         {"$(step_id)$(step_id)", "22"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, Expand(c.in, vars))
		})
	}
	require.Equal(t, "$(step_id)", Expand("$(step_id)", nil))
	require.Equal(t, "N''", Expand("$(x)", Variables{"x": {}}))
}

// A script of 2 MB is split and expanded in well under a second, whatever its content.
func TestLargeScripts(t *testing.T) {
	t.Parallel()
	vars := runVariables().Variables()
	const size = 2 << 20
	for name, unit := range map[string]string{
		"Inserts":  "INSERT INTO t (a, b) VALUES ($(step_id), N'x''y$(job_name)');\n",
		"Batches":  "SELECT 1 AS number;\nGO\n",
		"Quotes":   "''",
		"Brackets": "[]",
		"Comments": "/**/--\n",
		"Dashes":   "- / ",
		"Dollars":  "$(",
		"OneLine":  "x ",
		"Blanks":   " ",
		"Nested":   "/*",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := strings.Repeat(unit, size/len(unit))
			start := time.Now()
			batches, err := SplitBatches(script)
			require.NoError(t, err)
			for _, b := range batches {
				_ = Expand(b.Text, vars)
			}
			require.Less(t, time.Since(start), 5*time.Second)
		})
	}
}

// The regions cover the text. Batches are pieces of the script in its order, with correct line
// numbers.
func FuzzSplitBatches(f *testing.F) {
	for _, s := range []string{"a\nGO 2\nb", "'\nGO\n'", "/*/**/\nGO\n*/", "GO --x\r\nGO", "\uFEFFGO", "[]]\nGO\n",
		"é\nGO\né"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for pos := 0; pos < len(script); {
			r := nextRegion(script, pos)
			if r.start != pos || r.end <= pos || r.end > len(script) {
				t.Fatalf("region %+v at %d of %q", r, pos, script)
			}
			pos = r.end
		}
		var batches []Batch
		var err error
		bounds.Allocations(t, len(script), 64<<10, 1000, func() { batches, err = SplitBatches(script) })
		if err != nil {
			return
		}
		rest, line := strings.TrimPrefix(script, "\uFEFF"), 1
		for _, b := range batches {
			if strings.TrimSpace(b.Text) == "" {
				t.Fatalf("blank batch in %q", script)
			}
			at := -1
			for from := 0; ; {
				i := strings.Index(rest[from:], b.Text)
				if i < 0 {
					break
				}
				if line+strings.Count(rest[:from+i], "\n") == b.Line {
					at = from + i
					break
				}
				from += i + 1
			}
			if at < 0 {
				t.Fatalf("batch %+v is not in the rest of %q", b, script)
			}
			line += strings.Count(rest[:at+len(b.Text)], "\n")
			rest = rest[at+len(b.Text):]
		}
	})
}

// No value can leave its place: the text after the variable has the same regions as before.
func FuzzExpand(f *testing.F) {
	f.Add("SELECT '", "'; DROP TABLE t --", "' + 1 AS [x]")
	f.Add("SELECT [", "]; x [", "] FROM t")
	f.Add("/* ", "*/", " */ SELECT 'a'")
	f.Add(`"`, `"`, `"`)
	f.Add("N'", "''", "''")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		text := before + "$(v)" + after
		vars := Variables{"v": StringValue(value)}
		got := Expand(text, vars)
		plain := Expand(text, Variables{"v": StringValue("x")})
		if strings.Contains(before+after+value, "$(") {
			return // other places change as well then
		}
		if g, p := shape(got), shape(plain); g != p {
			t.Fatalf("%q with %q becomes %q (%s), with x %q (%s)", text, value, got, g, plain, p)
		}
	})
}

// shape returns the kinds of a text's regions, and the text of the code regions.
func shape(text string) string {
	var b strings.Builder
	for pos := 0; pos < len(text); {
		r := nextRegion(text, pos)
		pos = r.end
		fmt.Fprintf(&b, "%d", r.kind)
		if r.kind == regionCode {
			fmt.Fprintf(&b, "%q", text[r.start:r.end])
		}
	}
	return b.String()
}
