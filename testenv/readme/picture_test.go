package readme

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

var record = flag.Bool("readme.record", false, "TestPages records the picture of the demo, instead of comparing it")

// picture is what README.md shows of the demo.
const picture = "cmd/jobagent/internal/demo/demo.svg"

// Times of the recording, and the size of a cell in pixels.
const (
	frameEvery = 350 * time.Millisecond
	frameShown = 0.7 // seconds
	lastShown  = 6.0 // seconds
	maxFrames  = 12
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 16
)

// endOfPicture is the first line of the demo's output that the picture leaves out.
const endOfPicture = "The run in jobs.job_executions:"

// styles are the classes of the picture's text: a colour of the terminal on light and on dark
// ground.
var styles = []struct {
	name, light, dark string
	basic             color.RGBA
}{
	{"g", "#1a7f37", "#3fb950", color.RGBA{0, 128, 0, 255}},
	{"r", "#cf222e", "#f85149", color.RGBA{128, 0, 0, 255}},
	{"y", "#9a6700", "#d29922", color.RGBA{128, 128, 0, 255}},
	{"b", "#0969da", "#58a6ff", color.RGBA{0, 0, 128, 255}},
	{"m", "#8250df", "#bc8cff", color.RGBA{128, 0, 128, 255}},
	{"c", "#1b7c83", "#39c5cf", color.RGBA{0, 128, 128, 255}},
}

// run is text of one style in a row of a screen.
type run struct {
	x     int
	text  []rune
	class string
}

// frame is what a terminal shows at one instant, by rows.
type frame [][]run

// text returns a frame as lines.
func (f frame) text() string {
	var b strings.Builder
	for _, row := range f {
		line := ""
		for _, r := range row {
			line += strings.Repeat(" ", r.x-len([]rune(line))) + string(r.text)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// capture returns the rows of a screen up to the end of the picture, and whether that is there.
func capture(screen *vt.Emulator, first []run) (f frame, complete bool) {
	f = frame{first}
	for y := range keptRows {
		var row []run
		for x := range columns {
			cell := screen.CellAt(x, y)
			if cell == nil || cell.Content == "" || cell.Content == " " {
				continue
			}
			class := classOf(cell.Style.Fg, cell.Style.Attrs)
			if n := len(row); n > 0 && row[n-1].class == class && row[n-1].x+len(row[n-1].text) == x {
				row[n-1].text = append(row[n-1].text, []rune(cell.Content)...)
			} else {
				row = append(row, run{x: x, text: []rune(cell.Content), class: class})
			}
		}
		if (frame{row}).text() == endOfPicture {
			complete = true
			break
		}
		f = append(f, row)
	}
	for len(f) > 1 && len(f[len(f)-1]) == 0 {
		f = f[:len(f)-1]
	}
	return f, complete
}

// classOf returns the classes of a colour and of attributes.
func classOf(c color.Color, attributes uint8) string {
	const bold, faint = 1, 2
	var classes []string
	if c != nil {
		r, g, b, _ := c.RGBA()
		most := max(r, g, b, 1)
		strong := func(v uint32) bool { return v*3 > most*2 }
		for _, s := range styles {
			if strong(r) == (s.basic.R > 0) && strong(g) == (s.basic.G > 0) && strong(b) == (s.basic.B > 0) {
				classes = append(classes, s.name)
			}
		}
	}
	if attributes&bold != 0 {
		classes = append(classes, "B")
	}
	if attributes&faint != 0 {
		classes = append(classes, "F")
	}
	return strings.Join(classes, " ")
}

// recordDemo runs the demo in a terminal and writes the picture of it.
func (r *reader) recordDemo(t *testing.T) {
	t.Helper()
	path := strings.TrimPrefix(r.env[1], "PATH=")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "PATH="+path+" exec jobagent demo")
	cmd.Dir, cmd.Env = r.dir, append(slices.Clone(r.env), "TERM=xterm-256color", "LANG=C.UTF-8")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: rows})
	require.NoError(t, err)
	screen := vt.NewEmulator(columns, keptRows)
	answers := make(chan struct{})
	go func() { // ends when the emulator is closed
		defer close(answers)
		_, _ = io.Copy(io.Discard, screen)
	}()
	var frames []frame
	command := []run{{text: []rune("$ jobagent demo"), class: "B"}}
	chunk := make([]byte, 32<<10)
	last, complete := time.Time{}, false
	for {
		n, err := tty.Read(chunk)
		if n > 0 && !complete {
			_, _ = screen.Write(chunk[:n])
			var f frame
			if f, complete = capture(screen, command); complete || time.Since(last) > frameEvery {
				frames, last = append(frames, f), time.Now()
			}
		}
		if err != nil { // EIO: the demo has ended
			break
		}
	}
	require.NoError(t, cmd.Wait())
	require.NoError(t, tty.Close())
	require.NoError(t, screen.Close())
	<-answers
	require.True(t, complete, "the demo printed no line %q", endOfPicture)
	for len(frames) > maxFrames { // thin out evenly, and keep the last one
		for i := len(frames) - 2; i >= 0 && len(frames) > maxFrames; i -= 2 {
			frames = slices.Delete(frames, i, i+1)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, picture), []byte(svg(frames)), 0o600))
}

// svg draws frames. The last one is what a reader without animations sees.
func svg(frames []frame) string {
	height := 0
	for _, f := range frames {
		height = max(height, len(f))
	}
	final := frames[len(frames)-1]
	w, h := 2*margin+cellWidth*float64(columns), 2*margin+cellHeight*float64(height)
	total := frameShown*float64(len(frames)-1) + lastShown
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\">\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>jobagent demo</title>\n<desc>%s</desc>\n<style>\n", html.EscapeString(final.text()))
	b.WriteString("svg{--bg:#ffffff;--line:#d1d9e0;--fg:#1f2328;--faint:#59636e")
	dark := "--bg:#0d1117;--line:#3d444d;--fg:#e6edf3;--faint:#9198a1"
	for _, s := range styles {
		fmt.Fprintf(&b, ";--%s:%s", s.name, s.light)
		dark += fmt.Sprintf(";--%s:%s", s.name, s.dark)
	}
	fmt.Fprintf(&b, "}\n@media (prefers-color-scheme:dark){svg{%s}}\n", dark)
	b.WriteString("rect{fill:var(--bg);stroke:var(--line)}\ntext{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:var(--fg);white-space:pre}\n.B{font-weight:bold}\n.F{fill:var(--faint)}\n")
	for _, s := range styles {
		fmt.Fprintf(&b, ".%s{fill:var(--%s)}\n", s.name, s.name)
	}
	b.WriteString("@media (prefers-reduced-motion:no-preference){\n")
	for i := range frames {
		from, to := 100*frameShown*float64(i)/total, 100*frameShown*float64(i+1)/total
		if i == len(frames)-1 {
			to = 100
		}
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:%s}%.2f%%{visibility:visible}%.2f%%{visibility:%s}}\n#f%d{animation:k%d %.1fs step-end infinite}\n",
			i, map[bool]string{true: "visible", false: "hidden"}[i == 0], from, to, map[bool]string{true: "visible", false: "hidden"}[to == 100], i, i, total)
	}
	fmt.Fprintf(&b, "}\n</style>\n<rect x=\".5\" y=\".5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", w-1, h-1)
	for i, f := range frames {
		hidden := ""
		if i < len(frames)-1 {
			hidden = ` visibility="hidden"`
		}
		fmt.Fprintf(&b, "<g id=\"f%d\"%s>\n", i, hidden)
		for y, row := range f {
			for _, r := range row {
				class := ""
				if r.class != "" {
					class = fmt.Sprintf(" class=%q", r.class)
				}
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\"%s>%s</text>\n", margin+cellWidth*float64(r.x), margin+cellHeight*(y+1)-5,
					cellWidth*float64(len(r.text)), class, html.EscapeString(string(r.text)))
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// checkPicture requires that the last frame of the picture has the lines that the demo prints, as
// far as their words go: numbers, bars, widths of columns and what is cut may differ.
func checkPicture(t *testing.T, output string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, picture))
	require.NoError(t, err)
	have := map[string]bool{}
	for line := range strings.SplitSeq(output, "\n") {
		have[words(line)] = true
	}
	shown := strings.Split(described(t, text), "\n")
	require.Equal(t, "$ jobagent demo", shown[0])
	for _, line := range shown[1:] {
		require.True(t, have[words(line)],
			"%s is stale: the demo prints no line %q; record it with go test ./testenv/readme -run TestPages -readme.record; it prints\n%s", picture, line, output)
	}
}

// words returns the words of a line that are not cut.
func words(line string) string {
	var list []string
	for _, field := range strings.Fields(line) {
		if !strings.Contains(field, "…") && regexp.MustCompile(`^[A-Za-z]{3,}\W?$`).MatchString(field) {
			list = append(list, field)
		}
	}
	return strings.Join(list, " ")
}

// described returns the text of the picture's last frame. It requires well-formed XML without
// anything from elsewhere.
func described(t *testing.T, text []byte) string {
	t.Helper()
	require.NotRegexp(t, `<script|<image|@import|url\(|href=|@font-face`, string(text))
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	desc, inside := "", false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, desc)
			return desc
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local == "desc"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				desc += string(token)
			}
		}
	}
}
