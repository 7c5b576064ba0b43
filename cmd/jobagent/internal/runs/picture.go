package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// Canvas draws runs in lines of at most Width cells.
type Canvas struct {
	Paint terminal.Painter
	Width int
	done  int // width of the column of targets that have ended
}

// Widths from which a step has more columns, and a narrow terminal's own layout.
const (
	widthAllColumns = 100
	widthFailed     = 66
)

// Title is the heading of a section, with the names of columns at the right.
func (c Canvas) Title(text, columns string) string {
	if columns == "" {
		return c.Paint.In(terminal.StyleHead, terminal.Fit(text, c.Width))
	}
	w := max(0, c.Width-lipgloss.Width(columns))
	return c.Paint.In(terminal.StyleHead, terminal.Fit(text, w)) + c.Paint.In(terminal.StyleQuiet, columns)
}

// quiet is a line of less weight.
func (c Canvas) quiet(text string) string {
	return c.Paint.In(terminal.StyleQuiet, terminal.Fit(text, c.Width))
}

// Page returns the picture of a run. notes are lines below its head that say what is wrong. If
// height is positive, the picture has at most so many lines: of the steps, those in progress come
// first. Else it is complete.
func (c Canvas) Page(d *Detail, notes []string, height int) []string {
	lines := c.head(d, height)
	for _, note := range notes {
		lines = append(lines, c.Paint.In(terminal.StyleBad, terminal.Fit("✗ "+note, c.Width)))
	}
	if height > 0 && len(lines) >= height {
		return lines[:height]
	}
	var tail []string
	if d.Run.LastMessage != "" && !d.Run.Active {
		tail = []string{"", terminal.Fit("  "+output.OneLine(d.Run.LastMessage), c.Width)}
	}
	room, steps, failures := 0, 0, 0
	if height > 0 {
		// Failures get at most half of the room, and what the steps leave.
		room = height - len(lines)
		if room -= len(tail); room < 4 {
			room, tail = room+len(tail), nil
		}
		wanted := 0
		if n := len(d.Failures) + len(d.Retries); n > 0 {
			wanted = 2 + 2*n
		}
		failures = min(wanted, max(room/2, room-2-len(d.Run.Steps)))
		if failures < 4 {
			failures = 0
		}
		if steps = room - failures; steps < 1 {
			return append(lines, tail...)
		}
	}
	lines = append(lines, c.steps(d, steps)...)
	if height <= 0 || failures > 0 {
		lines = append(lines, c.failures(d, failures)...)
	}
	return append(lines, tail...)
}

// head is the name and state of the run, its targets, and their states.
func (c Canvas) head(d *Detail, height int) []string {
	run, all := d.Run, d.counts()
	end := d.now()
	if !run.EndTime.IsZero() {
		end = run.EndTime
	}
	state := min(22, max(9, c.Width/3))
	lines := []string{
		c.Paint.In(terminal.StyleTitle, terminal.Fit(run.JobName, max(4, c.Width-state-10))) + " " + c.Paint.State(run.Lifecycle, state) + " " + terminal.Right(terminal.Span(end.Sub(run.CreateTime)), 8),
	}
	if height <= 0 || height >= 12 {
		text := "run " + d.ID.String()
		if c.Width >= widthFailed {
			text += " · created " + run.CreateTime.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		if height <= 0 {
			text += " · jobagent execution show " + d.ID.String()
		}
		lines = append(lines, c.quiet(text))
	}
	if all.Total() > 0 {
		text := " " + terminal.Number(all.Ended()) + " of " + terminal.Number(all.Total())
		if c.Width >= widthFailed {
			text += " targets"
		}
		rate, left := d.pace()
		if rate > 0 {
			text += " · " + RateText(rate)
		}
		if left >= time.Second {
			text += " · " + map[bool]string{true: "≥ "}[run.Held > 0] + terminal.Span(left) + " left"
			if coming(run) && c.Width >= widthFailed {
				text += " of this step"
			}
		}
		bar := max(8, min(60, c.Width-lipgloss.Width(text)))
		lines = append(lines, c.Paint.Bar(all, bar)+terminal.Fit(text, max(0, c.Width-bar)))
	}
	if parts := c.states(d, all); len(parts) > 0 {
		lines = append(lines, c.join(parts)...)
	}
	return lines
}

// states returns the numbers of targets by state, those that are not zero.
func (c Canvas) states(d *Detail, all jobs.Counts) []string {
	var parts []string
	add := func(n int, style lipgloss.Style, text string) {
		if n > 0 {
			parts = append(parts, c.Paint.In(style, terminal.Number(n)+" "+text))
		}
	}
	add(all.Running, terminal.StyleBusy, "running")
	add(all.Callback, terminal.StyleBusy, "waiting for a callback")
	add(all.Retrying, terminal.StyleBusy, "retrying"+retryIn(d))
	if text := jobs.ToleratedBy(d.Run.Lifecycle, all.Failed, 0); text != "" {
		parts = append(parts, c.Paint.In(terminal.StyleQuiet, text))
	} else {
		add(all.Failed, terminal.StyleBad, "failed")
	}
	add(all.Skipped, terminal.StyleQuiet, "skipped")
	add(all.Canceled, terminal.StyleQuiet, "canceled")
	add(all.Waiting, terminal.StyleQuiet, "waiting")
	add(d.Run.Held, terminal.StyleBusy, heldUntil(d))
	return parts
}

// heldUntil says what holds targets, and when the first of them goes on.
func heldUntil(d *Detail) string {
	const what = "of these held by pauses and windows"
	if d.Run.HeldFrom.IsZero() {
		return what
	}
	return what + ", the first until " + d.Run.HeldFrom.UTC().Format("2006-01-02 15:04 UTC")
}

// retryIn says when the next of the waiting retries is due.
func retryIn(d *Detail) string {
	next := d.nextRetry()
	if next.IsZero() {
		return ""
	}
	in := next.Sub(d.now())
	if in <= 0 {
		return " (now)"
	}
	return " (next in " + terminal.Span((in + time.Second - 1).Truncate(time.Second)) + ")"
}

// join puts pieces into lines, without breaking a piece.
func (c Canvas) join(parts []string) []string {
	var lines []string
	line, width := "", 0
	for _, part := range parts {
		w := lipgloss.Width(part)
		if width > 0 && width+3+w > c.Width {
			lines, line, width = append(lines, line), "", 0
		}
		if width > 0 {
			line, width = line+" · ", width+3
		}
		line, width = line+part, width+w
	}
	return append(lines, line)
}

// RateText writes targets per second.
func RateText(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return terminal.Number(int(rate+0.5)) + "/s"
}

// coming reports whether steps of a run have not begun.
func coming(run executions.Run) bool {
	return slices.ContainsFunc(run.Steps, func(s executions.RunStep) bool { return !s.Begun() })
}

// stepRow is a step in the picture: one that has begun, or one to come.
type stepRow struct {
	executions.RunStep
	counts jobs.Counts
}

// rank orders the steps when there is not room for all: those in progress, those with failures,
// those to come, those that have ended, the latest first.
func (s stepRow) rank() int {
	switch {
	case s.Lifecycle == "":
		return 2
	case s.EndTime.IsZero():
		return 0
	case s.counts.Failed > 0:
		return 1
	}
	return 3
}

// steps draws the steps in at most height lines; 0 means all.
func (c Canvas) steps(d *Detail, height int) []string {
	rows := make([]stepRow, 0, len(d.Run.Steps))
	for _, begun := range []bool{true, false} { // those to come are at the end
		for _, s := range d.Run.Steps {
			if s.Begun() == begun {
				rows = append(rows, stepRow{RunStep: s, counts: s.Counts()})
			}
		}
	}
	c.done = 7
	for _, row := range rows {
		c.done = max(c.done, 2+lipgloss.Width(doneText(row.counts)))
	}
	var lines []string
	if height <= 0 || height >= 4 {
		lines = []string{"", c.Title("STEPS", c.stepColumns())}
	}
	room := len(rows)
	if height > 0 {
		room = height - len(lines)
	}
	more := ""
	if len(rows) > room {
		slices.SortStableFunc(rows, func(a, b stepRow) int {
			if a.rank() == 3 && b.rank() == 3 {
				return b.StepID - a.StepID
			}
			return cmp.Compare(a.rank(), b.rank())
		})
		room = max(0, room-1)
		more = moreSteps(rows[room:])
		rows = rows[:room]
	}
	for _, row := range rows {
		lines = append(lines, c.stepLine(row, d.now()))
	}
	if more != "" {
		lines = append(lines, c.quiet("  "+more))
	}
	if len(rows) == 0 && more == "" {
		lines = append(lines, c.quiet("  no step has begun"))
	}
	return lines
}

// moreSteps says what is left out: "+18 more: 15 ended, 3 to come".
func moreSteps(rows []stepRow) string {
	active, ended, next := 0, 0, 0
	for _, row := range rows {
		switch {
		case row.Lifecycle == "":
			next++
		case row.EndTime.IsZero():
			active++
		default:
			ended++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{active, "in progress"}, {ended, "ended"}, {next, "to come"}} {
		if p.n > 0 {
			parts = append(parts, terminal.Number(p.n)+" "+p.text)
		}
	}
	return fmt.Sprintf("+%s more: %s", terminal.Number(len(rows)), strings.Join(parts, ", "))
}

// doneText is the number of targets that have ended, of all.
func doneText(c jobs.Counts) string {
	return terminal.Number(c.Ended()) + " of " + terminal.Number(c.Total())
}

// stepColumns are the names of the columns of stepLine behind the bar.
func (c Canvas) stepColumns() string {
	switch {
	case c.Width >= widthAllColumns:
		return terminal.Right("done", c.done) + terminal.Right("failed", 8) + terminal.Right("running", 9) + terminal.Right("waiting", 9) + terminal.Right("time", 8)
	case c.Width >= widthFailed:
		return terminal.Right("done", c.done) + terminal.Right("failed", 8) + terminal.Right("time", 8)
	}
	return terminal.Right("done", c.done)
}

// stepLine draws a step.
func (c Canvas) stepLine(s stepRow, now time.Time) string {
	room := max(16, c.Width-2-lipgloss.Width(c.stepColumns()))
	name, state, bar := room*45/100, min(room*30/100, 22), 0
	if c.Width < widthAllColumns {
		state = 11 // of the usual words
	}
	if c.Width < widthFailed {
		name, state = room*55/100, 1 // the sign alone
	}
	bar = max(4, room-name-state-2)
	count := s.counts
	done, failed, running, waiting, took := "", "", "", "", ""
	if s.Lifecycle != "" {
		done, failed = doneText(count), terminal.Number(count.Failed)
		running, waiting = terminal.Number(count.Running), terminal.Number(count.Retrying+count.Waiting+count.Callback)
	}
	if !s.StartTime.IsZero() {
		end := now
		if !s.EndTime.IsZero() {
			end = s.EndTime
		}
		took = terminal.Span(end.Sub(s.StartTime))
	}
	line := "  " + terminal.Fit(fmt.Sprintf("%d %s", s.StepID, s.Name), name) + " " + c.sign(s, state) + " " +
		c.Paint.Bar(count, bar) + terminal.Right(done, c.done)
	if c.Width < widthFailed {
		return line
	}
	failed = terminal.Right(failed, 8)
	if count.Failed > 0 {
		failed = c.Paint.In(terminal.StyleBad, failed)
	}
	line += failed
	if c.Width >= widthAllColumns {
		line += terminal.Right(running, 9) + terminal.Right(waiting, 9)
	}
	return line + terminal.Right(took, 8)
}

// sign is the state of a step: its sign and word, or the sign alone in one cell.
func (c Canvas) sign(s stepRow, width int) string {
	state := stepState(s.RunStep, s.counts)
	if width > 1 {
		return c.Paint.State(state, width)
	}
	word := terminal.Painter{Plain: true}.State(state, 20)
	return c.Paint.In(terminal.StateStyle(string(state)), string([]rune(word)[:1]))
}

// failures draws the groups of failures in at most height lines; 0 means all.
func (c Canvas) failures(d *Detail, height int) []string {
	lines := []string{"", c.Title("ERRORS", "")}
	groups := slices.Concat(d.Failures, d.Retries)
	if len(groups) == 0 {
		return append(lines, c.quiet("  no target has failed"))
	}
	for i, g := range groups {
		left, room := len(groups)-i, 2
		if height > 0 {
			if room = height - len(lines); left > 1 {
				room-- // for the line with the number of the others
			}
		}
		if room < 1 {
			return append(lines, c.quiet(fmt.Sprintf("  +%s more errors: jobagent execution errors %s", terminal.Number(left), d.ID)))
		}
		number := min(8, max(4, c.Width/10))
		indent := number + 4
		style, state := terminal.StyleBad, ""
		if g.Waits {
			style, state = terminal.StyleBusy, "waits for a retry: "
		}
		lines = append(lines,
			c.Paint.In(style, terminal.Right(terminal.Number(g.Targets), number)+" ×  ")+
				terminal.Fit(fmt.Sprintf("step %d  %s%s", g.Step, state, output.OneLine(g.Message)), c.Width-indent))
		if room >= 2 {
			lines = append(lines, c.quiet(strings.Repeat(" ", indent)+strings.Join(g.Examples, ", ")))
		}
	}
	if d.Cut && (height <= 0 || len(lines) < height) {
		lines = append(lines, c.quiet(fmt.Sprintf("  of the first %d failed targets", groupedFailures)))
	}
	return lines
}
