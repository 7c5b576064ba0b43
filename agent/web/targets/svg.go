package targets

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/jobs/wording"
)

// maxGraphSteps bounds the steps of a drawing; beyond that, people read the list.
const maxGraphSteps = 60

// Sizes of the drawing of dependencies, in pixels.
const (
	nodeWidth, nodeHeight = 176, 40
	gapX, gapY            = 40, 24
	nodeChars             = 23 // of a label, at 12 px
	detour                = 64 // of the control points of edges that pass below other nodes
)

// graphNode is a step in the drawing of dependencies.
type graphNode struct {
	Label, Title, Class, Link string
	// Note is the step's run_when.
	Note  string
	After []int
}

// drawGraph draws steps from left to right: each one right of all that come before it.
func drawGraph(nodes []graphNode) template.HTML {
	level := make([]int, len(nodes))
	for range nodes { // as many rounds as the longest path has steps, at most
		changed := false
		for i, n := range nodes {
			for _, a := range n.After {
				if level[i] < level[a]+1 && level[a]+1 < len(nodes) {
					level[i], changed = level[a]+1, true
				}
			}
		}
		if !changed {
			break
		}
	}
	row := make([]int, len(nodes))
	filled := map[int]int{}
	for i := range nodes {
		row[i] = filled[level[i]]
		filled[level[i]]++
	}
	rows := 0
	for _, n := range filled {
		rows = max(rows, n)
	}
	at := func(i int) (x, y int) { return level[i] * (nodeWidth + gapX), row[i]*(nodeHeight+gapY) + 2 }
	width := slices.Max(level)*(nodeWidth+gapX) + nodeWidth + 2
	height := rows*(nodeHeight+gapY) + 6 // the last gap is for edges
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="graph" width="%d" height="%d" viewBox="-1 0 %d %d" role="group" aria-label="Dependencies of the steps">`, width, height, width, height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>`)
	for i, n := range nodes {
		x2, y2 := at(i)
		for _, a := range n.After {
			x1, y1 := at(a)
			class := "edge"
			if n.Note == "Failed" {
				class += " edge-failed"
			}
			below := 0
			if level[i] > level[a]+1 && y1 == y2 {
				below = detour
			}
			fmt.Fprintf(&b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d" marker-end="url(#arrow)"/>`, class,
				x1+nodeWidth, y1+nodeHeight/2, x1+nodeWidth+gapX/2, y1+nodeHeight/2+below, x2-gapX/2, y2+nodeHeight/2+below, x2-1, y2+nodeHeight/2)
		}
	}
	for i, n := range nodes {
		x, y := at(i)
		fmt.Fprintf(&b, `<a href="%s"><g class="node n-%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="7"/><rect class="s-%s" x="%d" y="%d" width="5" height="%d" rx="2"/><text x="%d" y="%d">%s</text></g></a>`,
			template.HTMLEscapeString(n.Link), template.HTMLEscapeString(n.Class), template.HTMLEscapeString(plainText(n.Title)), x, y, nodeWidth, nodeHeight,
			template.HTMLEscapeString(n.Class), x, y, nodeHeight, x+14, y+nodeHeight/2+4, template.HTMLEscapeString(wording.Clip(plainText(n.Label), nodeChars, wording.Characters)))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}

// plainText returns a text without characters that would change the direction of a drawing's text
// or do not show.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '�'
		}
		return r
	}, text)
}

// scale is an axis of time: percentages of a span that begins at start.
type scale struct {
	start time.Time
	span  time.Duration
}

// at returns the place of an instant, in percent.
func (s scale) at(t time.Time) float64 {
	if s.span <= 0 {
		return 0
	}
	return min(max(100*float64(t.Sub(s.start))/float64(s.span), 0), 100)
}

// tickSteps are the distances of ticks.
var tickSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// tick is a mark of an axis.
type tick struct {
	percent float64
	label   string
}

// ticks returns at most six marks of the axis, in units that people use.
func (s scale) ticks() []tick {
	if s.span <= 0 {
		return []tick{{0, "0"}}
	}
	step := tickSteps[len(tickSteps)-1]
	for _, d := range tickSteps {
		if s.span/d <= 6 {
			step = d
			break
		}
	}
	var list []tick
	for d := time.Duration(0); d <= s.span && len(list) < 20; d += step {
		list = append(list, tick{100 * float64(d) / float64(s.span), page.LengthText(d)})
	}
	return list
}

// percent writes a place or a length of a drawing.
func percent(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	return strconv.FormatFloat(x, 'f', 2, 64) + "%"
}

// bar is a piece of a lane: an attempt, or a wait.
type bar struct {
	from, to float64 // percent
	class    string  // of the stylesheet: ok, bad, …, or queue
	thin     bool    // a wait
	title    string
}

// drawLane draws the pieces of one row of the timeline. The numbers stand beside it, so screen
// readers skip it. Lengths are percentages: a lane is as wide as its cell, and its text is not
// stretched.
func drawLane(ticks []tick, bars []bar) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="lane" width="100%" height="20" aria-hidden="true" focusable="false">`)
	for _, t := range ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="0" y2="20"/>`, percent(t.percent), percent(t.percent))
	}
	for _, x := range bars {
		y, h, least := 4, 12, 0.35
		if x.thin {
			y, h, least = 9, 2, 0
		}
		width := min(max(x.to-x.from, least), 100)
		fmt.Fprintf(&b, `<rect class="s-%s" x="%s" y="%d" width="%s" height="%d"`, x.class, percent(min(x.from, 100-width)), y, percent(width), h)
		if !x.thin {
			b.WriteString(` rx="2"`)
		}
		fmt.Fprintf(&b, `><title>%s</title></rect>`, template.HTMLEscapeString(plainText(x.title)))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, constants and escaped texts
}

// drawAxis draws the labels of the ticks. Each second one is left out on narrow screens.
func drawAxis(ticks []tick) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="axis" width="100%" height="20" aria-hidden="true" focusable="false">`)
	for i, t := range ticks {
		class, anchor := "", "middle"
		if i%2 == 1 {
			class = ` class="odd"`
		}
		switch {
		case t.percent < 3:
			anchor = "start"
		case t.percent > 94:
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text%s x="%s" y="14" text-anchor="%s">%s</text>`, class, percent(t.percent), anchor, template.HTMLEscapeString(t.label))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}
