package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// verifiedHeader begins a script's first line.
const verifiedHeader = "# verified: "

// divider ends the SQL of a query, and each of its result sets but the last.
const divider = "----"

// defaultSession is the name of the session in which a script begins.
const defaultSession = "default"

// Script is a parsed script.
type Script struct {
	// Verified is the value of the first line: "no", or a server's version and a date.
	Verified string

	lines   []string // of the text, without line ends
	records []record
}

// recordKind is the kind of a record.
type recordKind string

// The kinds, in their spelling in scripts.
const (
	kindSetup     recordKind = "setup"
	kindStatement recordKind = "statement"
	kindQuery     recordKind = "query"
	kindBatch     recordKind = "batch"
	kindLet       recordKind = "let"
	kindSubtest   recordKind = "subtest"
	kindSession   recordKind = "session"
)

// record is one record. Which fields are set depends on its kind.
type record struct {
	kind recordKind
	line int      // number of the record's first line, from 1
	sql  string   // empty for subtest and session
	name string   // of a subtest or session
	vars []string // of a let, without $

	errors  []int32 // of a statement that must fail: the numbers of all its errors
	message string  // regular expression, before its variables are replaced; "" is any text

	sets     []string   // of a query: the letters of each result set
	sorted   bool       // rowsort
	expected [][]string // lines of each result set; of a batch, the transcript is the only one
	// from and to are the indexes of the first expected line and of the line after the last one.
	// They are 0 if the record has no divider.
	from, to int

	only, skip string // servers; "" is none
}

// kinds are the letters of columns.
const kinds = "IRTDGBV"

// Parse reads a script. Errors name the line.
func Parse(text string) (*Script, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	s := &Script{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	verified, ok := strings.CutPrefix(s.lines[0], verifiedHeader)
	if s.Verified = strings.TrimSpace(verified); !ok || s.Verified == "" {
		return nil, fmt.Errorf("invalid first line %q: want %q", s.lines[0], verifiedHeader+"no")
	}
	var only, skip string
	for i := 1; i < len(s.lines); {
		line := strings.TrimSpace(s.lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			i++
			continue
		}
		r := record{line: i + 1}
		fields := strings.Fields(line)
		if fields[0] == "onlyif" || fields[0] == "skipif" {
			if len(fields) != 2 {
				return nil, fmt.Errorf("line %d: %s needs the name of a server", r.line, fields[0])
			}
			if fields[0] == "onlyif" {
				only = fields[1]
			} else {
				skip = fields[1]
			}
			i++
			continue
		}
		if err := r.parseHead(line, fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
		r.only, r.skip, only, skip = only, skip, "", ""
		i++
		if r.kind == kindSubtest || r.kind == kindSession {
			s.records = append(s.records, r)
			continue
		}
		start := i
		for i < len(s.lines) && strings.TrimSpace(s.lines[i]) != "" && s.lines[i] != divider {
			i++
		}
		if r.sql = strings.Join(s.lines[start:i], "\n"); r.sql == "" {
			return nil, fmt.Errorf("line %d: the record has no SQL", r.line)
		}
		if i < len(s.lines) && s.lines[i] == divider {
			if r.kind != kindQuery && r.kind != kindBatch {
				return nil, fmt.Errorf("line %d: only a query or a batch has expected rows", i+1)
			}
			i++
			r.from = i
			r.expected = [][]string{nil}
			for i < len(s.lines) && strings.TrimSpace(s.lines[i]) != "" {
				if s.lines[i] == divider {
					r.expected = append(r.expected, nil)
				} else {
					last := len(r.expected) - 1
					r.expected[last] = append(r.expected[last], s.lines[i])
				}
				i++
			}
			r.to = i
			if r.kind == kindQuery && len(r.expected) != len(r.sets) {
				return nil, fmt.Errorf("line %d: the query has letters for %d result sets, and rows for %d",
					r.line, len(r.sets), len(r.expected))
			}
		}
		s.records = append(s.records, r)
	}
	if only != "" || skip != "" {
		return nil, fmt.Errorf("line %d: no record follows onlyif or skipif", len(s.lines))
	}
	return s, nil
}

// variableName is a variable in a let.
var variableName = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)

// parseHead parses a record's first line.
func (r *record) parseHead(line string, fields []string) error {
	r.kind = recordKind(fields[0])
	arguments := fields[1:]
	switch r.kind {
	case kindSetup, kindBatch:
		if len(arguments) > 0 {
			return fmt.Errorf("%s takes no arguments", r.kind)
		}
	case kindSubtest, kindSession:
		if len(arguments) != 1 {
			return fmt.Errorf("%s needs one name", r.kind)
		}
		r.name = arguments[0]
	case kindLet:
		if len(arguments) == 0 {
			return fmt.Errorf("let needs a variable")
		}
		for _, a := range arguments {
			if !variableName.MatchString(a) {
				return fmt.Errorf("invalid variable %q: want $ and a name", a)
			}
			r.vars = append(r.vars, a[1:])
		}
	case kindStatement:
		return r.parseOutcome(line, arguments)
	case kindQuery:
		if len(arguments) == 0 || len(arguments) > 2 || len(arguments) == 2 && arguments[1] != "rowsort" {
			return fmt.Errorf("query needs the letters of its columns, and takes the option rowsort")
		}
		r.sorted = len(arguments) == 2
		r.sets = strings.Split(arguments[0], ",")
		for _, set := range r.sets {
			if set == "" || strings.Trim(set, kinds) != "" {
				return fmt.Errorf("invalid letters %q of a result set: want %s", set, kinds)
			}
		}
	default:
		return fmt.Errorf("invalid record %q: want setup, statement, query, batch, let, subtest or session", fields[0])
	}
	return nil
}

// parseOutcome parses the expected outcome of a statement.
func (r *record) parseOutcome(line string, arguments []string) error {
	if len(arguments) == 1 && arguments[0] == "ok" {
		return nil
	}
	if len(arguments) < 2 || arguments[0] != "error" {
		return fmt.Errorf("statement needs ok, or error and a number")
	}
	for number := range strings.SplitSeq(arguments[1], ",") {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n <= 0 {
			return fmt.Errorf("invalid error number %q", number)
		}
		r.errors = append(r.errors, int32(n))
	}
	// The regular expression is the rest of the line with its inner spaces.
	_, rest, _ := strings.Cut(line, "error")
	if _, pattern, ok := strings.Cut(strings.TrimSpace(rest), " "); ok {
		r.message = strings.TrimSpace(pattern)
		if _, err := regexp.Compile(r.message); err != nil {
			return err
		}
	}
	return nil
}

// Batches returns the SQL of all batch records.
func (s *Script) Batches() []string {
	var out []string
	for _, r := range s.records {
		if r.kind == kindBatch {
			out = append(out, r.sql)
		}
	}
	return out
}
