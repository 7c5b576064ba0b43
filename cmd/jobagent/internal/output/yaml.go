package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/jobagent/jobagent/jobs/jsontree"
)

// WriteYAML prints the JSON value of v as YAML 1.2: the same fields in the same order. Texts of
// several lines are blocks; all texts that another reader might take for something else are in
// quotation marks, as in JSON. (go-yaml v1.19 loses the beginning of some blocks; the tests read
// with it.)
func WriteYAML(w io.Writer, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	d := json.NewDecoder(&text)
	d.UseNumber()
	y := yamlWriter{d: d, out: bufio.NewWriter(w)}
	if err := y.value(0, 0); err != nil {
		return fmt.Errorf("encode YAML: %w", err)
	}
	return y.out.Flush()
}

// yamlWriter writes the tokens of a JSON text as YAML.
type yamlWriter struct {
	d   *json.Decoder
	out *bufio.Writer
}

// value writes the next value. before is what stands on its line: nothing, a field's name with a
// colon, or a hyphen. Further lines have indent blanks.
func (y *yamlWriter) value(indent int, before byte) error {
	token, err := y.d.Token()
	if err != nil {
		return err
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		return y.collection(token == json.Delim('['), indent, before)
	}
	if before != 0 {
		y.out.WriteByte(' ')
	}
	switch t := token.(type) {
	case nil:
		y.out.WriteString("null\n")
	case string:
		y.text(t, indent)
	default:
		fmt.Fprintf(y.out, "%v\n", t)
	}
	return nil
}

// collection writes the fields of an object or the values of an array.
func (y *yamlWriter) collection(array bool, indent int, before byte) error {
	if !y.d.More() {
		empty := "{}\n"
		if array {
			empty = "[]\n"
		}
		if before != 0 {
			y.out.WriteByte(' ')
		}
		y.out.WriteString(empty)
		_, err := y.d.Token()
		return err
	}
	switch before {
	case '-':
		y.out.WriteByte(' ') // the first line stands behind the hyphen
	case ':':
		y.out.WriteByte('\n')
	}
	for first := true; y.d.More(); first = false {
		if !first || before != '-' {
			fill(y.out, indent)
		}
		if array {
			y.out.WriteByte('-')
			if err := y.value(indent+2, '-'); err != nil {
				return err
			}
			continue
		}
		name, err := y.d.Token()
		if err != nil {
			return err
		}
		fmt.Fprintf(y.out, "%s:", scalar(fmt.Sprint(name)))
		if err := y.value(indent+2, ':'); err != nil {
			return err
		}
	}
	_, err := y.d.Token()
	return err
}

// text writes a text and the end of its line.
func (y *yamlWriter) text(s string, indent int) {
	if !isBlock(s) {
		y.out.WriteString(scalar(s) + "\n")
		return
	}
	if strings.HasSuffix(s, "\n") {
		y.out.WriteString("|\n")
	} else {
		y.out.WriteString("|-\n")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			fill(y.out, max(indent, 2))
		}
		y.out.WriteString(line + "\n")
	}
}

// isBlock reports whether a text can be a block of lines: it has several, and nothing that a reader
// would change.
func isBlock(s string) bool {
	if !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	first, _, _ := strings.Cut(s, "\n")
	if first == "" || first[0] == ' ' {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.IndexFunc(line, func(r rune) bool {
			return r < 0x20 || r == '\uFEFF' || r == '\uFFFD' || !unicode.IsPrint(r) && r != ' '
		}) >= 0 {
			return false
		}
	}
	return true
}

// plainText matches texts that need no quotation marks, unless they are one of the words: they
// begin with a letter, and have no quotation mark, colon or number sign.
var plainText = regexp.MustCompile(`^[A-Za-z_]([ !$-9;-~]*[!$-9;-~])?$`)

// scalar writes a text on one line.
func scalar(s string) string {
	words := []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
	if plainText.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	if isGUID(s) {
		return s
	}
	return strings.ReplaceAll(jsontree.Quote(s), "\x7f", `\u007f`)
}

// isGUID reports whether s is a GUID that no reader takes for a number.
func isGUID(s string) bool {
	return len(s) == 36 && strings.Count(s, "-") == 4 && strings.IndexFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'f')
	}) < 0
}
