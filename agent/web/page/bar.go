package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// barWidth is the width of a bar in its own units; the page scales it.
const barWidth = 1000.0

// Bar draws shares of a total as one bar. pairs are classes of states (ok, bad, busy, wait, warn,
// off) and numbers: {{bar 10 "ok" .Succeeded "bad" .Failed}}. A share above zero is always visible.
// The text beside it says the numbers; screen readers skip the bar.
func Bar(total any, pairs ...any) (template.HTML, error) {
	if len(pairs)%2 != 0 {
		return "", fmt.Errorf("bar has %d arguments: want classes and numbers", len(pairs))
	}
	var b strings.Builder
	b.WriteString(`<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">` +
		`<rect class="track" x="0" y="0" width="1000" height="8"/>`)
	whole, sum := number(total), 0.0
	widths := make([]float64, len(pairs)/2)
	for i := range widths {
		if n := number(pairs[2*i+1]); !math.IsNaN(n) && n > 0 && whole > 0 {
			widths[i] = min(max(barWidth*n/whole, 4), barWidth)
			sum += widths[i]
		}
	}
	x := 0.0
	for i, width := range widths {
		if width *= min(1, barWidth/max(sum, 1)); width > 0 {
			fmt.Fprintf(&b, `<rect class="s-%s" x="%s" y="0" width="%s" height="8"/>`, template.HTMLEscapeString(str(pairs[2*i])), decimal(x), decimal(width))
			x += width
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers and escaped classes
}

// decimal writes a coordinate.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
