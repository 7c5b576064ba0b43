package output

import (
	"bufio"
	"io"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// grid is a table of clean texts: what is printed with -o table and wide.
type grid struct {
	columns []gridColumn
	rows    [][]string
	noHead  bool
	// overflow lets texts be wider than their columns, which are not cut then.
	overflow bool
}

// gridColumn is the header of a column and what happens to it where the terminal is too narrow for
// all columns. First ids become short, then the column that takes the rest shrinks to its minimum,
// then the others with a minimum. If that is not enough, columns are left out.
type gridColumn struct {
	header string
	min    int  // cells that it keeps; 0: it does not shrink
	rest   bool // it takes what the others leave
	wrap   bool // it continues on further lines instead of being cut
	id     bool // a GUID, of which the first 8 digits are enough
	right  bool // numbers
	state  bool // words of states, which have colours
	tail   bool // the end of a text says more than its beginning
	drop   int  // the greatest is left out first; 0: never
}

const (
	gap     = 2  // cells between two columns
	shortID = 8  // digits of a short GUID
	minWrap = 20 // cells of a column that wraps
)

// natural returns the width of each column that needs no cut, and the columns without a text.
func (g *grid) natural() (widths []int, empty []bool) {
	widths, empty = make([]int, len(g.columns)), make([]bool, len(g.columns))
	for _, row := range g.rows {
		for i, text := range row {
			widths[i] = max(widths[i], terminal.Width(text))
		}
	}
	for i, c := range g.columns {
		empty[i] = widths[i] == 0 && len(g.rows) > 0
		if !g.noHead {
			widths[i] = max(widths[i], terminal.Width(c.header))
		}
	}
	return widths, empty
}

// layout returns the width of each column within so many cells; 0 means no bound. A column that is
// left out has the width -1; empty ones are left out before all others, and before one is cut.
func (g *grid) layout(natural []int, empty []bool, width int) []int {
	out := make([]bool, len(g.columns))
	sum := -gap
	for _, n := range natural {
		sum += n + gap
	}
	if width > 0 && sum > width {
		for i, c := range g.columns {
			out[i] = empty[i] && c.drop > 0
		}
	}
	for {
		w, over := g.fit(natural, out, width)
		if over <= 0 {
			return w
		}
		worst := -1
		for i, c := range g.columns {
			if !out[i] && c.drop > 0 && (worst < 0 || c.drop >= g.columns[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			return squeeze(w, over)
		}
		out[worst] = true
	}
}

// fit shrinks the columns that are not left out; over is how many cells are still too many.
func (g *grid) fit(natural []int, out []bool, width int) (w []int, over int) {
	w = make([]int, len(natural))
	over = -gap - width
	for i := range w {
		if w[i] = natural[i]; out[i] {
			w[i] = -1
			continue
		}
		if width > 0 {
			w[i] = min(w[i], width)
		}
		over += w[i] + gap
	}
	if width <= 0 {
		return w, 0
	}
	for i, c := range g.columns { // ids first: their first digits say as much
		if over > 0 && c.id && w[i] > shortID {
			over -= w[i] - shortID
			w[i] = shortID
		}
	}
	for i, c := range g.columns {
		least := c.min
		if c.wrap { // lines of a few words are hard to read
			least = max(least, minWrap, width*2/5)
		}
		if over > 0 && c.rest && w[i] > least {
			cut := min(over, w[i]-least)
			w[i], over = w[i]-cut, over-cut
		}
	}
	for over > 0 { // the widest column gives one cell after the other
		widest := -1
		for i, c := range g.columns {
			if !c.rest && c.min > 0 && w[i] > c.min && (widest < 0 || w[i] > w[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		w[widest]--
		over--
	}
	return w, over
}

// squeeze takes cells of the columns that otherwise keep their width, and at last whole columns.
func squeeze(w []int, over int) []int {
	for over > 0 {
		widest, last, left := -1, -1, 0
		for i := range w {
			if w[i] < 0 {
				continue
			}
			last = i
			left++
			if w[i] > 1 && (widest < 0 || w[i] > w[widest]) {
				widest = i
			}
		}
		switch {
		case widest >= 0:
			w[widest]--
			over--
		case left > 1:
			over -= w[last] + gap
			w[last] = -1
		default:
			return w // one column of one cell
		}
	}
	return w
}

// write prints the grid within so many cells; 0 means no bound.
func (g *grid) write(out io.Writer, width int, paint terminal.Painter) error {
	natural, empty := g.natural()
	return g.writeWithin(out, g.layout(natural, empty, width), paint)
}

// writeWithin prints the grid in columns of these widths; -1 leaves a column out.
func (g *grid) writeWithin(out io.Writer, widths []int, paint terminal.Painter) error {
	b := bufio.NewWriter(out)
	last := -1
	for i, w := range widths {
		if w >= 0 {
			last = i
		}
	}
	line := gridLine{g: g, w: widths, last: last, out: b, paint: paint}
	if !g.noHead {
		header := make([]string, len(g.columns))
		for i, c := range g.columns {
			header[i] = c.header
		}
		line.head = true
		line.write(header)
		line.head = false
	}
	for _, row := range g.rows {
		line.write(row)
	}
	return b.Flush()
}

// gridLine writes lines of a grid.
type gridLine struct {
	g     *grid
	w     []int
	last  int // the last column that is shown
	out   *bufio.Writer
	paint terminal.Painter
	head  bool
}

// blanks are the filling of columns.
const blanks = "                                                                "

func fill(out *bufio.Writer, n int) {
	for ; n > 0; n -= len(blanks) {
		out.WriteString(blanks[:min(n, len(blanks))])
	}
}

// write writes a row: one line, or several where a column wraps.
func (l *gridLine) write(row []string) {
	var more []string // of the column that wraps
	column := -1
	pending := 0 // blanks that are due if another text follows on the line
	for i, text := range row {
		if l.w[i] < 0 {
			continue
		}
		c := l.g.columns[i]
		switch {
		case c.wrap && !l.head && terminal.Width(text) > l.w[i]:
			lines := terminal.Wrap(text, l.w[i])
			text, more, column = lines[0], lines[1:], i
		case c.id && l.w[i] == shortID && l.head:
			text = terminal.Cut(text[strings.LastIndexByte(text, ' ')+1:], shortID)
		case c.id && l.w[i] == shortID && len(text) == 36:
			text = text[:shortID]
		case c.tail && !l.head:
			text = terminal.CutLeft(text, l.w[i])
		case l.g.overflow:
		default:
			text = terminal.Cut(text, l.w[i])
		}
		free := max(0, l.w[i]-terminal.Width(text))
		if c.right {
			pending += free
			free = 0
		}
		if text != "" {
			fill(l.out, pending)
			pending = 0
			l.out.WriteString(l.styled(c, text))
		}
		if i != l.last {
			pending += free + gap
		}
	}
	l.out.WriteByte('\n')
	if len(more) == 0 {
		return
	}
	indent := 0
	for i := range column {
		if l.w[i] >= 0 {
			indent += l.w[i] + gap
		}
	}
	for _, text := range more {
		fill(l.out, indent)
		l.out.WriteString(text)
		l.out.WriteByte('\n')
	}
}

// styled returns the text of a cell with its style.
func (l *gridLine) styled(c gridColumn, text string) string {
	switch {
	case l.head:
		return l.paint.In(terminal.StyleTitle, text)
	case c.state:
		return l.paint.Word(strings.TrimSuffix(text, "…")) + strings.Repeat("…", strings.Count(text, "…"))
	}
	return text
}
