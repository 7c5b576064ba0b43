package top

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"

	"github.com/jobagent/jobagent/jobs"
)

// painter makes pieces of lines. Colours are the sixteen of the terminal, so that they follow its
// theme; the program drops them where the terminal has none, or NO_COLOR is set. A state also has a
// sign and a word.
type painter struct{ plain bool }

// The styles.
var (
	styleTitle    = lipgloss.NewStyle().Bold(true)
	styleHead     = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.BrightBlue)
	styleQuiet    = lipgloss.NewStyle().Faint(true)
	styleGood     = lipgloss.NewStyle().Foreground(lipgloss.Green)
	styleBad      = lipgloss.NewStyle().Foreground(lipgloss.Red)
	styleBusy     = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	styleSelected = lipgloss.NewStyle().Reverse(true)
)

// in returns text in a style.
func (p painter) in(style lipgloss.Style, text string) string {
	if p.plain || text == "" {
		return text
	}
	return style.Render(text)
}

// clean returns a text of a database for one line: control characters and those that change the
// direction of text, which could move other text on the screen, become visible.
func clean(text string) string {
	if strings.IndexFunc(text, isHostile) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case isHostile(r):
			return '�'
		}
		return r
	}, text)
}

func isHostile(r rune) bool {
	return unicode.IsControl(r) || r == 0x061C || r == 0x200E || r == 0x200F ||
		r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
}

// fit returns text in exactly so many cells: cut with …, or filled with blanks.
func fit(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = clean(text)
	w := lipgloss.Width(text)
	if w > width {
		text = cut(text, width)
		w = lipgloss.Width(text)
	}
	return text + strings.Repeat(" ", max(0, width-w))
}

// right is fit with the blanks before the text.
func right(text string, width int) string {
	text = strings.TrimRight(fit(text, width), " ")
	return strings.Repeat(" ", max(0, width-lipgloss.Width(text))) + text
}

// cut shortens a clean text to so many cells, … included.
func cut(text string, width int) string {
	var b strings.Builder
	used := 0
	for _, r := range text {
		w := lipgloss.Width(string(r))
		if used+w > width-1 {
			break
		}
		used += w
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// bar shows counts as parts of a width: ended well, failed, otherwise ended, running, waiting. A
// part that is not empty has a cell.
func (p painter) bar(c counts, width int) string {
	parts := []struct {
		n     int
		sign  string
		style lipgloss.Style
	}{
		{c.succeeded, "█", styleGood}, {c.failed, "▚", styleBad}, {c.other, "▬", styleQuiet}, {c.running + c.callback, "▒", styleBusy}, {c.waiting, "░", styleQuiet},
	}
	total := c.total()
	if total == 0 {
		return p.in(styleQuiet, strings.Repeat("·", width))
	}
	cells := make([]int, len(parts))
	used, largest := 0, 0
	for i, part := range parts {
		cells[i] = part.n * width / total
		if part.n > 0 && cells[i] == 0 {
			cells[i] = 1
		}
		used += cells[i]
		if cells[i] > cells[largest] {
			largest = i
		}
	}
	cells[largest] = max(0, cells[largest]+width-used)
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(p.in(part.style, strings.Repeat(part.sign, cells[i])))
	}
	return b.String()
}

// state returns the sign and the word of a lifecycle.
func (p painter) state(l jobs.Lifecycle, width int) string {
	switch l {
	case jobs.Succeeded, jobs.SucceededWithSkipped:
		return p.in(styleGood, fit("✓ "+string(l), width))
	case jobs.Failed, jobs.TimedOut:
		return p.in(styleBad, fit("✗ "+string(l), width))
	case jobs.Canceled, jobs.Skipped:
		return p.in(styleQuiet, fit("– "+string(l), width))
	case jobs.WaitingForChildJobExecutions, jobs.InProgress:
		return p.in(styleBusy, fit("▶ running", width))
	case jobs.WaitingForRetry:
		return p.in(styleBusy, fit("↻ retry", width))
	}
	return p.in(styleQuiet, fit("… waiting", width))
}

// number writes a number with blanks between thousands.
func number(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// span writes a duration in at most two units.
func span(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
