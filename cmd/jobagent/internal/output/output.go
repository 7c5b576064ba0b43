// Package output prints results as a table or as JSON. It has the type of every JSON value that a
// command prints.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Optional returns nil for the zero time.
func Optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// OneLine replaces line breaks by " | ", so that a message stays on one line.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
}

// Format is the value of -o.
type Format string

// The formats of -o: columns of text, or one JSON value.
const (
	FormatTable Format = "table"
	FormatJSON  Format = "json"
)

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	switch v := Format(strings.ToLower(s)); v {
	case FormatTable, FormatJSON:
		*f = v
		return nil
	}
	return fmt.Errorf("invalid output format %q: want table or json", s)
}

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "table|json" }

// WriteJSON prints v as indented JSON with a line feed.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Table collects rows and prints them in aligned columns.
type Table struct {
	header []string
	rows   [][]string
}

// NewTable returns a table with these column headers and no rows.
func NewTable(header ...string) *Table { return &Table{header: header} }

// Add appends a row; [cell] formats each cell.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	t.rows = append(t.rows, row)
}

// Write prints the header and the rows.
func (t *Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.header, "\t"))
	for _, row := range t.rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// cell formats a cell on one line: times in UTC to the second, nil and zero times as "".
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format("2006-01-02 15:04:05")
	case *time.Time:
		if v == nil {
			return ""
		}
		return cell(*v)
	case *int:
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	case *string:
		if v == nil {
			return ""
		}
		return cell(*v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	default:
		return strings.ReplaceAll(OneLine(fmt.Sprint(v)), "\t", " ")
	}
}

// Shorten cuts s to at most n runes; the last one is then an ellipsis.
func Shorten(s string, n int) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// OrDefault returns text, or absent if text is empty.
func OrDefault(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}

// Indent puts prefix before each line of text.
func Indent(text, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+prefix)
}
