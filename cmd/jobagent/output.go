package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// outputFormat is the value of -o.
type outputFormat string

// The formats of -o. They are read by people (table) and by programs (json: one object or array on stdout).
const (
	formatTable outputFormat = "table"
	formatJSON  outputFormat = "json"
)

// Set implements pflag.Value.
func (f *outputFormat) Set(s string) error {
	switch v := outputFormat(strings.ToLower(s)); v {
	case formatTable, formatJSON:
		*f = v
		return nil
	}
	return fmt.Errorf("invalid output format %q: want table or json", s)
}

// String implements pflag.Value.
func (f *outputFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *outputFormat) Type() string { return "table|json" }

// writeJSON prints v as indented JSON with a line feed.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table collects rows and prints them in columns, as wide as their widest cell.
type table struct {
	header []string
	rows   [][]string
}

func newTable(header ...string) *table { return &table{header: header} }

// add appends a row; each cell becomes text by [cell].
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	t.rows = append(t.rows, row)
}

// write prints the header, then the rows; nothing but the header when there are none.
func (t *table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.header, "\t"))
	for _, row := range t.rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// cell is the text of a table's cell: times in UTC to the second, nothing for nil and zero times, one line always.
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
		return strings.ReplaceAll(oneLine(fmt.Sprint(v)), "\t", " ")
	}
}

// shorten cuts s to at most n runes, the last one being an ellipsis.
func shorten(s string, n int) string {
	s = oneLine(s)
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}
