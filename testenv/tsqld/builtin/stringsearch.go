package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// stringSearchFuncs look for texts in texts.
var stringSearchFuncs = []*Func{
	collating(lenient("CHARINDEX", 2, 3, charIndexResult, evalCharIndex)),
	collating(pure("PATINDEX", 2, 2, patIndexResult, evalPatIndex)),
}

// charIndexResult is int, bigint for a (max) text.
func charIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, a := range args[:2] {
		if _, err := textArg(a, i+1, "charindex"); err != nil {
			return types.Type{}, err
		}
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

func patIndexResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, a := range args {
		if _, err := textArg(a, i+1, "patindex"); err != nil {
			return types.Type{}, err
		}
	}
	if args[1].IsMax() {
		return types.BigIntType, nil
	}
	return types.IntType, nil
}

// evalCharIndex gives 0 for no match; a NULL start means the beginning.
func evalCharIndex(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	what, err := text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	s, err := text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	start := 0
	if len(args) > 2 && args[2] != nil {
		n, err := bigint(args[2], ts[2])
		if err != nil {
			return nil, err
		}
		start = int(max(min(n-1, int64(len(s))), 0))
	}
	if what == "" {
		return int64(0), nil
	}
	counted := ts[1].Collation
	head := counted.Left(s, start)
	rest := counted.Slice(s, start, len(s))
	at := 0
	if c := searchCollation(ts[0], ts[1]); c.IsBinary() {
		at = strings.Index(rest, what)
	} else {
		at, _ = indexFold(rest, what, c)
	}
	if at < 0 {
		return int64(0), nil
	}
	return int64(counted.Chars(head) + counted.Chars(rest[:at]) + 1), nil
}

// searchCollation is the collation under which a search in b for a runs.
func searchCollation(a, b types.Type) types.Collation {
	if b.IsCharacter() && b.Collation != types.CI {
		return b.Collation
	}
	if a.IsCharacter() {
		return a.Collation
	}
	return types.CI
}

// evalPatIndex is the position of the first match of a LIKE pattern; a leading % means anywhere.
func evalPatIndex(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	pattern, err := text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	s, err := text(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	p := compilePattern(pattern, 0, searchCollation(ts[0], ts[1]))
	if len(p.parts) == 0 {
		return int64(0), nil
	}
	if p.parts[0].kind != anyRun {
		if p.Match(s) {
			return int64(1), nil
		}
		return int64(0), nil
	}
	tail := Pattern{parts: p.parts[1:], c: p.c}
	if len(tail.parts) == 0 {
		return int64(min(len(s), 1)), nil
	}
	for i := range s {
		if tail.Match(s[i:]) {
			return int64(ts[1].Collation.Chars(s[:i]) + 1), nil
		}
	}
	return int64(0), nil
}

// Like reports whether s matches a LIKE pattern: % any text, _ one character, [abc], [a-z] and
// [^...] a class. escape is the ESCAPE text, "" for none; it must be one character (error 506).
// Trailing blanks count, as they do for nchar and nvarchar; see [LikePadded].
func Like(s, pattern, escape string, c types.Collation) (bool, error) {
	p, err := CompileLike(pattern, escape, c)
	if err != nil {
		return false, err
	}
	return p.Match(s), nil
}

// LikePadded is Like for char and varchar, where trailing blanks of the text do not prevent a match.
func LikePadded(s, pattern, escape string, c types.Collation) (bool, error) {
	p, err := CompileLike(pattern, escape, c)
	if err != nil {
		return false, err
	}
	if p.Match(s) {
		return true, nil
	}
	trimmed := types.TrimBlanks(s)
	return len(trimmed) < len(s) && p.Match(trimmed), nil
}

// CompileLike reads a pattern once for many matches. Error 506 as in [Like].
func CompileLike(pattern, escape string, c types.Collation) (*Pattern, error) {
	var esc rune
	if escape != "" {
		r, size := utf8.DecodeRuneInString(escape)
		if size != len(escape) {
			return nil, mserr.InvalidEscape(escape, "LIKE")
		}
		esc = r
	}
	p := compilePattern(pattern, esc, c)
	return &p, nil
}

// partKind is the kind of a pattern's part.
type partKind uint8

const (
	oneRune partKind = iota // exactly lit
	anyRune                 // _
	anyRun                  // %
	oneOf                   // [...]
	noneOf                  // [^...]
	never                   // an unclosed class: matches nothing
)

// patternPart is one element of a LIKE pattern.
type patternPart struct {
	kind   partKind
	lit    rune
	ranges [][2]rune
}

// Pattern is a LIKE pattern ready for matching; safe for concurrent use.
type Pattern struct {
	parts []patternPart
	c     types.Collation
}

// compilePattern reads a pattern; esc is 0 for none.
func compilePattern(pattern string, esc rune, c types.Collation) Pattern {
	p := Pattern{c: c}
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case esc != 0 && r == esc:
			if i++; i == len(runes) { // an escape with nothing behind it matches nothing
				p.parts = append(p.parts, patternPart{kind: never})
				return p
			}
			p.parts = append(p.parts, patternPart{lit: runes[i]})
		case r == '%':
			if n := len(p.parts); n == 0 || p.parts[n-1].kind != anyRun {
				p.parts = append(p.parts, patternPart{kind: anyRun})
			}
		case r == '_':
			p.parts = append(p.parts, patternPart{kind: anyRune})
		case r == '[':
			part, next := readClass(runes, i+1, esc)
			p.parts = append(p.parts, part)
			if part.kind == never {
				return p
			}
			i = next
		default:
			p.parts = append(p.parts, patternPart{lit: r})
		}
	}
	return p
}

// readClass reads a class whose [ has been read; next is the index of its ].
func readClass(runes []rune, i int, esc rune) (part patternPart, next int) {
	part.kind = oneOf
	if i < len(runes) && runes[i] == '^' {
		part.kind = noneOf
		i++
	}
	for first := true; i < len(runes); first = false {
		r := runes[i]
		if r == ']' && !first {
			return part, i
		}
		if esc != 0 && r == esc && i+1 < len(runes) {
			i++
			r = runes[i]
		}
		if i+2 < len(runes) && runes[i+1] == '-' && runes[i+2] != ']' {
			hi := runes[i+2]
			i += 3
			if esc != 0 && hi == esc && i < len(runes) {
				hi = runes[i]
				i++
			}
			part.ranges = append(part.ranges, [2]rune{r, hi})
			continue
		}
		part.ranges = append(part.ranges, [2]rune{r, r})
		i++
	}
	return patternPart{kind: never}, i
}

// has reports whether a class contains r.
func (p patternPart) has(r rune, c types.Collation) bool {
	for _, span := range p.ranges {
		if span[0] == span[1] {
			if types.SameRune(r, span[0], c) {
				return true
			}
			continue
		}
		if c.IsBinary() {
			if r >= span[0] && r <= span[1] {
				return true
			}
			continue
		}
		s := string(r)
		if types.Collate(string(span[0]), s, c) <= 0 && types.Collate(s, string(span[1]), c) <= 0 {
			return true
		}
	}
	return false
}

// one reports whether a part that stands for one character accepts r.
func (p patternPart) one(r rune, c types.Collation) bool {
	switch p.kind {
	case oneRune:
		return types.SameRune(r, p.lit, c)
	case anyRune:
		return true
	case oneOf:
		return p.has(r, c)
	case noneOf:
		return !p.has(r, c)
	}
	return false
}

// Match reports whether the whole text matches. It goes back to the last % only, so that no pattern
// makes it slow.
func (p Pattern) Match(s string) bool {
	i, at := 0, 0
	lastRun, lastAt := -1, 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case i < len(p.parts) && p.parts[i].kind == anyRun:
			lastRun, lastAt = i, at
			i++
			continue
		case i < len(p.parts) && p.parts[i].one(r, p.c):
			i++
			at += size
			continue
		case lastRun < 0:
			return false
		}
		_, size = utf8.DecodeRuneInString(s[lastAt:])
		lastAt += size
		at, i = lastAt, lastRun+1
	}
	for i < len(p.parts) && p.parts[i].kind == anyRun {
		i++
	}
	return i == len(p.parts)
}

// Split yields the parts of STRING_SPLIT: the text cut at every separator, a single character. An
// empty text is one empty part. Error 214 for a separator of another length.
func Split(s, separator string) ([]string, error) {
	if types.Units(separator) != 1 {
		return nil, mserr.ParameterType("separator", "nchar(1)/nvarchar(1)").WithState(11)
	}
	return strings.Split(s, separator), nil
}
