package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
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

// report is what a benchmark prints.
type report struct{ output.Bench }

// add appends a figure.
func (r *report) add(name string, value float64, unit, bar string) {
	r.Figures = append(r.Figures, output.Figure{Name: name, Value: value, Unit: unit, Bar: bar})
}

// spread appends the median, the 99th percentile and the maximum of durations, in milliseconds. bar
// is the requirement for the percentile.
func (r *report) spread(name string, list []time.Duration, bar string) {
	slices.Sort(list)
	for _, f := range []struct {
		suffix   string
		perMille int
		bar      string
	}{{"p50", 500, ""}, {"p99", 990, bar}, {"max", 1000, ""}} {
		r.add(name+"_"+f.suffix, milliseconds(percentile(list, f.perMille)), "ms", f.bar)
	}
}

// percentile returns the smallest of sorted durations that at least perMille thousandths of them do
// not exceed, or 0 if there are none.
func percentile(sorted []time.Duration, perMille int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	i := (len(sorted)*perMille+999)/1000 - 1 // rounded up in integers; a float product may exceed the exact rank
	return sorted[max(i, 0)]
}

// median returns the median of numbers. It sorts them.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// milliseconds converts a duration to milliseconds.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// print writes a report in the format of -o.
func (b *bench) print(r *report) error {
	r.Cores = runtime.NumCPU()
	switch b.format {
	case format(output.FormatJSON):
		return output.WriteJSON(b.Stdout, r)
	case formatCSV:
		return r.writeCSV(b.Stdout)
	}
	fmt.Fprintf(b.Stdout, "bench %s, server %s, %d cores\n", r.Bench.Bench, r.Server, r.Cores)
	t := output.NewTable("FIGURE", "VALUE", "UNIT", "BAR")
	for _, f := range r.Figures {
		t.Add(f.Name, strconv.FormatFloat(f.Value, 'f', decimals(f.Value), 64), f.Unit, f.Bar)
	}
	return t.Write(b.Stdout)
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
func (r *report) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"bench", "server", "cores", "name", "value", "unit", "bar"}}
	for _, f := range r.Figures {
		rows = append(rows, []string{r.Bench.Bench, r.Server, strconv.Itoa(r.Cores), f.Name,
			strconv.FormatFloat(f.Value, 'g', -1, 64), f.Unit, f.Bar})
	}
	return c.WriteAll(rows) // WriteAll flushes
}
