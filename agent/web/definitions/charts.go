package definitions

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/jobs"
)

// run is a run in a strip or chart.
type run struct {
	ID        string
	Lifecycle jobs.Lifecycle
	Active    bool
	Created   time.Time
	Started   time.Time
	Ended     time.Time
}

// Length is the time from the creation of a run to its end, or to now.
func (r run) Length(now time.Time) time.Duration {
	end := r.Ended
	if end.IsZero() {
		end = now
	}
	return max(0, end.Sub(r.Created))
}

// failed reports whether a run ended badly.
func (r run) failed() bool { return r.Lifecycle.IsFailure() }

// summary says how many runs ended how, for those who do not see a picture.
func summary(runs []run) string {
	if len(runs) == 0 {
		return "no runs"
	}
	counts := map[string]int{}
	var order []string
	for _, r := range runs {
		name := string(r.Lifecycle)
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	slices.Sort(order)
	var parts []string
	for _, name := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	if len(runs) == 1 {
		return "the latest run: " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("the latest %d runs: %s", len(runs), strings.Join(parts, ", "))
}

// cellWidth is the width of a cell of a strip with the space behind it.
const cellWidth = 9

// strip draws runs as stripCells cells, from the oldest to the latest. The height tells failures
// from successes without colours.
func strip(runs []run) template.HTML {
	var b strings.Builder
	width := stripCells * cellWidth
	fmt.Fprintf(&b, `<svg class="strip" role="img" aria-label="%s" viewBox="0 0 %d 20" width="%d" height="20">`, template.HTMLEscapeString(summary(runs)), width, width)
	first := stripCells - len(runs)
	for i := range stripCells {
		x := i * cellWidth
		if i < first {
			fmt.Fprintf(&b, `<rect class="none" x="%d" y="17" width="7" height="2" rx="1"/>`, x)
			continue
		}
		r := runs[i-first]
		y, height := 5, 14
		if r.failed() {
			y, height = 1, 18
		}
		if r.Active {
			y, height = 9, 10
		}
		fmt.Fprintf(&b, `<rect class="s-%s" x="%d" y="%d" width="7" height="%d" rx="1.5"><title>%s</title></rect>`, page.StateClass(string(r.Lifecycle)), x, y, height,
			template.HTMLEscapeString(string(r.Lifecycle)+", "+r.Created.UTC().Format("2006-01-02 15:04:05")+" UTC"))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}

// durations is the chart of how long runs took.
type durations struct {
	Picture template.HTML
	// Runs are the runs from the latest to the oldest, for the table.
	Runs    []durationRow
	Median  time.Duration // of those that succeeded
	Longest time.Duration
	Failed  int
}

// durationRow is a row of the table of a chart.
type durationRow struct {
	run
	Length time.Duration
	Href   string
}

// chart draws the lengths of runs, which are from the oldest to the latest. Coordinates have no
// unit: the picture is stretched to the width of the page, so it has no texts.
func chart(runs []run, now time.Time, path func(id string) string) durations {
	const width, height = 1000.0, 120.0
	var d durations
	var ended []time.Duration
	for _, r := range runs {
		length := r.Length(now)
		d.Longest = max(d.Longest, length)
		if r.Lifecycle.IsSuccess() {
			ended = append(ended, length)
		}
		if r.failed() {
			d.Failed++
		}
		d.Runs = append(d.Runs, durationRow{run: r, Length: length, Href: path(r.ID)})
	}
	slices.Reverse(d.Runs)
	if len(ended) > 0 {
		slices.Sort(ended)
		d.Median = ended[len(ended)/2]
	}
	if d.Longest <= 0 {
		d.Longest = time.Millisecond
	}
	slot := width / float64(max(len(runs), 30))
	left := width - slot*float64(len(runs))
	y := func(length time.Duration) float64 {
		return height - max(2, (height-6)*float64(length)/float64(d.Longest))
	}
	decimal := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="durations" role="img" aria-label="Duration of %s" viewBox="0 0 1000 120" preserveAspectRatio="none">`,
		template.HTMLEscapeString(summary(runs)))
	for _, at := range []float64{0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(&b, `<line class="rule" x1="0" x2="1000" y1="%s" y2="%[1]s"/>`, decimal(height-(height-6)*at))
	}
	for i, r := range runs {
		length := r.Length(now)
		x, top := left+slot*float64(i), y(length)
		title := string(r.Lifecycle) + ", " + r.Created.UTC().Format("2006-01-02 15:04:05") + " UTC, " + page.DurationText(length)
		fmt.Fprintf(&b, `<rect class="s-%s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, page.StateClass(string(r.Lifecycle)), decimal(x+slot*.12),
			decimal(top), decimal(slot*.76), decimal(height-top), template.HTMLEscapeString(title))
		if r.failed() {
			fmt.Fprintf(&b, `<path class="mark" d="M%s %s l%s -5 l%[3]s 5 z"/>`, decimal(x+slot*.12), decimal(max(5, top)), decimal(slot*.38))
		}
	}
	if d.Median > 0 {
		fmt.Fprintf(&b, `<line class="median" x1="0" x2="1000" y1="%s" y2="%[1]s"/>`, decimal(y(d.Median)))
	}
	b.WriteString(`</svg>`)
	d.Picture = template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
	return d
}
