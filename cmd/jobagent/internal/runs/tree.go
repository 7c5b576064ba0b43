package runs

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// Tree prints runs as trees of steps and targets.
type Tree struct {
	Paint terminal.Painter
	// Width is where lines are broken between words; 0 means nowhere.
	Width int
	// Targets is the number of targets of a step that are shown of those that succeeded at once,
	// and of all others; a line has the number of the rest. 0 means all.
	Targets int
}

// shownTargets is Tree.Targets where the end of a run is printed on a terminal.
const shownTargets = 4

// NewTree returns the tree for stdout, of all targets: on a terminal in colours and in its width.
func NewTree(p *output.Printer) Tree {
	t := Tree{Paint: p.Painter()}
	if width, _, ok := terminal.Size(p.Stdout); ok {
		t.Width = max(20, width)
	}
	return t
}

// place is a step on a target.
type place struct {
	step             int
	server, database string
}

// Print prints a run with all its rows, the run itself first.
func (t Tree) Print(w io.Writer, rows []executions.Execution, messages []executions.ExecutionMessage) error {
	messagesOf := map[place][]executions.ExecutionMessage{}
	for _, m := range messages {
		p := place{m.StepID, m.Server, m.Database}
		messagesOf[p] = append(messagesOf[p], m)
	}
	p := treePrinter{Tree: t, messages: messagesOf}
	for len(rows) > 0 {
		e := rows[0]
		end := 1
		if e.IsRoot() {
			p.line("", fmt.Sprintf("%s (version %d)  ", terminal.Clean(e.JobName), e.JobVersion), e.Lifecycle, duration(e))
			p.text("  ", output.OneLine(e.LastMessage))
		} else {
			for end < len(rows) && rows[end].IsTarget() {
				end++
			}
			p.step(e, rows[1:end], end == len(rows))
		}
		rows = rows[end:]
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// treePrinter collects the lines of a tree.
type treePrinter struct {
	Tree
	messages map[place][]executions.ExecutionMessage
	b        strings.Builder
}

// Branches of the tree: to a child, beside its own lines, and the same for the last child.
const (
	branch, branchSide         = "├─ ", "│  "
	lastBranch, lastBranchSide = "└─ ", "   "
)

// step prints a step and its targets.
func (p *treePrinter) step(e executions.Execution, targets []executions.Execution, last bool) {
	first, side := branch, branchSide
	if last {
		first, side = lastBranch, lastBranchSide
	}
	p.line(first, fmt.Sprintf("step %d on %s  ", *e.StepID, terminal.Clean(cmp.Or(e.TargetGroup, "its endpoint"))), e.Lifecycle, duration(e))
	failed := slices.ContainsFunc(targets, func(t executions.Execution) bool { return t.Lifecycle.IsFailure() })
	if (e.Lifecycle != jobs.Succeeded || failed) && e.LastMessage != "" { // failures that are tolerated
		p.text(side+"  ", output.OneLine(e.LastMessage))
	}
	shown, more := p.abridge(targets)
	for i, target := range shown {
		p.target(side, target, i == len(shown)-1 && more == "")
	}
	if more != "" {
		p.text(side+lastBranch, more)
	}
}

// abridge returns the targets that are shown, and the text of the line for the others.
func (p *treePrinter) abridge(targets []executions.Execution) (shown []executions.Execution, more string) {
	if p.Targets <= 0 || len(targets) <= p.Targets+1 {
		return targets, ""
	}
	left := map[jobs.Lifecycle]int{}
	plain, other := 0, 0
	for _, e := range targets {
		n := &other
		if e.Lifecycle == jobs.Succeeded && e.Attempts <= 1 {
			n = &plain
		}
		if *n++; *n > p.Targets {
			left[e.Lifecycle]++
			continue
		}
		shown = append(shown, e)
	}
	if len(left) == 0 {
		return targets, ""
	}
	var states []string
	for l, n := range left {
		states = append(states, fmt.Sprintf("%s %s", terminal.Number(n), l))
	}
	slices.Sort(states)
	return shown, fmt.Sprintf("+%s more: %s", terminal.Number(len(targets)-len(shown)), strings.Join(states, ", "))
}

// target prints a target and its messages.
func (p *treePrinter) target(side string, e executions.Execution, last bool) {
	first, below := side+branch, side+branchSide+"  "
	if last {
		first, below = side+lastBranch, side+lastBranchSide+"  "
	}
	unknown := ""
	if e.OutcomeUnknown {
		unknown = ", outcome unknown"
	}
	p.line(first, terminal.Clean(e.Place())+"  ", e.Lifecycle, unknown+attempts(e))
	if said := output.OneLine(executions.Remark(e.Lifecycle, e.LastMessage)); said != "" {
		p.text(below, said)
	}
	for _, m := range p.messages[place{*e.StepID, e.Server, e.Database}] {
		p.message(below, m)
	}
}

// line prints a line with a state in its colour.
func (p *treePrinter) line(first, text string, state jobs.Lifecycle, rest string) {
	whole := first + text + string(state) + rest
	if p.Width > 0 && lipgloss.Width(whole) > p.Width {
		p.text(first, text+string(state)+rest)
		return
	}
	p.b.WriteString(first + text + p.Paint.Word(string(state)) + rest + "\n")
}

// textWidth is the room for a text after first; 0 means no limit.
func (p *treePrinter) textWidth(first string) int {
	if p.Width == 0 {
		return 0
	}
	return max(10, p.Width-lipgloss.Width(first))
}

// text prints a text after first. If the text does not fit, it goes on below its beginning, broken
// between words.
func (p *treePrinter) text(first, text string) {
	for _, line := range terminal.Wrap(terminal.Clean(text), p.textWidth(first)) {
		p.b.WriteString(strings.TrimRight(first+line, " ") + "\n")
		first = strings.NewReplacer(branch, branchSide, lastBranch, lastBranchSide).Replace(first)
	}
}

// bodyLines and bodyLine bound what is printed on a terminal of one body or output. In a pipe, and
// with -o json, there is all that is kept.
const (
	bodyLines = 20
	bodyLine  = 200
)

// message prints a message: one line, or several for a body or the output of a process.
func (p *treePrinter) message(side string, m executions.ExecutionMessage) {
	label := ""
	switch m.Message.Kind {
	case targets.KindBody:
		label = "body"
	case targets.KindOutput:
		label = "stdout"
	case targets.KindErrorOutput:
		label = "stderr"
	default:
		p.text(side, fmt.Sprintf("[%d] %s", m.Attempt, output.OneLine(MessageText(m.Message))))
		return
	}
	lines := strings.Split(strings.TrimRight(m.Message.Text, "\r\n"), "\n")
	for i, line := range lines {
		if p.Width > 0 && i == bodyLines {
			p.text(side, fmt.Sprintf("[%d] %s: … and %d more lines (-o json)", m.Attempt, label, len(lines)-i))
			return
		}
		if p.Width > 0 {
			line = output.Shorten(line, bodyLine)
		}
		p.text(side, fmt.Sprintf("[%d] %s: %s", m.Attempt, label, line))
	}
}

// MessageText formats a message as a query window does.
func MessageText(m targets.Message) string {
	switch m.Kind {
	case targets.KindRows:
		return "(" + wording.Count(m.Rows, "row") + " affected)"
	case targets.KindError:
		at := ""
		if m.Procedure != "" {
			at = "procedure " + m.Procedure + ", "
		}
		return fmt.Sprintf("Msg %d, Level %d, State %d, %sLine %d: %s", m.Number, m.Severity, m.State, at, m.Line, m.Text)
	default:
		return m.Text
	}
}

// attempts returns the number of attempts, if there was more than one, and the duration.
func attempts(e executions.Execution) string {
	if e.Attempts > 1 {
		return " after " + wording.Count(e.Attempts, "attempt") + duration(e)
	}
	return duration(e)
}

// duration returns the duration of an execution in parentheses, or "" while the execution runs.
func duration(e executions.Execution) string {
	took := e.Duration()
	if took < 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", took.Round(time.Millisecond))
}
