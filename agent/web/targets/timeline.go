package targets

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// Bounds of the timeline.
const (
	slowestDefault = 50
	slowestMost    = 500
	waitsShown     = 10
	attemptsDrawn  = 5000
)

// timelinePage is the data of the timeline of a run.
type timelinePage struct {
	head
	// Step restricts the targets; 0 means all steps. Top is the number of targets.
	Step, Top int
	Steps     []executions.RunStep // those that have begun
	Slowest   []executions.RunTarget
	Waits     []executions.RunTarget
	Summary   executions.DurationSummary
	Buckets   []executions.DurationBucket
	attempts  map[attemptKey][]executions.Attempt
	scale     scale
}

type attemptKey struct {
	step   int
	target uuid.UUID
}

// showTimeline handles the timeline of a run.
func showTimeline(ctx context.Context, r *page.Request) (*page.View, error) {
	run, err := identifier(r.Value("run"), "run")
	if err != nil {
		return nil, err
	}
	step, top := integer(r.Query("step"), 0, 0, 1<<30), integer(r.Query("top"), slowestDefault, 1, slowestMost)
	d, err := readTimeline(ctx, r.Store, run, step, top)
	if err != nil {
		return nil, err
	}
	v := d.runView(r, "timeline", d)
	if d.Run.Active {
		v.Topic = "timeline/" + topicID(run.String(), strconv.Itoa(step), strconv.Itoa(top))
	}
	var only any // nil selects all steps
	if step > 0 {
		only = step
	}
	v.Equivalents = []page.Equivalent{page.Query(`DECLARE @run UNIQUEIDENTIFIER = N'?', @step INT = N'?', @top INT = N'?';
SELECT TOP (@top) step_id, target_server_name, target_database_name, start_time, end_time, attempts,
    DATEDIFF_BIG(MILLISECOND, create_time, start_time) AS wait_ms,
    COALESCE(duration_ms, DATEDIFF_BIG(MILLISECOND, start_time, SYSUTCDATETIME())) AS ms
FROM jobs.job_execution_targets
WHERE job_execution_id = @run
    AND (@step IS NULL OR step_id = @step)
    AND start_time IS NOT NULL
ORDER BY ms DESC;`, run, only, top)}
	return v, nil
}

// openTimeline makes the source of live updates of a timeline.
func openTimeline(id string) (live.Source, error) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("invalid topic %q: want RUN.STEP.TOP", id)
	}
	run, err := uuid.Parse(parts[0])
	if err != nil {
		return nil, fmt.Errorf("invalid run: %w", err)
	}
	step, top := integer(parts[1], 0, 0, 1<<30), integer(parts[2], slowestDefault, 1, slowestMost)
	return live.Fragments(setName, func(ctx context.Context, store *controldb.Store) (any, error) {
		return readTimeline(ctx, store, run, step, top)
	}, "timeline-summary", "timeline-chart", "timeline-histogram", "timeline-waits"), nil
}

// readTimeline reads a timeline. Each of its queries reads all targets of the run, and returns few
// rows.
func readTimeline(ctx context.Context, store *controldb.Store, run uuid.UUID, step, top int) (*timelinePage, error) {
	h, err := readHead(ctx, store, run)
	if err != nil {
		return nil, err
	}
	d := &timelinePage{head: h, Step: step, Top: top, attempts: map[attemptKey][]executions.Attempt{}}
	for _, s := range h.Run.Steps {
		if s.Begun() {
			d.Steps = append(d.Steps, s)
		}
	}
	of := executions.RunTargetFilter{Order: executions.Slowest, Limit: top}
	if step > 0 {
		of.Steps = []int{step}
	}
	if d.Slowest, err = executions.On(store).Targets(ctx, run, of); err != nil {
		return nil, err
	}
	of.Order, of.Limit = executions.LongestWait, waitsShown
	if d.Waits, err = executions.On(store).Targets(ctx, run, of); err != nil {
		return nil, err
	}
	if d.Summary, err = executions.On(store).Durations(ctx, run, step); err != nil {
		return nil, err
	}
	if d.Buckets, err = executions.On(store).Histogram(ctx, run, step); err != nil {
		return nil, err
	}
	list, err := executions.On(store).SlowestAttempts(ctx, run, step, top, attemptsDrawn)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		k := attemptKey{a.StepID, a.TargetID}
		d.attempts[k] = append(d.attempts[k], a)
	}
	d.scale = scale{start: d.Run.CreateTime, span: d.end().Sub(d.Run.CreateTime)}
	return d, nil
}

// end is the end of the axis: that of the run, or now.
func (d *timelinePage) end() time.Time {
	end := d.Run.EndTime
	if end.IsZero() {
		end = d.Now()
	}
	for _, t := range d.Slowest { // targets are read after the run
		if t.EndTime.After(end) {
			end = t.EndTime
		}
	}
	return end
}

// Axis draws the labels of the axis.
func (d *timelinePage) Axis() template.HTML { return drawAxis(d.scale.ticks()) }

// Began is the beginning of the axis.
func (d *timelinePage) Began() time.Time { return d.scale.start }

// Span is the length of the axis.
func (d *timelinePage) Span() time.Duration { return d.scale.span }

// StepLane draws a step from its beginning to its end.
func (d *timelinePage) StepLane(s executions.RunStep) template.HTML {
	end := s.EndTime
	if end.IsZero() {
		end = d.end()
	}
	return drawLane(d.scale.ticks(), []bar{{
		from: d.scale.at(s.CreateTime), to: d.scale.at(end), class: page.StateClass(string(s.Lifecycle)),
		title: fmt.Sprintf("Step %d: %s, %s", s.StepID, s.Lifecycle, page.DurationText(end.Sub(s.CreateTime))),
	}})
}

// StepTook is the duration of a step until its end, or until now.
func (d *timelinePage) StepTook(s executions.RunStep) time.Duration {
	end := s.EndTime
	if end.IsZero() {
		end = d.Now()
	}
	return max(end.Sub(s.CreateTime), 0)
}

// Lane draws the attempts on a target, and the waits before and between them.
func (d *timelinePage) Lane(t executions.RunTarget) template.HTML {
	from := t.CreateTime
	var bars []bar
	for _, a := range d.attempts[attemptKey{t.StepID, t.TargetID}] {
		start, end := a.Span(d.Now())
		if start.After(from) {
			what := "wait in the queue"
			if len(bars) > 0 {
				what = "wait before the next attempt"
			}
			bars = append(bars, bar{from: d.scale.at(from), to: d.scale.at(start), class: "wait", thin: true, title: what + ", " + page.DurationText(start.Sub(from))})
		}
		state := a.Outcome
		if state == "" {
			state = "InProgress"
		}
		bars = append(bars, bar{
			from: d.scale.at(start), to: d.scale.at(end), class: page.StateClass(state),
			title: fmt.Sprintf("attempt %d: %s, %s", a.Number, state, page.DurationText(end.Sub(start))),
		})
		from = end
	}
	if t.Active && from.Before(d.end()) && !t.NextAttempt.IsZero() {
		bars = append(bars, bar{from: d.scale.at(from), to: 100, class: "wait", thin: true, title: "waits for the next attempt"})
	}
	return drawLane(d.scale.ticks(), bars)
}

// Took is the duration of a target until its end, or until now.
func (d *timelinePage) Took(t executions.RunTarget) time.Duration { return t.Duration(d.Now()) }

// QueueWait is the time from the list of targets to the first attempt, or to now.
func (d *timelinePage) QueueWait(t executions.RunTarget) time.Duration {
	end := t.StartTime
	if end.IsZero() {
		end = d.Now()
	}
	return max(end.Sub(t.CreateTime), 0)
}

// MS makes a duration of milliseconds.
func (d *timelinePage) MS(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// TopLink is the address of the timeline with another number of targets.
func (d *timelinePage) TopLink(top int) string {
	return fmt.Sprintf("?step=%d&top=%d", d.Step, top)
}

// MoreTop is a larger number of targets; 0 if all are shown.
func (d *timelinePage) MoreTop() int {
	if len(d.Slowest) < d.Top || d.Top >= slowestMost {
		return 0
	}
	return min(d.Top*4, slowestMost)
}

// bucketBounds returns the durations of a bucket of Histogram.
func bucketBounds(index int) (from, to time.Duration) {
	at := func(i int) time.Duration {
		return time.Duration((math.Exp(float64(i)/4) - 1) * float64(time.Millisecond))
	}
	return at(index), at(index + 1)
}

// bucketRow is a row of the table of the histogram.
type bucketRow struct {
	From, To      time.Duration
	Total, Failed int
}

// BucketRows are the buckets for the table, which holds the numbers of the drawing.
func (d *timelinePage) BucketRows() []bucketRow {
	list := make([]bucketRow, 0, len(d.Buckets))
	for _, b := range d.Buckets {
		from, to := bucketBounds(b.Index)
		list = append(list, bucketRow{from, to, b.Total, b.Failed})
	}
	return list
}

// histogramTicks are the marks of the histogram's axis.
var histogramTicks = []time.Duration{
	0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour, 100 * time.Hour,
}

// Heights of the histogram, in pixels.
const (
	histogramHeight = 150
	histogramBase   = 120 // below are the labels
	histogramTop    = 18  // above are the percentiles
)

// Histogram draws the number of targets by duration, on an axis that grows by factors.
func (d *timelinePage) Histogram() template.HTML {
	if len(d.Buckets) == 0 {
		return ""
	}
	first, last := d.Buckets[0].Index-1, d.Buckets[len(d.Buckets)-1].Index+2
	if last-first < 12 {
		first, last = max(first-(12-last+first)/2, 0), last+(13-last+first)/2
	}
	first = max(first, 0)
	most := 0
	for _, b := range d.Buckets {
		most = max(most, b.Total)
	}
	width := 100 / float64(last-first)
	place := func(t time.Duration) float64 {
		return (4*math.Log(float64(t)/float64(time.Millisecond)+1) - float64(first)) * width
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="histogram" width="100%%" height="%d" role="img" aria-label="Number of targets by duration; the table below has the numbers">`, histogramHeight)
	fmt.Fprintf(&b, `<line class="base" x1="0" x2="100%%" y1="%d" y2="%d"/>`, histogramBase, histogramBase)
	for i, t := range histogramTicks {
		x := place(t)
		if x < 0 || x > 100 {
			continue
		}
		anchor := "middle"
		switch {
		case x < 4:
			anchor = "start"
		case x > 95:
			anchor = "end"
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="%d" y2="%d"/><text x="%s" y="%d" text-anchor="%s">%s</text>`,
			percent(x), percent(x), histogramTop, histogramBase+4, percent(x), histogramBase+20, anchor, page.LengthText(histogramTicks[i]))
	}
	for _, k := range d.Buckets {
		from, to := bucketBounds(k.Index)
		height := func(n int) float64 { return float64(histogramBase-histogramTop) * float64(n) / float64(most) }
		x := float64(k.Index-first) * width
		title := fmt.Sprintf("%s to %s: %d %s, %d failed", page.DurationText(from), page.DurationText(to), k.Total, page.Plural(k.Total, "target", "targets"), k.Failed)
		total := max(height(k.Total), 2)
		bad := 0.0
		if k.Failed > 0 {
			bad = max(height(k.Failed), 2)
		}
		fmt.Fprintf(&b, `<g><title>%s</title><rect class="s-ok" x="%s" y="%.1f" width="%s" height="%.1f"/>`, title, percent(x+width*.06), histogramBase-total, percent(width*.88), max(total-bad, 0))
		if bad > 0 {
			fmt.Fprintf(&b, `<rect class="s-bad" x="%s" y="%.1f" width="%s" height="%.1f"/>`, percent(x+width*.06), histogramBase-bad, percent(width*.88), bad)
		}
		b.WriteString(`</g>`)
	}
	d.drawPercentiles(&b, place)
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and constants
}

// drawPercentiles draws lines at p50, p90 and p99. Labels that would overlap are left out; the
// numbers stand above the drawing.
func (d *timelinePage) drawPercentiles(b *strings.Builder, place func(time.Duration) float64) {
	before := -100.0
	for _, p := range []struct {
		name string
		ms   int64
	}{{"p50", d.Summary.P50MS}, {"p90", d.Summary.P90MS}, {"p99", d.Summary.P99MS}} {
		x := place(d.MS(p.ms))
		fmt.Fprintf(b, `<line class="percentile" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(x), percent(x), histogramTop-4, histogramBase)
		if x-before >= 12 {
			fmt.Fprintf(b, `<text class="percentile-name" x="%s" y="12" text-anchor="middle">%s</text>`, percent(min(max(x, 4), 96)), p.name)
			before = x
		}
	}
}
