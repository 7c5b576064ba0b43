// Package code shows scripts as HTML: with line numbers, colours by classes, and marked lines. What
// it returns is escaped, so templates insert it as it is. Its stylesheet is code.css (see [Set]).
package code

import (
	"embed"
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
)

//go:embed code.css
var files embed.FS

// Set serves the stylesheet, and has no pages.
func Set() page.Set { return page.Set{Name: "code", Files: files} }

// Language is the language of a text.
type Language int

// The languages. Plain has no colours.
const (
	Plain Language = iota
	TSQL
	JSON
)

// Lines returns each line of a text as HTML: escaped, in spans with the classes of code.css, with
// characters that do not show, or that change the direction of the text, as their names. Line i of
// the text has the index i-1. Lines end with LF, CR LF or CR, as for the server's line numbers.
func Lines(language Language, text string) []template.HTML {
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	var (
		list []template.HTML
		line strings.Builder
	)
	write := func(class, part string) {
		if part == "" {
			return
		}
		if class == "" {
			writeVisible(&line, part)
			return
		}
		line.WriteString(`<span class="` + class + `">`)
		writeVisible(&line, part)
		line.WriteString("</span>")
	}
	for _, t := range tokens(language, text) {
		rest := t.text
		for {
			part, after, more := strings.Cut(rest, "\n")
			write(t.class, part)
			if !more {
				break
			}
			list = append(list, template.HTML(line.String())) //nolint:gosec // escaped by writeVisible
			line.Reset()
			rest = after
		}
	}
	return append(list, template.HTML(line.String())) //nolint:gosec // escaped by writeVisible
}

// tokens splits a text.
func tokens(language Language, text string) []token {
	switch language {
	case TSQL:
		return scanTSQL(text)
	case JSON:
		return scanJSON(text)
	default:
		return []token{{text: text}}
	}
}

// Mark marks a line.
type Mark struct {
	// Line is its number, from 1.
	Line int
	// Class is a further class of the line: error, warning, added, removed.
	Class string
	// Note is shown below the line, as text; empty means none.
	Note string
}

// Block is a text with line numbers.
type Block struct {
	Language Language
	Text     string
	// ID is unique on the page. Line 12 has the id ID-12.
	ID string
	// Label names the text for screen readers: "Script of step 1".
	Label string
	Marks []Mark
	// First and Last restrict the block to these lines; 0 means all.
	First, Last int
}

// HTML returns the block as a pre element.
func (b Block) HTML() template.HTML {
	lines := Lines(b.Language, b.Text)
	first, last := max(b.First, 1), len(lines)
	if b.Last > 0 {
		last = min(b.Last, last)
	}
	var w strings.Builder
	id := html.EscapeString(b.ID)
	fmt.Fprintf(&w, `<pre class="code" id="%s" tabindex="0" role="region" aria-label="%s" dir="ltr"><code>`, id, html.EscapeString(b.Label))
	for n := first; n <= last; n++ {
		class, notes := "line", ""
		for _, m := range b.Marks {
			if m.Line != n {
				continue
			}
			class += " line-" + html.EscapeString(m.Class)
			if m.Note != "" {
				var note strings.Builder
				writeVisible(&note, strings.ToValidUTF8(m.Note, "\uFFFD"))
				notes += `<span class="line-note" dir="auto">` + note.String() + "</span>"
			}
		}
		number := strconv.Itoa(n)
		w.WriteString(`<span class="` + class + `" id="` + id + "-" + number + `"><a class="line-number" href="#` + id + "-" + number +
			`" tabindex="-1" data-line="` + number + `" aria-label="Line ` + number + `"></a><span class="line-text">` + string(lines[n-1]) +
			"\n</span>" + notes + "</span>")
	}
	w.WriteString("</code></pre>")
	return template.HTML(w.String()) //nolint:gosec // all parts are escaped
}

// Around returns the lines First and Last of a block that shows n lines before and after the lines
// from and to.
func Around(from, to, n int) (first, last int) { return max(from-n, 1), to + n }

// writeVisible escapes a text. Control and format characters would hide what a script does
// (https://trojansource.codes), so they are shown. The text must be valid UTF-8.
func writeVisible(w *strings.Builder, text string) {
	start := 0
	for i, r := range text {
		name := nameOf(r)
		if name == "" {
			continue
		}
		w.WriteString(html.EscapeString(text[start:i]))
		w.WriteString(`<span class="control" title="` + name + `">` + name + "</span>")
		start = i + len(string(r))
	}
	if start < len(text) {
		w.WriteString(html.EscapeString(text[start:]))
	}
}
