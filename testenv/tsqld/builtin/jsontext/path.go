package jsontext

import (
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// pathStep is one step of a path: a key, or an index of an array.
type pathStep struct {
	key     string
	index   int
	isIndex bool
}

// jsonPath is a path such as "strict $.a[0].\"b c\"" ("JSON Path Expressions in SQL Server").
type jsonPath struct {
	isStrict bool
	isAppend bool // JSON_MODIFY only
	// steps are at most maxSteps. A path that is longer leads beyond the deepest value of any text,
	// and its first steps do so, too.
	steps []pathStep
}

// maxSteps is how many steps of a path are kept: one more than those to the deepest value, for the
// value of the path, and another one, for its parent.
const maxSteps = maxDepth + 2

// parsePath parses a path. Error 13607 names the first invalid character; positions count from 0.
func parsePath(path string) (jsonPath, error) { return parsePathOf(path, false) }

// parsePathOf also accepts the word append if it is allowed.
func parsePathOf(path string, allowAppend bool) (jsonPath, error) {
	p := pathParser{s: path}
	var out jsonPath
	p.blanks()
	if allowAppend && p.word("append") {
		out.isAppend = true
		p.blanks()
	}
	switch {
	case p.word("strict"):
		out.isStrict = true
	case p.word("lax"):
	}
	p.blanks()
	if p.pos == len(p.s) && !out.isStrict && !out.isAppend {
		return out, p.bad()
	}
	if p.pos >= len(p.s) || p.s[p.pos] != '$' {
		return out, p.bad()
	}
	p.pos++
	for p.blanks(); p.pos < len(p.s); p.blanks() {
		var step pathStep
		var err error
		switch p.s[p.pos] {
		case '.':
			p.pos++
			p.blanks()
			step.key, err = p.key()
		case '[':
			p.pos++
			p.blanks()
			step.isIndex = true
			step.index, err = p.index()
		default:
			err = p.bad()
		}
		if err != nil {
			return out, err
		}
		if len(out.steps) < maxSteps {
			out.steps = append(out.steps, step)
		}
	}
	return out, nil
}

// pathParser reads a path.
type pathParser struct {
	s   string
	pos int
}

func (p *pathParser) blanks() {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t' || p.s[p.pos] == '\n' || p.s[p.pos] == '\r') {
		p.pos++
	}
}

// word reads a keyword, which a blank or $ must follow.
func (p *pathParser) word(w string) bool {
	rest := p.s[p.pos:]
	if !strings.HasPrefix(rest, w) {
		return false
	}
	if rest = rest[len(w):]; rest != "" && rest[0] != ' ' && rest[0] != '$' && rest[0] != '\t' {
		return false
	}
	p.pos += len(w)
	return true
}

// bad returns error 13607 at the current position.
func (p *pathParser) bad() error {
	return mserr.JSONPath(runeAt(p.s, p.pos), types.Units(p.s[:min(p.pos, len(p.s))]))
}

// runeAt returns the character at a byte offset; '.' at the end of the text, which SQL Server
// reports for a missing character.
func runeAt(s string, pos int) string {
	if pos >= len(s) {
		return "."
	}
	_, size := utf8.DecodeRuneInString(s[pos:])
	return s[pos : pos+size]
}

// key reads a name. It must be quoted unless it consists of letters, digits, _ and $.
func (p *pathParser) key() (string, error) {
	if p.pos < len(p.s) && p.s[p.pos] == '"' {
		start := p.pos
		p.pos++
		for p.pos < len(p.s) && p.s[p.pos] != '"' {
			if p.s[p.pos] == '\\' {
				p.pos++
			}
			p.pos++
		}
		if p.pos >= len(p.s) {
			p.pos = len(p.s)
			return "", p.bad()
		}
		p.pos++
		key, ok := unquote(p.s[start:p.pos])
		if !ok {
			p.pos = start
			return "", p.bad()
		}
		return key, nil
	}
	start := p.pos
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		if c < utf8.RuneSelf && c != '_' && c != '$' && (c < '0' || c > '9' || p.pos == start) && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		p.pos++
	}
	if p.pos == start {
		return "", p.bad()
	}
	return p.s[start:p.pos], nil
}

// index reads digits and the closing bracket.
func (p *pathParser) index() (int, error) {
	n, start := 0, p.pos
	for p.pos < len(p.s) && p.s[p.pos] >= '0' && p.s[p.pos] <= '9' {
		if n > 1<<31/10 {
			return 0, p.bad()
		}
		n = 10*n + int(p.s[p.pos]-'0')
		p.pos++
	}
	if p.pos == start {
		return 0, p.bad()
	}
	p.blanks()
	if p.pos >= len(p.s) || p.s[p.pos] != ']' {
		return 0, p.bad()
	}
	p.pos++
	return n, nil
}
