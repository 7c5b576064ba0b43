package output

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/itchyny/gojq"
)

// WriteJSON prints v as indented JSON with a line feed.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Query is the value of --jq: a filter of jq (https://jqlang.org/manual).
type Query struct {
	text string
	code *gojq.Code
}

// Set implements pflag.Value. It compiles the filter.
func (q *Query) Set(s string) error {
	parsed, err := gojq.Parse(s)
	if err != nil {
		return fmt.Errorf("invalid jq filter %q: %w", s, err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return fmt.Errorf("invalid jq filter %q: %w", s, err)
	}
	q.text, q.code = s, code
	return nil
}

// String implements pflag.Value.
func (q *Query) String() string { return q.text }

// Type implements pflag.Value.
func (q *Query) Type() string { return "filter" }

// write prints what the filter makes of v: each text as it is, each other value as JSON on a line,
// or indented if indent is true.
func (q *Query) write(ctx context.Context, w io.Writer, v any, indent bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // gojq keeps integers of any size
	var input any
	if err := d.Decode(&input); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	out := bufio.NewWriter(w)
	results := q.code.RunWithContext(ctx, input)
	for {
		result, ok := results.Next()
		if !ok {
			return out.Flush()
		}
		if err, failed := result.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return out.Flush()
			}
			return errors.Join(out.Flush(), fmt.Errorf("--jq: %w", err))
		}
		if s, ok := result.(string); ok {
			out.WriteString(s)
			out.WriteByte('\n')
			continue
		}
		text, err := gojq.Marshal(result)
		if err != nil {
			return fmt.Errorf("--jq: %w", err)
		}
		if indent {
			var b bytes.Buffer
			if err := json.Indent(&b, text, "", "  "); err != nil {
				return fmt.Errorf("--jq: %w", err)
			}
			text = b.Bytes()
		}
		out.Write(text)
		out.WriteByte('\n')
	}
}

// csvWriter writes records of RFC 4180. encoding/csv changes line breaks within values.
type csvWriter struct{ out *bufio.Writer }

// csvNumber matches numbers, which are data for a spreadsheet even with a sign.
var csvNumber = regexp.MustCompile(`^[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?$`)

// inert returns a value for CSV that no spreadsheet takes for a formula: authors choose names, and
// targets choose messages, that administrators open. The marks are those of OWASP ("CSV
// Injection"), with their wide forms.
func inert(value string) string {
	start := strings.TrimLeft(value, " ")
	if start != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(start)[0]) && !csvNumber.MatchString(value) {
		return "'" + value
	}
	return value
}

func newCSV(w io.Writer) *csvWriter { return &csvWriter{bufio.NewWriter(w)} }

func (c *csvWriter) write(record []string) {
	for i, value := range record {
		if i > 0 {
			c.out.WriteByte(',')
		}
		value = strings.ToValidUTF8(value, "�")
		if strings.ContainsAny(value, "\",\r\n") || strings.TrimSpace(value) != value || value == "" && len(record) == 1 {
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		c.out.WriteString(value)
	}
	c.out.WriteString("\r\n")
}

func (c *csvWriter) flush() error { return c.out.Flush() }
