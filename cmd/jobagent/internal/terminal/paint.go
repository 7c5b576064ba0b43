package terminal

import (
	"fmt"
	"image/color"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/jobagent/jobagent/jobs"
)

// Painter makes pieces of lines. Colours are the sixteen of the terminal, so that they follow its
// theme; the program drops them where the terminal has none, or NO_COLOR is set. A state also has a
// sign and a word.
type Painter struct {
	// Plain makes text without styles.
	Plain bool
}

// The styles.
var (
	StyleTitle    = lipgloss.NewStyle().Bold(true)
	StyleHead     = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.BrightBlue)
	StyleQuiet    = lipgloss.NewStyle().Faint(true)
	StyleGood     = lipgloss.NewStyle().Foreground(lipgloss.Green)
	StyleBad      = lipgloss.NewStyle().Foreground(lipgloss.Red)
	StyleBusy     = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	StyleSelected = lipgloss.NewStyle().Reverse(true)
)

// In returns text in a style.
func (p Painter) In(style lipgloss.Style, text string) string {
	if p.Plain || text == "" {
		return text
	}
	return style.Render(text)
}

// Fit returns text in exactly so many cells: cut with …, or filled with blanks.
func Fit(text string, width int) string {
	if width <= 0 {
		return ""
	}
	text = Clean(text)
	text = Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Right is [Fit] with the blanks before the text.
func Right(text string, width int) string {
	text = strings.TrimRight(Fit(text, width), " ")
	return strings.Repeat(" ", max(0, width-lipgloss.Width(text))) + text
}

// Bar shows counts as parts of a width: ended well, failed, skipped or canceled, running, waiting
// for a retry, waiting. A part that is not empty has a cell, if there are enough of them.
func (p Painter) Bar(c jobs.Counts, width int) string {
	parts := []struct {
		n     int
		sign  string
		style lipgloss.Style
	}{
		{c.Succeeded, "█", StyleGood}, {c.Failed, "▚", StyleBad}, {c.Off(), "▬", StyleQuiet},
		{c.Busy(), "▒", StyleBusy}, {c.Retrying, "░", StyleBusy}, {c.Waiting, "░", StyleQuiet},
	}
	total := c.Total()
	if total == 0 {
		return p.In(StyleQuiet, strings.Repeat("·", width))
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
		n := min(cells[i], width)
		width -= n
		b.WriteString(p.In(part.style, strings.Repeat(part.sign, n)))
	}
	return b.String()
}

// StateStyle returns the style of a lifecycle or of another state, such as WaitingForCallback.
func StateStyle(state string) lipgloss.Style {
	switch jobs.Lifecycle(state).Class() {
	case jobs.ClassOK:
		return StyleGood
	case jobs.ClassBad:
		return StyleBad
	case jobs.ClassBusy, jobs.ClassWarn:
		return StyleBusy
	case jobs.ClassWait, jobs.ClassOff:
	}
	return StyleQuiet
}

// State returns the sign and the word of a lifecycle; empty for what has not begun.
func (p Painter) State(l jobs.Lifecycle, width int) string {
	text := "… waiting"
	switch l.Class() {
	case jobs.ClassOK:
		text = "✓ " + string(l)
	case jobs.ClassBad:
		text = "✗ " + string(l)
	case jobs.ClassOff:
		text = "– " + string(l)
	case jobs.ClassBusy:
		text = "▶ running"
	case jobs.ClassWarn:
		text = "↻ retry"
	case jobs.ClassWait:
	}
	if l == "" {
		text = "· to come"
	}
	return p.In(StateStyle(string(l)), Fit(text, width))
}

// Number writes a number with blanks between thousands.
func Number(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// Span writes a duration in at most two units.
func Span(d time.Duration) string {
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

// Named returns the style of a colour's name; false if there is no such colour.
func Named(name string) (lipgloss.Style, bool) {
	colors := map[string]color.Color{
		"red": lipgloss.Red, "green": lipgloss.Green, "yellow": lipgloss.Yellow, "blue": lipgloss.Blue,
		"magenta": lipgloss.Magenta, "cyan": lipgloss.Cyan,
	}
	c, ok := colors[name]
	return lipgloss.NewStyle().Bold(true).Foreground(c), ok
}
