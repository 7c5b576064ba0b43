package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/testenv/bench"
)

// format is the value of -o for bench: a format of the other commands, or csv.
type format string

// formatCSV is a header line and one line per figure.
const formatCSV format = "csv"

// Set implements pflag.Value.
func (f *format) Set(s string) error {
	switch v := format(strings.ToLower(s)); v {
	case format(output.FormatTable), format(output.FormatJSON), formatCSV:
		*f = v
		return nil
	}
	return fmt.Errorf("invalid output format %q: want table, json or csv", s)
}

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *format) Type() string { return "table|json|csv" }

// Print implements [bench.Program]: it writes a report in the format of -o.
func (p *program) Print(measured *bench.Report) error {
	r := output.Bench{Bench: measured.Bench, Server: measured.Server, Cores: runtime.NumCPU()}
	for _, f := range measured.Figures {
		r.Figures = append(r.Figures, output.Figure(f))
	}
	switch p.format {
	case format(output.FormatJSON):
		return output.WriteJSON(p.Stdout, r)
	case formatCSV:
		return writeCSV(p.Stdout, r)
	}
	fmt.Fprintf(p.Stdout, "bench %s, server %s, %d cores\n", r.Bench, r.Server, r.Cores)
	t := output.NewTable("FIGURE", "VALUE", "UNIT", "BAR")
	for _, f := range r.Figures {
		t.Add(f.Name, strconv.FormatFloat(f.Value, 'f', decimals(f.Value), 64), f.Unit, f.Bar)
	}
	return t.Write(p.Stdout)
}

// decimals returns the number of digits after the decimal point in a table.
func decimals(v float64) int {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return 0
	case v >= 10:
		return 1
	}
	return 3
}

// writeCSV writes a report as comma-separated values (RFC 4180).
func writeCSV(w io.Writer, r output.Bench) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"bench", "server", "cores", "name", "value", "unit", "bar"}}
	for _, f := range r.Figures {
		rows = append(rows, []string{r.Bench, r.Server, strconv.Itoa(r.Cores), f.Name,
			strconv.FormatFloat(f.Value, 'g', -1, 64), f.Unit, f.Bar})
	}
	return c.WriteAll(rows) // WriteAll flushes
}
