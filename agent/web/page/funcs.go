package page

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// partials are the templates that all sets share: {{template "…" …}}.
//
//go:embed partials/*.html
var partials embed.FS

// Parse parses the templates of a set, which are the files *.html at the root of files, together
// with the shared ones. All of them may call the functions of [Funcs], and further ones. A block's
// name is unique within the set. files may be nil.
func Parse(files fs.FS, further template.FuncMap) (*template.Template, error) {
	t, err := template.New("").Funcs(Funcs()).Funcs(further).ParseFS(partials, "partials/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse shared templates: %w", err)
	}
	if files == nil {
		return t, nil
	}
	names, err := fs.Glob(files, "*.html")
	if err != nil || len(names) == 0 {
		return t, err
	}
	if t, err = t.ParseFS(files, names...); err != nil {
		return nil, fmt.Errorf("parse templates: %w", err)
	}
	return t, nil
}

// Funcs returns the functions of templates. Those that make elements escape what they are given.
func Funcs() template.FuncMap {
	return template.FuncMap{
		"time":     Time,
		"when":     When,
		"duration": Duration,
		"seconds":  func(s any) template.HTML { return Duration(time.Duration(number(s) * float64(time.Second))) },
		"count":    Count,
		"bytes":    Bytes,
		"percent":  Percent,
		"state":    State,
		"icon":     Icon,
		"bar":      Bar,
		"text":     Text,
		"said":     Said,
		"clipsaid": ClipSaid,
		"numbered": numbered,
		"target":   Target,
		"clip":     Clip,
		"plural":   Plural,
		"segment":  Segment,
		"link":     NewLink,
		"dict":     dict,
		"list":     func(items ...any) []any { return items },
		"lower":    strings.ToLower,
		"join":     strings.Join,
		"add":      func(a, b int) int { return a + b },
		"may":      func(r *Request, role string) bool { return r.May(roleNamed(role)) },
	}
}

// roleNamed returns the role with a name. Unknown names are a fault of a template: nobody has them.
func roleNamed(name string) rest.Role {
	for r := rest.RoleReader; r <= rest.RoleAdmin; r++ {
		if r.String() == name {
			return r
		}
	}
	return rest.RoleAdmin + 1
}

// NewLink makes a link for partial templates.
func NewLink(text, href string) Link { return Link{Text: text, Href: href} }

// dict makes a map from keys and values that follow each other.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict has %d arguments: want keys and values", len(pairs))
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict has the key %v: want a string", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// Segment escapes a name as one segment of a path. Browsers resolve the segments "." and ".."
// whether or not they are escaped, and drop empty ones, so such names get a tilde before them;
// [Request.Value] removes it. The empty name is that of the schedule in a job's own definition.
func Segment(name string) string {
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, "~") {
		name = "~" + name
	}
	return url.PathEscape(name)
}

// none stands for a value that does not exist.
const none template.HTML = `<span class="none">–</span>`

// instant returns the time in a value of a template, and false if there is none.
func instant(v any) (time.Time, bool) {
	switch t := v.(type) {
	case time.Time:
		return t.UTC(), !t.IsZero()
	case *time.Time:
		if t != nil {
			return t.UTC(), !t.IsZero()
		}
	}
	return time.Time{}, false
}

// Time shows an instant. The base script shows it in the viewer's zone and language, with UTC on
// hover. v is a time.Time or a *time.Time; a zero time is shown as a dash.
func Time(v any) template.HTML {
	t, ok := instant(v)
	if !ok {
		return none
	}
	return timeElement(t, "")
}

// When shows an instant as an age or a delay, such as "3 min ago". The base script keeps it up to
// date. now is the clock to compare with: the database's where a view has it.
func When(now time.Time, v any) template.HTML {
	t, ok := instant(v)
	if !ok {
		return none
	}
	text := "now"
	switch d := t.Sub(now); {
	case d >= time.Second:
		text = "in " + DurationText(d)
	case d <= -time.Second:
		text = DurationText(-d) + " ago"
	}
	return timeElement(t, text)
}

// timeElement returns an element time. Without text, it shows the instant.
func timeElement(t time.Time, text string) template.HTML {
	utc := t.Format("2006-01-02 15:04:05") + " UTC"
	attribute := ""
	if text == "" {
		text = utc
	} else {
		attribute = " data-relative"
	}
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z07:00") + `" title="` + utc + `"` + attribute + `>` + //nolint:gosec // digits and constants
		template.HTMLEscapeString(text) + `</time>`)
}

// Duration shows a duration with two units at most. v is a time.Duration; nil and negative
// durations are shown as a dash.
func Duration(v any) template.HTML {
	var d time.Duration
	switch x := v.(type) {
	case time.Duration:
		d = x
	case *time.Duration:
		if x == nil {
			return none
		}
		d = *x
	default:
		return none
	}
	if d < 0 {
		return none
	}
	return template.HTML(`<time class="num" datetime="PT` + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + `S" data-duration="` + //nolint:gosec // digits and constants
		strconv.FormatInt(d.Milliseconds(), 10) + `">` + DurationText(d) + `</time>`)
}

// DurationText writes a duration for people, with no-break spaces.
func DurationText(d time.Duration) string {
	d = max(d, 0)
	two := func(big int64, bigUnit string, small int64, smallUnit string) string {
		if small == 0 {
			return fmt.Sprintf("%d\u00a0%s", big, bigUnit)
		}
		return fmt.Sprintf("%d\u00a0%s %d\u00a0%s", big, bigUnit, small, smallUnit)
	}
	s := int64(d / time.Second)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d\u00a0ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f\u00a0s", d.Truncate(100*time.Millisecond).Seconds())
	case s < 60:
		return fmt.Sprintf("%d\u00a0s", s)
	case s < 3600:
		return two(s/60, "min", s%60, "s")
	case s < 86400:
		return two(s/3600, "h", s%3600/60, "min")
	default:
		return two(s/86400, "d", s%86400/3600, "h")
	}
}

// LengthText writes a length that somebody has set, or a round one: in its two largest units, and
// without what is zero.
func LengthText(d time.Duration) string {
	switch {
	case d == 0:
		return "0\u00a0s"
	case d < time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%d\u00a0s", d/time.Second)
	}
	return DurationText(d)
}

// number returns a value of a template as a number.
func number(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case int32:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	case float32:
		return float64(n)
	}
	return math.NaN()
}

// Count shows a number. The base script groups its digits as the viewer's language does.
func Count(v any) template.HTML {
	n := number(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return none
	}
	value := strconv.FormatFloat(n, 'f', -1, 64)
	return template.HTML(`<data class="num" value="` + value + `">` + grouped(value) + `</data>`) //nolint:gosec // digits and constants
}

// grouped groups the digits of a number as English does.
func grouped(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// Bytes shows a number of bytes.
func Bytes(v any) template.HTML {
	n := number(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return none
	}
	units := [...]string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for n >= 1000 && i < len(units)-1 {
		n /= 1000
		i++
	}
	digits := 0
	if i > 0 && n < 100 {
		digits = 1
	}
	value := strconv.FormatFloat(n, 'f', digits, 64)
	return template.HTML(`<span class="num"><data value="` + value + `" data-digits="` + strconv.Itoa(digits) + `">` + grouped(value) + //nolint:gosec // digits and constants
		"</data>\u00a0" + units[i] + `</span>`)
}

// Percent shows a share: part of whole. Without a whole, it is a dash. Less than all is never shown
// as 100 %, and more than nothing never as 0 %.
func Percent(part, whole any) template.HTML {
	p, w := number(part), number(whole)
	if math.IsNaN(p) || math.IsNaN(w) || w <= 0 {
		return none
	}
	share := math.Round(100 * p / w)
	if p < w {
		share = min(share, 99)
	}
	if p > 0 {
		share = max(share, 1)
	}
	value := strconv.FormatFloat(share, 'f', 0, 64)
	return template.HTML(`<span class="num"><data value="` + value + `">` + value + "</data>\u00a0%</span>") //nolint:gosec // digits and constants
}

// Plural returns one, or else many, by a number: {{count .N}} {{plural .N "target" "targets"}}.
func Plural(n any, one, many string) string {
	if number(n) == 1 {
		return one
	}
	return many
}

// Counted writes a number with its noun inside a sentence.
func Counted(n int, one, many string) string {
	return Grouped(n) + " " + Plural(n, one, many)
}

// Text shows a text that somebody else has written: isolated from the text around it, with visible
// control characters.
func Text(v any) template.HTML {
	return template.HTML(`<bdi>` + visible(str(v)) + `</bdi>`) //nolint:gosec // visible escapes
}

// Target shows a target: the database first, because targets of a run often share the server.
func Target(server, database any) template.HTML {
	s, d := str(server), str(database)
	if d == "" {
		return template.HTML(`<span class="target"><bdi class="db">` + visible(s) + `</bdi></span>`) //nolint:gosec // visible escapes
	}
	return template.HTML(`<span class="target"><bdi class="db">` + visible(d) + `</bdi> <bdi class="server" title="` + //nolint:gosec // visible escapes
		template.HTMLEscapeString(numbered(s)) + `">` + visible(s) + `</bdi></span>`)
}

// numbered replaces control characters by their numbers, for attributes and the title of a page,
// which have no elements.
func numbered(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "U+%04X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// str returns the text of a value of a template.
func str(v any) string {
	switch t := v.(type) {
	case nil:
		return ""
	case string:
		return t
	case *string:
		if t == nil {
			return ""
		}
		return *t
	case error:
		return t.Error()
	}
	return fmt.Sprint(v)
}

// visible escapes a text, and replaces control characters by their numbers. Line breaks and tabs
// remain.
func visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return template.HTMLEscapeString(text)
	}
	var b strings.Builder
	plain := 0
	for i, r := range text {
		if !hidden(r) {
			continue
		}
		size := len(string(r))
		if r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(r)) {
			size = 1 // not UTF-8
		}
		b.WriteString(template.HTMLEscapeString(text[plain:i]))
		fmt.Fprintf(&b, `<span class="control" title="control character">U+%04X</span>`, r)
		plain = i + size
	}
	b.WriteString(template.HTMLEscapeString(text[plain:]))
	return b.String()
}

// hidden reports whether a character changes a text without being seen: control characters, and
// those that format, such as the bidirectional ones. The joiners belong to scripts and emojis.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t', '\r', '\u200c', '\u200d', '\u00ad':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// isoInstant matches an instant as messages of procedures have it.
var isoInstant = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z`)

// Said shows a sentence of a procedure as Text does, with its instants as Time does.
func Said(v any) template.HTML {
	return template.HTML("<bdi>" + said(str(v)) + "</bdi>") //nolint:gosec // said escapes
}

// said is visible, and shows instants as Time does.
func said(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range isoInstant.FindAllStringIndex(text, -1) {
		t, err := time.Parse(time.RFC3339Nano, text[at[0]:at[1]])
		if err != nil {
			continue
		}
		b.WriteString(visible(text[end:at[0]]))
		b.WriteString(string(Time(t)))
		end = at[1]
	}
	b.WriteString(visible(text[end:]))
	return b.String()
}

// Clip shows the beginning of a long text as Text does, in at most limit UTF-16 code units, with
// the whole text behind "show all". It keeps line breaks.
func Clip(limit int, v any) template.HTML { return clip(limit, str(v), visible) }

// ClipSaid is Clip for a message that a procedure may have written: see Said.
func ClipSaid(limit int, v any) template.HTML { return clip(limit, str(v), said) }

// clip implements Clip. show makes text HTML.
func clip(limit int, text string, show func(string) string) template.HTML {
	if text == "" {
		return none
	}
	head := wording.Head(text, limit, wording.UTF16)
	if len(head) == len(text) {
		return template.HTML(`<bdi class="clip">` + show(text) + `</bdi>`) //nolint:gosec // show escapes
	}
	n := wording.Length(text, wording.UTF16)
	return template.HTML(`<details class="clip"><summary><bdi>` + show(head) + `…</bdi> <span class="more">show all ` + //nolint:gosec // show escapes
		string(Count(n)) + ` characters</span></summary><bdi class="all">` + show(text) + `</bdi></details>`)
}

// ParseInstant parses an instant that was typed: RFC 3339, or YYYY-MM-DD, perhaps with a time, in
// UTC. The error says what is wanted.
func ParseInstant(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("want YYYY-MM-DD HH:MM in UTC, or an instant such as 2026-11-23T08:00:00+01:00")
}

// Grouped writes a number for a sentence, with groups of digits as in English.
func Grouped(n int) string { return grouped(strconv.Itoa(n)) }
