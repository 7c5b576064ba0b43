package top

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// content returns the screen. Plain text ends with a line break.
func (m *model) content() string {
	var lines []string
	switch {
	case m.help:
		lines = m.helpLines()
	case m.shown != uuid.Nil:
		lines = m.detailLines()
		if m.height > 2 {
			lines = lines[min(m.scroll, len(lines)):]
		}
	default:
		lines = m.overviewLines()
	}
	if m.whole {
		for i, line := range lines {
			lines[i] = strings.TrimRight(line, " ")
		}
		return strings.Join(lines, "\n") + "\n"
	}
	if room := max(1, m.height-1); len(lines) > room {
		lines = lines[:room]
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, m.footer()), "\n")
}

// footer is the last line: the filter, or the keys.
func (m *model) footer() string {
	switch {
	case m.filtering:
		return m.paint.In(terminal.StyleHead, "/") + terminal.Fit(m.filter+"▏", m.width-1)
	case m.shown != uuid.Nil:
		return m.paint.In(terminal.StyleQuiet, terminal.Fit("esc back · ↑↓ scroll · r read now · ? keys · q quit", m.width))
	}
	text := "↑↓ move · enter run · / filter · s sort: " + orders[m.order] + " · ? keys · q quit"
	if m.filter != "" {
		text = "filter: " + m.filter + " (esc ends it) · " + text
	}
	return m.paint.In(terminal.StyleQuiet, terminal.Fit(text, m.width))
}

func (m *model) helpLines() []string {
	lines := []string{m.paint.In(terminal.StyleTitle, "jobagent top"), ""}
	for _, k := range [][2]string{
		{"↑ ↓, j k", "move the cursor, or scroll"}, {"pgup pgdn, space", "move by ten"}, {"g G, home end", "first, last"},
		{"enter, →", "show the run under the cursor (the latest one of a failure)"}, {"esc, ←", "back; end the filter"},
		{"/", "filter by job, step, message, server and database"}, {"s", "sort the runs: " + strings.Join(orders, ", ")},
		{"r", "read now"}, {"?", "these keys"}, {"q, ctrl+c", "quit"},
	} {
		lines = append(lines, "  "+m.paint.In(terminal.StyleHead, terminal.Fit(k[0], 18))+k[1])
	}
	return append(lines, "", "  "+m.paint.Bar(jobs.Counts{Succeeded: 1, Failed: 1, Skipped: 1, Running: 1, Waiting: 1}, 10)+"  succeeded, failed, skipped or canceled, running, waiting")
}

// away returns the line that says since when there is no news; empty if there is.
func (m *model) away() []string {
	if m.awaySince.IsZero() {
		return nil
	}
	return []string{m.paint.In(terminal.StyleBad, terminal.Fit("✗ "+m.awayText(), m.width))}
}

// paused returns the line that says that the control database is paused; none if it is not.
func (m *model) paused() []string {
	o := m.state
	if o.PausedAt.IsZero() {
		return nil
	}
	text := fmt.Sprintf("✗ paused since %s, nothing starts until jobagent db resume: %s", o.PausedAt.UTC().Format("2006-01-02 15:04:05 UTC"),
		cmp.Or(output.OneLine(o.PauseReason), "no reason given"))
	return []string{m.paint.In(terminal.StyleBad, terminal.Fit(text, m.width))}
}

func (m *model) awayText() string {
	return fmt.Sprintf("no news since %s: %s", m.awaySince.Format("15:04:05"), output.OneLine(m.trouble.Error()))
}

// overviewLines returns the first page.
func (m *model) overviewLines() []string {
	o := m.state
	lines := append(append([]string{m.headLine()}, m.away()...), m.paused()...)
	runs, failures := m.runs(), m.failures()
	// Agents and due instants get a little of the height, failures at most a third of the rest.
	agentRows, dueRows, runRows, failureRows := len(o.agents), len(o.Due), len(runs), len(failures)
	retries, rollouts := m.retryLines(), m.rolloutLines()
	if !m.whole {
		rollouts = rollouts[:min(len(rollouts), 1+max(1, m.height/8))]
		retries = retries[:min(len(retries), 1+max(1, m.height/8))]
		agentRows, dueRows = min(agentRows, max(1, m.height/8)), min(dueRows, max(1, m.height/8))
		room := max(2, m.height-1-len(lines)-len(retries)-len(rollouts)-4-max(1, agentRows)-max(1, dueRows))
		failureRows = min(failureRows, max(room/3, room-max(1, runRows)))
		runRows = min(runRows, max(1, room-max(1, failureRows)))
	}
	lines = append(lines, m.agentLines(agentRows)...)
	lines = append(lines, rollouts...)
	lines = append(lines, m.title(fmt.Sprintf("RUNS  %s active", many(o.ActiveRuns)), runColumns(m.width)))
	lines = append(append(lines, m.runLines(runs, runRows)...), retries...)
	lines = append(lines, m.title(fmt.Sprintf("FAILED IN 24 HOURS  %s %s of %s %s", many(o.failures.Targets),
		wording.Plural(o.failures.Targets, "target", "targets"), many(o.failures.Runs), wording.Plural(o.failures.Runs, "run", "runs")), ""))
	lines = append(lines, m.failureLines(failures, failureRows, len(runs))...)
	lines = append(lines, m.title("DUE NEXT", ""))
	return append(lines, m.dueLines(dueRows)...)
}

// rolloutLines returns the roll-outs that have not ended, with what happens next; none without one.
func (m *model) rolloutLines() []string {
	if len(m.state.rollouts) == 0 {
		return nil
	}
	lines := []string{m.title("ROLL-OUTS", "")}
	for _, r := range m.state.rollouts {
		c, job := r.Counts(), max(12, m.width/5)
		style := terminal.StyleQuiet
		if r.NeedsPerson() {
			style = terminal.StyleBusy
		}
		bar, done := m.paint.Bar(c, 12), fmt.Sprintf(" %s of %s", terminal.Number(c.Ended()), terminal.Number(c.Total()))
		text := fmt.Sprintf("  wave %d of %d  %s  %s", r.Wave, r.Waves, r.State, output.OneLine(r.NextEvent))
		rest := m.width - 2 - job - 1 - 12 - terminal.Width(done)
		if rest < 34 { // the state matters more than the bar: "  wave 2 of 3  WaitingForApproval"
			bar, text = "", fmt.Sprintf("  %s  wave %d of %d", r.State, r.Wave, r.Waves)
			rest += 12
		}
		lines = append(lines, "  "+terminal.Fit(output.OneLine(r.JobName), job)+" "+bar+done+m.paint.In(style, terminal.Fit(text, max(0, rest))))
	}
	return lines
}

// many writes a number that the database stops counting at [summary.Many].
func many(n int) string {
	if n >= summary.Many {
		return terminal.Number(summary.Many) + " or more"
	}
	return terminal.Number(n)
}

// headLine is the first line: agents, work, time.
func (m *model) headLine() string {
	o := m.state
	text := fmt.Sprintf("jobagent top · %s live · %s of %s workers busy · targets: %s running, %s waiting",
		wording.Count(o.LiveAgents, "agent"), terminal.Number(o.BusyWorkers), terminal.Number(o.Workers), many(o.RunningTargets), many(o.WaitingTargets))
	if o.WaitingCallbacks > 0 {
		text += ", " + many(o.WaitingCallbacks) + " for callbacks"
	}
	if o.LiveAgents == 0 {
		text = "jobagent top · ✗ no agent is live"
		if !o.LastAgentAt.IsZero() {
			text += ", the last one was " + terminal.Span(o.Now.Sub(o.LastAgentAt)) + " ago"
		}
		if o.WorkWaits() {
			text += "; work waits"
		}
	}
	if o.OverdueSchedules > 0 {
		text += " · ✗ " + many(o.OverdueSchedules) + " schedules overdue"
	}
	clock := o.Now.UTC().Format(" 15:04:05 UTC")
	style := terminal.StyleTitle
	if strings.Contains(text, "✗") {
		style = terminal.StyleBad
	}
	return m.paint.In(style, terminal.Fit(text, m.width-len(clock))) + clock
}

// title is the heading of a section, with the names of columns at the right.
func (m *model) title(text, columns string) string {
	return runs.Canvas{Paint: m.paint, Width: m.width}.Title(text, columns)
}

func (m *model) agentLines(rows int) []string {
	o := m.state
	lines := []string{m.title("AGENTS", "")}
	switch {
	case o.noAgents:
		return append(lines, m.paint.In(terminal.StyleQuiet, terminal.Fit("  your role may not list agents", m.width)))
	case len(o.agents) == 0:
		return append(lines, m.paint.In(terminal.StyleQuiet, terminal.Fit("  none is live", m.width)))
	}
	for i, a := range o.agents {
		if i == rows {
			break
		}
		if i == rows-1 && len(o.agents) > rows {
			lines = append(lines, m.paint.In(terminal.StyleQuiet, terminal.Fit(fmt.Sprintf("  … and %d more", len(o.agents)-i), m.width)))
			break
		}
		host := max(12, m.width-62)
		busy := jobs.Counts{Running: a.BusyWorkers(), Waiting: a.MaxConcurrentTargets - a.BusyWorkers()}
		lines = append(lines, "  "+terminal.Fit(a.Host, host)+" "+terminal.Fit(a.Version, 14)+" "+m.paint.Bar(busy, 12)+
			terminal.Right(terminal.Number(a.BusyWorkers()), 6)+" of "+terminal.Fit(terminal.Number(a.MaxConcurrentTargets), 6)+" lease "+terminal.Fit(terminal.Span(a.ExpiresAt.Sub(o.Now)), 7))
	}
	return lines
}

// runColumns returns the headings behind the bar of a run: done, failed, the rate from 100 cells
// on, the time left and the age.
func runColumns(width int) string {
	text := terminal.Right("done", 16) + terminal.Right("failed", 8)
	if width >= 100 {
		text += terminal.Right("rate", 9)
	}
	return text + terminal.Right("left", 8) + terminal.Right("age", 8)
}

// window returns the part of a list of n rows that is shown in so many rows, with the cursor in it.
func window(n, rows, cursor int) (from, to int) {
	if n <= rows {
		return 0, n
	}
	from = max(0, min(cursor-rows/2, n-rows))
	return from, from + rows
}

func (m *model) runLines(runs []summary.ActiveRun, rows int) []string {
	if len(runs) == 0 {
		return []string{m.paint.In(terminal.StyleQuiet, terminal.Fit("  "+m.none("none is active"), m.width))}
	}
	var lines []string
	from, to := window(len(runs), rows, m.cursor)
	for i := from; i < to; i++ {
		lines = append(lines, m.selectable(i, func(p terminal.Painter) string { return m.runLine(p, runs[i]) }))
	}
	return lines
}

// none says why a list is empty.
func (m *model) none(text string) string {
	if m.filter != "" {
		return "none matches the filter"
	}
	return text
}

// selectable draws a row; the one under the cursor is reversed as a whole.
func (m *model) selectable(i int, draw func(p terminal.Painter) string) string {
	if i != m.cursor || m.whole {
		return "  " + draw(m.paint)
	}
	return m.paint.In(terminal.StyleSelected, "▸ "+draw(terminal.Painter{Plain: true}))
}

func (m *model) runLine(p terminal.Painter, r summary.ActiveRun) string {
	now := m.state.Now
	tail := lipgloss.Width(runColumns(m.width))
	room := max(20, m.width-2-tail)
	name, bar := room*45/100, room*25/100
	step := r.StepName
	if r.Steps > 1 {
		step = fmt.Sprintf("%d/%d %s", r.StepID, r.Steps, r.StepName)
	}
	switch {
	case !r.StopRequestedAt.IsZero():
		step = "stopping · " + step
	case r.ActiveSteps > 1:
		step = wording.Count(r.ActiveSteps, "step")
	}
	rated, still := r.Pace(now)
	c := jobs.Counts{Succeeded: r.Ended(), Failed: r.Failed, Running: r.Running, Waiting: r.Due + r.Retrying + r.Held, Callback: r.Callbacks}
	done := terminal.Number(r.Ended()+r.Failed) + " of " + terminal.Number(r.Targets)
	failed := terminal.Right(terminal.Number(r.Failed), 8)
	if r.Failed > 0 {
		failed = p.In(terminal.StyleBad, failed)
	}
	line := terminal.Fit(r.JobName, name) + " " + terminal.Fit(step, room-name-bar-2) + " " + p.Bar(c, bar) + terminal.Right(done, 16) + failed
	if m.width >= 100 {
		rate := "–"
		if rated > 0 {
			rate = runs.RateText(rated)
		}
		line += terminal.Right(rate, 9)
	}
	left := "–"
	if still > 0 {
		left = terminal.Span(still)
		if r.Held > 0 {
			left = "≥ " + left
		}
	}
	return line + terminal.Right(left, 8) + terminal.Right(terminal.Span(now.Sub(r.CreateTime)), 8)
}

// retryLines returns the last errors of what waits for another attempt, with their title; none if
// nothing waits.
func (m *model) retryLines() []string {
	var lines []string
	targets := 0
	for _, r := range m.state.Runs {
		if r.RetryMessage == "" {
			continue
		}
		targets += max(1, r.Retrying)
		in := "now"
		if wait := r.NextAttempt.Sub(m.state.Now); wait > 0 {
			in = "next in " + terminal.Span(wait)
		}
		name := max(12, m.width/4)
		lines = append(lines, "  "+m.paint.In(terminal.StyleBusy, terminal.Right(terminal.Number(max(1, r.Retrying)), 8)+" ×  ")+
			terminal.Fit(r.JobName+" / "+r.StepName, name)+"  "+
			terminal.Fit(output.OneLine(r.RetryMessage), max(0, m.width-2-12-name-2-16))+terminal.Right(in, 16))
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{m.title(fmt.Sprintf("FAILED, AND WAIT FOR A RETRY  %s", many(targets)), "")}, lines...)
}

func (m *model) failureLines(list []summary.FailureGroup, rows, before int) []string {
	if len(list) == 0 {
		return []string{m.paint.In(terminal.StyleQuiet, terminal.Fit("  "+m.none("nothing failed"), m.width))}
	}
	var lines []string
	from, to := window(len(list), rows, m.cursor-before)
	for i := from; i < to; i++ {
		f := list[i]
		lines = append(lines, m.selectable(before+i, func(p terminal.Painter) string {
			number := terminal.Right(terminal.Number(max(1, f.Targets)), 8) + " ×  "
			age := terminal.Right(terminal.Span(m.state.failures.Now.Sub(f.Last))+" ago", 11)
			name := max(12, m.width/4)
			return p.In(terminal.StyleBad, number) + terminal.Fit(f.JobName+" / "+f.StepName, name) + "  " + terminal.Fit(output.OneLine(f.Message), m.width-2-12-name-2-11) + age
		}))
	}
	return lines
}

func (m *model) dueLines(rows int) []string {
	o := m.state
	if len(o.Due) == 0 {
		return []string{m.paint.In(terminal.StyleQuiet, terminal.Fit("  no schedule is due", m.width))}
	}
	var lines []string
	for i, d := range o.Due {
		if i == rows {
			break
		}
		name := d.JobName
		if d.Schedule != "" {
			name += " / " + d.Schedule
		}
		in := "in " + terminal.Span(d.NextFire.Sub(o.Now))
		if d.NextFire.Before(o.Now) {
			in = "now"
		}
		lines = append(lines, "  "+terminal.Right(in, 12)+"  "+terminal.Fit(name, max(10, m.width-42))+"  "+d.NextDue.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return lines
}

// detailLines returns the page of a run.
func (m *model) detailLines() []string {
	if m.detail == nil {
		return append([]string{m.paint.In(terminal.StyleTitle, terminal.Fit("run "+m.shown.String(), m.width)), "  reading …"}, m.away()...)
	}
	var notes []string
	if !m.awaySince.IsZero() {
		notes = []string{m.awayText()}
	}
	return runs.Canvas{Paint: m.paint, Width: m.width}.Page(m.detail, notes, 0)
}
