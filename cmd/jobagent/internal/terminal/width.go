package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the number of cells that a clean text takes: letters of Chinese, Japanese and
// Korean, and most emoji, take two.
func Width(text string) int {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7E {
			return ansi.StringWidth(text)
		}
	}
	return len(text) // the usual case, without the search for clusters of characters
}

// Cut shortens a clean text to at most so many cells, with … at its end if something was left out.
// A cluster of characters, such as a flag, is left out as a whole.
func Cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	if Width(text) <= width {
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// CutLeft is [Cut] with … in place of the beginning: for texts whose end says more, such as
// server/database.
func CutLeft(text string, width int) string {
	w := Width(text)
	switch {
	case w <= width:
		return text
	case width <= 1:
		return Cut(text, width)
	}
	cut := ansi.TruncateLeft(text, w-width+1, "…")
	if Width(cut) > width { // a wide cluster at the edge
		cut = ansi.TruncateLeft(text, w-width+2, "…")
	}
	return Cut(cut, width)
}

// Wrap breaks a clean text into lines of at most so many cells: at blanks, and within words that
// are longer than a line.
func Wrap(text string, width int) []string {
	if width <= 0 || Width(text) <= width {
		return []string{text}
	}
	var lines []string
	for line := range strings.SplitSeq(ansi.Wrap(text, width, ""), "\n") {
		if line = strings.TrimRight(line, " "); Width(line) > width { // a cluster wider than the line
			line = Cut(line, width)
		}
		lines = append(lines, line)
	}
	return lines
}

// Word colors the word of a state: of a run, a target, a schedule, an alert, an agent or a finding.
// Any other word stays as it is.
func (p Painter) Word(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.TrimSuffix(word, ",")
	switch word {
	case "Succeeded", "SucceededWithSkipped", "Enabled", "Ready", "Delivered", "Resolved", "Active", "ok", "live", "Reported":
		return p.In(StyleGood, text)
	case "Failed", "TimedOut", "Faulted", "Unavailable", "error", "critical", "Open", "Expired", "dead":
		return p.In(StyleBad, text)
	case "InProgress", "WaitingForRetry", "WaitingForChildJobExecutions", "WaitingForCallback", "Waiting", "Creating", "Updating",
		"Deleting", "Acknowledged", "Paused", "Pending", "warning", "Validating":
		return p.In(StyleBusy, text)
	case "Created", "Canceled", "Skipped", "Disabled", "Ended", "Completed", "ended", "info":
		return p.In(StyleQuiet, text)
	}
	return text
}
