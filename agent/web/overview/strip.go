package overview

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
)

// strips are the latest runs of jobs.
type strips struct {
	summary.RecentRuns
	List []strip
}

// strip are the latest runs of a job, from the oldest to the latest.
type strip struct {
	JobName string
	Runs    []executions.Run
	Failed  int // Failed and TimedOut runs
}

// newStrips groups runs by job. Jobs whose latest run failed come first, then those that failed
// most.
func newStrips(r summary.RecentRuns) *strips {
	s := &strips{RecentRuns: r}
	for _, run := range r.Runs {
		if n := len(s.List); n == 0 || s.List[n-1].JobName != run.JobName {
			s.List = append(s.List, strip{JobName: run.JobName})
		}
		one := &s.List[len(s.List)-1]
		one.Runs = append(one.Runs, run)
		if bad(run) {
			one.Failed++
		}
	}
	slices.SortStableFunc(s.List, func(a, b strip) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(b.Failed, a.Failed))
	})
	return s
}

// order returns the place of a strip: its latest run that ended failed, or did not.
func order(s strip) int {
	for _, run := range slices.Backward(s.Runs) {
		if !run.Active {
			if bad(run) {
				return 0
			}
			return 1
		}
	}
	return 1
}

// bad reports whether a run failed.
func bad(r executions.Run) bool {
	return r.Lifecycle.IsFailure()
}

// Last is the latest run.
func (s strip) Last() executions.Run { return s.Runs[len(s.Runs)-1] }

// Summary says what the cells show, for screen readers.
func (s strip) Summary() string {
	text := page.Counted(len(s.Runs), "run", "runs")
	if s.Failed == 0 {
		return text + ", none failed"
	}
	return fmt.Sprintf("%s, %d failed", text, s.Failed)
}

// The sizes of a cell, in units of the drawing.
const (
	cellWidth, cellStep, cellHeight = 9, 11, 18
	stripWidth                      = stripRuns * cellStep
)

// Cells draws the runs, the latest at the right. Each run is a link, which the tab key skips: the
// row has a link to the job, whose page lists them. href returns the address of a run.
func (s strip) Cells(runs string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="%s">`,
		stripWidth, cellHeight, stripWidth, cellHeight, template.HTMLEscapeString(s.Summary()))
	for i, run := range s.Runs {
		x := (stripRuns - len(s.Runs) + i) * cellStep
		fmt.Fprintf(&b, `<a href="%s/%s" tabindex="-1"><title>%s</title>%s</a>`,
			template.HTMLEscapeString(runs), run.ID, template.HTMLEscapeString(cellTitle(run)), cell(run, x))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, ids and escaped texts
}

// cellTitle describes a run.
func cellTitle(r executions.Run) string {
	text := strings.TrimSpace(fmt.Sprintf("%s · %s UTC", lifecycleWords(r.Lifecycle), r.CreateTime.UTC().Format("2006-01-02 15:04:05")))
	if from := r.StartTime; !from.IsZero() && !r.EndTime.IsZero() {
		text += " · took " + page.DurationText(r.EndTime.Sub(from))
	}
	return text
}

// lifecycleWords are the words of titles.
func lifecycleWords(l jobs.Lifecycle) string {
	switch l {
	case jobs.SucceededWithSkipped:
		return "Succeeded with skipped targets"
	case jobs.TimedOut:
		return "Timed out"
	case jobs.WaitingForChildJobExecutions, jobs.InProgress:
		return "Running"
	case jobs.WaitingForRetry:
		return "Waiting for a retry"
	}
	return string(l)
}

// cell draws a run: each kind of end has a colour and a shape of its own. A failure has the height
// of the cell and a cross, a success is a plain block, what was canceled or skipped is low, and
// what runs is hollow.
func cell(r executions.Run, x int) string {
	block := func(class string, y int) string {
		return fmt.Sprintf(`<rect class="s-%s" x="%d" y="%d" width="%d" height="%d" rx="1.5"/>`, class, x, y, cellWidth, cellHeight-y)
	}
	mark := func(path string, args ...any) string {
		return fmt.Sprintf(`<path class="mark" d="`+path+`"/>`, args...)
	}
	left, right, middle := float64(x)+2.5, float64(x)+cellWidth-2.5, float64(x)+cellWidth/2.0
	switch r.Lifecycle {
	case jobs.Succeeded:
		return block("ok", 4)
	case jobs.SucceededWithSkipped:
		return block("ok", 4) + mark("M%.1f 11H%.1f", left, right)
	case jobs.Failed:
		return block("bad", 0) + mark("M%.1f 7L%.1f 11M%.1f 7L%.1f 11", left, right, right, left)
	case jobs.TimedOut:
		return block("bad", 0) + mark("M%.1f 5V9.5H%.1f", middle, right)
	case jobs.Canceled:
		return block("off", 11)
	case jobs.Skipped:
		return block("off", 14)
	}
	return fmt.Sprintf(`<rect class="running" x="%.1f" y="5" width="%d" height="%d" rx="1.5"/>`, float64(x)+1, cellWidth-2, cellHeight-6)
}
