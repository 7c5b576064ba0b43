package bench

import (
	"slices"
	"time"
)

// Report is what a benchmark has measured.
type Report struct {
	Bench   string // name of the benchmark
	Server  string // Embedded, or the version of a SQL Server
	Figures []Figure
}

// Figure is one measured number.
type Figure struct {
	Name  string
	Value float64
	Unit  string
	Bar   string // the requirement, such as ">= 0.9"; empty: there is none
}

// add appends a figure.
func (r *Report) add(name string, value float64, unit, bar string) {
	r.Figures = append(r.Figures, Figure{name, value, unit, bar})
}

// spread appends the median, the 99th percentile and the maximum of durations, in milliseconds. bar
// is the requirement for the percentile.
func (r *Report) spread(name string, list []time.Duration, bar string) {
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
