package mssql

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Batch is a part of a script between two GO lines.
type Batch struct {
	// Text is the text to send; never blank.
	Text string
	// Line is the number of the batch's first line in the script, counted from 1.
	Line int
	// Count is the number of times that the batch runs: the number after GO, or 1.
	Count int
}

// regionKind is the lexical kind of a piece of T-SQL.
type regionKind uint8

const (
	regionCode         regionKind = iota // all other text
	regionString                         // '…', with '' for a quote; the N of N'…' is code
	regionQuotedName                     // "…", with "" for a quote
	regionBracketName                    // […], with ]] for a bracket
	regionLineComment                    // -- up to the line feed, which is not included
	regionBlockComment                   // /* … */, which nests in T-SQL
)

// region is a piece of a script, delimiters included: text[start:end].
type region struct {
	kind       regionKind
	start, end int
}

// nextRegion returns the region that begins at pos: 0, or the end of another region. An unclosed
// region extends to the end of the text, as on the server. The regions of a text cover it without a
// gap. Each byte is read at most twice. Every delimiter is ASCII, so that UTF-8 needs no decoding.
func nextRegion(text string, pos int) region {
	quoted := func(kind regionKind, closing byte) region {
		end, _ := tsql.EndOfQuoted(text, pos, closing)
		return region{kind, pos, end}
	}
	switch c := text[pos]; {
	case c == '\'':
		return quoted(regionString, '\'')
	case c == '"':
		return quoted(regionQuotedName, '"')
	case c == '[':
		return quoted(regionBracketName, ']')
	case strings.HasPrefix(text[pos:], "--"):
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			return region{regionLineComment, pos, len(text)}
		}
		return region{regionLineComment, pos, pos + end}
	case strings.HasPrefix(text[pos:], "/*"):
		end, _ := tsql.EndOfBlockComment(text, pos)
		return region{regionBlockComment, pos, end}
	}
	end := pos + 1
	for ; end < len(text); end++ {
		c := text[end]
		if c == '\'' || c == '"' || c == '[' {
			break
		}
		if (c == '-' || c == '/') && end+1 < len(text) && (c == '-' && text[end+1] == '-' || c == '/' && text[end+1] == '*') {
			break
		}
	}
	return region{regionCode, pos, end}
}

// maxBatches bounds the batches of a script.
const maxBatches = 100_000

// SplitBatches splits a script at its GO lines, as sqlcmd and Management Studio do. GO stands alone
// on its line, in any case, with an optional count and an optional comment. In strings, quoted
// names and comments it has no meaning. Blank batches are left out. The error is a *ScriptError for
// other text after GO, and for more than 100,000 batches.
func SplitBatches(script string) ([]Batch, error) {
	script = strings.TrimPrefix(script, "\uFEFF") // the byte order mark of a file
	var batches []Batch
	start, line, counted := 0, 1, 0 // start and first line of the current batch; lines before counted are counted
	add := func(end, count int) {
		text := script[start:end]
		if strings.TrimSpace(text) == "" {
			return
		}
		batches = append(batches, Batch{Text: text, Line: line, Count: count})
	}
	for pos := 0; pos < len(script); {
		r := nextRegion(script, pos)
		pos = r.end
		if r.kind != regionCode {
			continue
		}
		// A GO line begins in code: at the start of the script, or after a line feed of this
		// region.
		for at := r.start; at < r.end; {
			if lineStart := at == 0 || script[at-1] == '\n'; lineStart || onlyBlankBefore(script, at) {
				if end, count, found, err := goLine(script, at); err != nil {
					return nil, &ScriptError{Line: line + strings.Count(script[counted:at], "\n"), Err: err}
				} else if found {
					if len(batches) == maxBatches {
						return nil, &ScriptError{Line: line, Err: fmt.Errorf("the script has more than %d batches", maxBatches)}
					}
					add(lineBegin(script, at), count)
					line += strings.Count(script[counted:end], "\n")
					start, counted = end, end
					at, pos = end, max(pos, end)
					if end >= r.end {
						break
					}
					continue
				}
			}
			n := strings.IndexByte(script[at:r.end], '\n')
			if n < 0 {
				break
			}
			at += n + 1
		}
	}
	add(len(script), 1)
	return batches, nil
}

// lineBegin returns the offset of the first byte of the line at the offset at.
func lineBegin(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// onlyBlankBefore reports whether only blanks precede the offset at on its line.
func onlyBlankBefore(text string, at int) bool {
	for i := at - 1; i >= 0 && text[i] != '\n'; i-- {
		if !isBlank(text[i]) {
			return false
		}
	}
	return true
}

// isBlank reports whether c is a blank inside a line. The carriage return counts, because Windows
// ends lines with it.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

// isNameByte reports whether c continues a name. All non-ASCII bytes do.
func isNameByte(c byte) bool {
	return c == '_' || c == '@' || c == '#' || c == '$' || c >= 0x80 ||
		c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// goLine looks for a GO line at the offset at; blanks may precede GO. end is the offset after the
// line feed.
func goLine(text string, at int) (end, count int, found bool, err error) {
	i := at
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	if i+2 > len(text) || !strings.EqualFold(text[i:i+2], "go") || i+2 < len(text) && isNameByte(text[i+2]) {
		return 0, 0, false, nil
	}
	i += 2
	end = len(text)
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		end = i + n + 1
	}
	rest := strings.TrimSpace(text[i:end])
	number := rest
	if n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); n >= 0 {
		number = rest[:n]
	}
	tail := strings.TrimSpace(rest[len(number):])
	comment := strings.HasPrefix(tail, "--")
	if strings.HasPrefix(tail, "/*") {
		end, closed := tsql.EndOfBlockComment(tail, 0)
		comment = closed && end == len(tail)
	}
	if tail != "" && !comment {
		return 0, 0, false, fmt.Errorf("invalid text %q after GO: want a count, a comment or nothing", wording.Clip(rest, 40, wording.Bytes))
	}
	count = 1
	if number != "" {
		count, err = strconv.Atoi(number)
		if err != nil || count < 1 || count > math.MaxInt32 {
			return 0, 0, false, fmt.Errorf("invalid count %s after GO: want 1 to %d", wording.Clip(number, 40, wording.Bytes), math.MaxInt32)
		}
	}
	return end, count, true, nil
}

// Value is the value of a script variable. The zero value is an empty string.
type Value struct {
	text   string // unescaped
	quote  bool   // the literal is quoted
	prefix string // prefix of the literal: N or empty
}

// StringValue returns a value whose literal is N'…'.
func StringValue(s string) Value { return Value{text: s, quote: true, prefix: "N"} }

// IntValue returns a value whose literal is an integer.
func IntValue(n int) Value { return Value{text: strconv.Itoa(n)} }

// GUIDValue returns a value whose literal is '…' in upper case, as SQL Server writes a
// uniqueidentifier.
func GUIDValue(id uuid.UUID) Value { return Value{text: strings.ToUpper(id.String()), quote: true} }

// TimeValue returns a value whose literal is '2026-01-31T22:00:00.0000000', in UTC. datetime2 reads
// this form alike under every SET DATEFORMAT and SET LANGUAGE.
func TimeValue(t time.Time) Value {
	return Value{text: t.UTC().Format("2006-01-02T15:04:05.0000000"), quote: true}
}

// literal returns the value as a complete T-SQL expression.
func (v Value) literal() string {
	if !v.quote {
		if v.text == "" {
			return "N''"
		}
		return v.text
	}
	return v.prefix + "'" + strings.ReplaceAll(v.text, "'", "''") + "'"
}

// Variables maps lower-case names to values of script variables.
type Variables map[string]Value

// RunVariables holds the values of the documented script variables.
type RunVariables struct {
	JobName                string
	JobID                  uuid.UUID
	JobVersion             int
	StepID                 int
	StepName               string
	JobExecutionID         uuid.UUID // ID of the job execution
	JobExecutionCreateTime time.Time
	TargetGroupName        string
}

// Variables returns the variables under the names that Azure documents.
func (r RunVariables) Variables() Variables {
	return Variables{
		action.NameJobName:                StringValue(r.JobName),
		action.NameJobID:                  GUIDValue(r.JobID),
		action.NameJobVersion:             IntValue(r.JobVersion),
		action.NameStepID:                 IntValue(r.StepID),
		action.NameStepName:               StringValue(r.StepName),
		action.NameJobExecutionID:         GUIDValue(r.JobExecutionID),
		action.NameJobExecutionCreateTime: TimeValue(r.JobExecutionCreateTime),
		action.NameTargetGroupName:        StringValue(r.TargetGroupName),
	}
}

// Expand replaces $(name) by the value of the variable: in code by a complete literal; in a string
// or a quoted name by the bare text with the closing delimiter doubled, so that no value can end
// the string or name. Comments and unknown names stay unchanged. Names are compared without regard
// to case. The text must be one batch, because it is scanned from its start as code.
func Expand(text string, vars Variables) string {
	if len(vars) == 0 {
		return text
	}
	expanded, _ := expand(text, func(m mention) (string, int, error) {
		value, n := vars.replace(text[m.at:m.region.end], m.region.kind)
		return value, n, nil
	})
	return expanded
}

// expandRun is Expand with the parameters of a run: $(param.NAME) and $(payload.PATH). In code, and
// in strings that are T-SQL, a parameter must be a number, a boolean (1 or 0) or null. Unlike other
// names, names of parameters must exist. The error is a *VariableError with the line of text. The
// text is one of several batches that together may grow by room bytes; expandRun subtracts from
// room what this one grows.
func expandRun(text string, vars Variables, p *parameters.Parameters, room *int) (string, error) {
	var executed *executedText
	nested := func(m mention, size int) bool {
		if executed == nil {
			executed = executedIn(text)
		}
		return executed.has(m, size)
	}
	grown := func(name, value string, size int) (string, int, error) {
		if *room -= max(0, len(value)-size); *room < 0 {
			return "", 0, &VariableError{Name: name, Err: errGrowth}
		}
		return value, size, nil
	}
	return expand(text, func(m mention) (string, int, error) {
		piece, kind := text[m.at:m.region.end], m.region.kind
		if value, n := vars.replace(piece, kind); n > 0 {
			if kind != regionCode && strings.ContainsAny(value, `'"[]`) && nested(m, n) {
				return "", 0, &VariableError{Name: piece[2 : n-1], Line: m.line(text), Err: errQuotesNested}
			}
			return grown(piece[2:n-1], value, n)
		}
		name, found, err := checkedName(piece)
		if !found || err != nil {
			return "", 0, err
		}
		v, err := parameterValue(p, name)
		if err != nil {
			return "", 0, err
		}
		size := len(name) + 3
		if kind == regionCode {
			bare, err := bareParameter(name, v)
			if err != nil {
				return "", 0, err
			}
			return grown(name, bare, size)
		}
		if isInsertedAsText(v) && nested(m, size) {
			return "", 0, &VariableError{Name: name, Line: m.line(text), Err: errors.New(NestedAdvice)}
		}
		return grown(name, escaped(v.Text, kind), size)
	})
}

// maxGrowth bounds the number of bytes by which the values of variables make a script longer. A
// script of 100 KB may mention a value of 100 KB 10,000 times.
const maxGrowth = 16 << 20

var errGrowth = fmt.Errorf("the values of the variables make the script longer by more than %d MB: "+
	"declare a variable of T-SQL once, and use it instead", maxGrowth>>20)

// expandedBatches splits a script and expands its batches.
func expandedBatches(script string, vars Variables, p *parameters.Parameters) ([]Batch, error) {
	batches, err := SplitBatches(script)
	if err != nil {
		return nil, err
	}
	room := maxGrowth
	for i, b := range batches {
		if batches[i].Text, err = expandRun(b.Text, vars, p, &room); err != nil {
			return nil, inScript(err, b.Line)
		}
	}
	return batches, nil
}

// The errors of names whose place is not safe.
var (
	errQuotesNested = errors.New("its value has quotes or brackets, which could end the dynamic T-SQL around it: " +
		"declare a variable = N'$(…)' and pass it to sp_executesql")
	errLoneReturn = errors.New("a comment before it holds a carriage return without a line feed, which ends the comment " +
		"on some servers only: save the script with line feeds")
)

// replace returns the text for the variable at the beginning of piece, and the length of its
// mention $(name); the length is 0 if the name is not one of vars.
func (vars Variables) replace(piece string, kind regionKind) (string, int) {
	end := 2
	for end < len(piece) && isNameByte(piece[end]) {
		end++
	}
	if end == len(piece) || piece[end] != ')' {
		return "", 0
	}
	v, known := vars[strings.ToLower(piece[2:end])]
	switch {
	case !known:
		return "", 0
	case kind == regionCode:
		return v.literal(), end + 1
	default:
		return escaped(v.text, kind), end + 1
	}
}

// escaped returns text for a place inside of a string or of a quoted name.
func escaped(text string, kind regionKind) string {
	switch kind {
	case regionString:
		return strings.ReplaceAll(text, "'", "''")
	case regionQuotedName:
		return strings.ReplaceAll(text, `"`, `""`)
	default:
		return strings.ReplaceAll(text, "]", "]]")
	}
}

// mention is a place of a batch where $( stands outside of comments.
type mention struct {
	region region
	at     int // offset of $(
	lines  *lineCount
}

// lineCount counts lines up to one mention after the other. Counting from the beginning for each
// mention would take quadratic time.
type lineCount struct{ at, feeds int }

// line returns the line of the mention in text, counted from 1. It is not called for an earlier
// mention after a later one.
func (m mention) line(text string) int {
	m.lines.feeds += strings.Count(text[m.lines.at:m.at], "\n")
	m.lines.at = m.at
	return 1 + m.lines.feeds
}

// expand replaces variables outside of comments. replace returns the text for the variable at a
// mention, and the number of bytes to replace; 0 means that the mention is not a variable. An error
// of replace gets the line of the mention.
func expand(text string, replace func(mention) (string, int, error)) (string, error) {
	if !strings.Contains(text, "$(") {
		return text, nil
	}
	var b strings.Builder
	done := 0 // b has the text up to this offset
	lines := &lineCount{}
	loneReturn := false // servers may read the rest of text differently
	for pos := 0; pos < len(text); {
		r := nextRegion(text, pos)
		pos = r.end
		comment := r.kind == regionLineComment || r.kind == regionBlockComment
		from := r.start
		if r.kind == regionLineComment {
			// The documentation of -- names a lone carriage return as the end of a comment.
			if n := strings.IndexByte(strings.TrimSuffix(text[r.start:r.end], "\r"), '\r'); n >= 0 {
				loneReturn, from = true, r.start+n
			}
		}
		if comment && !loneReturn {
			continue
		}
		for from < r.end {
			n := strings.Index(text[from:r.end], "$(")
			if n < 0 {
				break
			}
			m := mention{r, from + n, lines}
			value, size, err := replace(m)
			if err == nil && size > 0 && loneReturn {
				err = &VariableError{Name: text[m.at+2 : m.at+size-1], Err: errLoneReturn}
			}
			if err != nil {
				var variable *VariableError
				if errors.As(err, &variable) && variable.Line == 0 {
					variable.Line = m.line(text)
				}
				return "", err
			}
			if size == 0 {
				from = m.at + len("$(")
				continue
			}
			if done == 0 {
				b.Grow(len(text) + 256)
			}
			b.WriteString(text[done:m.at])
			b.WriteString(value)
			from = m.at + size
			done = from
		}
	}
	if done == 0 {
		return text, nil
	}
	b.WriteString(text[done:])
	return b.String(), nil
}
