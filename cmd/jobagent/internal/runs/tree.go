package runs

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// PrintTree prints a run as a tree of steps and targets.
func PrintTree(w io.Writer, rows []controldb.Execution, messages []controldb.ExecutionMessage) error {
	type place struct {
		step             int
		server, database string
	}
	messagesOf := map[place][]controldb.ExecutionMessage{}
	for _, m := range messages {
		p := place{m.StepID, m.Server, m.Database}
		messagesOf[p] = append(messagesOf[p], m)
	}
	var b strings.Builder
	for _, e := range rows {
		switch {
		case e.IsRoot():
			fmt.Fprintf(&b, "%s (version %d)  %s%s\n", e.JobName, e.JobVersion, e.Lifecycle, duration(e))
			fmt.Fprintf(&b, "  %s\n", output.Shorten(e.LastMessage, 160))
		case e.TargetType == "TargetGroup":
			fmt.Fprintf(&b, "├─ step %d on %s  %s%s\n", *e.StepID, output.OrDefault(e.TargetGroup, "its endpoint"), e.Lifecycle, duration(e))
			if e.Lifecycle != jobs.Succeeded && e.LastMessage != "" {
				fmt.Fprintf(&b, "│    %s\n", output.Shorten(e.LastMessage, 160))
			}
		default:
			unknown := ""
			if e.OutcomeUnknown {
				unknown = ", outcome unknown"
			}
			fmt.Fprintf(&b, "│  ├─ %s  %s%s%s\n", e.Place(), e.Lifecycle, unknown, attempts(e))
			if e.Lifecycle != jobs.Succeeded && e.LastMessage != "" {
				fmt.Fprintf(&b, "│  │    %s\n", output.Shorten(e.LastMessage, 400))
			}
			for _, m := range messagesOf[place{*e.StepID, e.Server, e.Database}] {
				printMessage(&b, m)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bodyLines and bodyLine bound what is printed of one body or output. -o json has all that is kept.
const (
	bodyLines = 20
	bodyLine  = 200
)

// printMessage prints a message: one line, or several for a body or the output of a process.
func printMessage(b *strings.Builder, m controldb.ExecutionMessage) {
	label := ""
	switch m.Message.Kind {
	case targets.KindBody:
		label = "body"
	case targets.KindOutput:
		label = "stdout"
	case targets.KindErrorOutput:
		label = "stderr"
	default:
		fmt.Fprintf(b, "│  │    [%d] %s\n", m.Attempt, output.Shorten(messageText(m.Message), 400))
		return
	}
	lines := strings.Split(strings.TrimRight(m.Message.Text, "\r\n"), "\n")
	for i, line := range lines {
		if i == bodyLines {
			fmt.Fprintf(b, "│  │    [%d] %s: … and %d more lines (-o json)\n", m.Attempt, label, len(lines)-i)
			return
		}
		fmt.Fprintf(b, "│  │    [%d] %s: %s\n", m.Attempt, label, output.Shorten(line, bodyLine))
	}
}

// messageText formats a message as a query window does.
func messageText(m targets.Message) string {
	switch m.Kind {
	case targets.KindRows:
		return fmt.Sprintf("(%d rows affected)", m.Rows)
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
func attempts(e controldb.Execution) string {
	if e.Attempts > 1 {
		return fmt.Sprintf(" after %d attempts%s", e.Attempts, duration(e))
	}
	return duration(e)
}

// duration returns the duration of an execution in parentheses, or "" while the execution runs.
func duration(e controldb.Execution) string {
	if e.StartTime.IsZero() || e.EndTime.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s)", e.EndTime.Sub(e.StartTime).Round(time.Millisecond))
}
