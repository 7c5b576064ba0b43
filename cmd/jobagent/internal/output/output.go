// Package output prints results as tables, JSON, YAML, CSV or names. It has the type of every JSON
// value that a command prints.
package output

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Optional returns nil for the zero time.
func Optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// OneLine replaces line breaks by " | ", so that a message stays on one line, and shows what is no
// text by number ([terminal.CleanText]).
func OneLine(s string) string {
	return terminal.CleanText(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " | "))
}

// isoInstant matches an instant as messages of procedures have it.
var isoInstant = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z`)

// Said is OneLine for a message of a procedure: its instants are written as elsewhere in tables,
// with their zone.
func Said(s string) string {
	return isoInstant.ReplaceAllStringFunc(OneLine(s), func(text string) string {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return text
		}
		return t.Format("2006-01-02 15:04:05 UTC")
	})
}

// Format is the value of -o.
type Format string

// The formats of -o. A command that prints no list has table, wide, json and yaml only.
const (
	FormatTable Format = "table" // columns of text, within the width of a terminal
	FormatWide  Format = "wide"  // with more columns, and not cut
	FormatJSON  Format = "json"  // one JSON value
	FormatYAML  Format = "yaml"  // the same value as YAML
	FormatCSV   Format = "csv"   // RFC 4180: all columns, and the values as they are
	FormatName  Format = "name"  // the name or id of each row on a line

	FormatJSONLines Format = "jsonl" // of query: a JSON value on a line for each row
)

// Formats are all formats.
func Formats() []Format {
	return []Format{FormatTable, FormatWide, FormatJSON, FormatYAML, FormatCSV, FormatName, FormatJSONLines}
}

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	if v := Format(strings.ToLower(s)); slices.Contains(Formats(), v) {
		*f = v
		return nil
	}
	return fmt.Errorf("invalid output format %q: want table, wide, json, yaml, csv, name or jsonl", s)
}

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "table|wide|json|yaml|csv|name|jsonl" }

// isTable reports whether the format has columns.
func (f Format) isTable() bool {
	return f == FormatTable || f == FormatWide || f == FormatCSV || f == ""
}

// Table collects rows of a command whose JSON is not a list, and prints them in aligned columns.
type Table struct{ g grid }

// NewTable returns a table with these column headers and no rows. On a terminal that is too narrow,
// the last column continues on further lines, and the others shrink.
func NewTable(header ...string) *Table {
	t := &Table{}
	for i, h := range header {
		last := i == len(header)-1
		t.g.columns = append(t.g.columns, gridColumn{header: h, min: max(8, len(h)), rest: last, wrap: last})
	}
	return t
}

// Add appends a row; [cell] formats each cell.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	t.g.rows = append(t.g.rows, row)
}

// Write prints the header and the rows.
func (t *Table) Write(w io.Writer) error {
	width, _, _ := terminal.Size(w)
	for i := range t.g.columns {
		header := t.g.columns[i].header
		t.g.columns[i].state = header == "LIFECYCLE" || header == "STATE" || header == "ENDED AS"
		t.g.columns[i].tail = header == "TARGET" || header == "FIRST"
	}
	return t.g.write(w, width, terminal.ColorAuto.Painter(w))
}

// Shorten cuts s to at most n runes; the last one is then an ellipsis.
func Shorten(s string, n int) string { return wording.Clip(OneLine(s), n, wording.Characters) }

// Indent puts prefix before each line of text, and shows what is no text by number.
func Indent(text, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(terminal.CleanText(text), "\n"), "\n", "\n"+prefix)
}
