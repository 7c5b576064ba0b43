package search

import (
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Compile compiles a LIKE pattern for many matches. m is the account of the session and may be nil.
// escape is one character, or empty for none. c is the collation in which characters are compared.
// Errors: 506 for an escape of several characters, 701, and that of a canceled request.
func Compile(m *meter.Meter, pattern, escape string, c types.Collation) (*Pattern, error) {
	var esc rune
	if escape != "" {
		r, size := utf8.DecodeRuneInString(escape)
		if size != len(escape) {
			return nil, mserr.InvalidEscape(escape, "LIKE")
		}
		esc = r
	}
	p, err := compilePattern(m, pattern, esc, c)
	return &p, err
}

// partKind is the kind of a pattern's part.
type partKind uint8

const (
	oneRune partKind = iota // equal to lit
	anyRune                 // _
	oneOf                   // [...]
	noneOf                  // [^...]
	never                   // an unclosed or empty class: matches nothing
)

// patternPart is one element of a LIKE pattern.
type patternPart struct {
	kind   partKind
	lit    rune
	ranges [][2]rune
}

// Pattern is a compiled LIKE pattern. It is safe for concurrent use.
type Pattern struct {
	segments []segment // the parts between the %; the first and the last one may be empty
}

// segment is a part of a pattern without %.
type segment struct {
	parts []patternPart
	c     types.Collation
}

// Len implements [Sequence].
func (g segment) Len() int { return len(g.parts) }

// Accepts implements [Sequence].
func (g segment) Accepts(i int, r rune) bool { return g.parts[i].one(r, g.c) }

const (
	// partBytes is the memory of a character of a pattern: its rune, its part, and the part again
	// while the list grows.
	partBytes = 100
	// partWork is the cost of compiling a character, in steps of [meter.Meter.Work].
	partWork = 8
)

// compilePattern compiles a pattern; esc is 0 for none.
func compilePattern(m *meter.Meter, pattern string, esc rune, c types.Collation) (Pattern, error) {
	var p Pattern
	if len(pattern) > meter.Small/partBytes {
		if err := m.Take(partBytes * len(pattern)); err != nil {
			return p, err
		}
	}
	g := segment{c: c}
	end := func() { p.segments = append(p.segments, g) }
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		if err := m.Work(partWork); err != nil {
			return p, err
		}
		r := runes[i]
		switch {
		case esc != 0 && r == esc:
			if i++; i == len(runes) { // an escape at the end matches nothing
				g.parts = append(g.parts, patternPart{kind: never})
				end()
				return p, nil
			}
			g.parts = append(g.parts, patternPart{lit: runes[i]})
		case r == '%':
			if len(p.segments) == 0 || len(g.parts) > 0 { // several % are like one
				end()
				g.parts = nil
			}
		case r == '_':
			g.parts = append(g.parts, patternPart{kind: anyRune})
		case r == '[':
			part, next, err := readClass(m, runes, i+1, esc)
			if err != nil {
				return p, err
			}
			g.parts = append(g.parts, part)
			if part.kind == never {
				end()
				return p, nil
			}
			i = next
		default:
			g.parts = append(g.parts, patternPart{lit: r})
		}
	}
	end()
	return p, nil
}

// readClass reads a class after its [; next is the index of its ]. A ] always ends the class, also
// directly after the [ or the ^, and an empty class matches nothing (SQL Server 2025, recorded).
func readClass(m *meter.Meter, runes []rune, i int, esc rune) (part patternPart, next int, err error) {
	part.kind = oneOf
	if i < len(runes) && runes[i] == '^' {
		part.kind = noneOf
		i++
	}
	for i < len(runes) {
		if err := m.Work(partWork); err != nil {
			return part, i, err
		}
		r := runes[i]
		if r == ']' {
			if len(part.ranges) == 0 {
				part.kind = never
			}
			return part, i, nil
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
	return patternPart{kind: never}, i, nil
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

// one reports whether a part of one character accepts r.
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

// Match reports whether the whole text matches. It searches every segment once, so that no pattern
// makes it slow. The only error is that of a canceled request.
func (p *Pattern) Match(m *meter.Meter, s string) (bool, error) { return p.match(m, s, 0) }

// MatchPadded is Match for texts of non-Unicode types, whose trailing blanks "aren't significant"
// (documentation of LIKE): the text matches if it does without some or all of them. Trailing blanks
// of the pattern are significant. The only error is that of a canceled request.
func (p *Pattern) MatchPadded(m *meter.Meter, s string) (bool, error) {
	return p.match(m, s, len(s)-len(types.TrimBlanks(s)))
}

// match is Match for a text that need not match in its last bytes, which are blanks.
func (p *Pattern) match(m *meter.Meter, s string, blanks int) (bool, error) {
	first, rest := p.segments[0], p.segments[1:]
	end, ok, err := matches(m, first, s)
	if !ok || err != nil {
		return false, err
	}
	if len(rest) == 0 {
		return end >= len(s)-blanks, nil
	}
	return p.matchRest(m, rest, s[end:], blanks)
}

// matchRest matches segments that have a % before each. The last bytes of s, which are blanks, need
// not match.
func (p *Pattern) matchRest(m *meter.Meter, rest []segment, s string, blanks int) (bool, error) {
	last := rest[len(rest)-1]
	for _, g := range rest[:len(rest)-1] {
		start, end, err := First(m, g, s)
		if start < 0 || err != nil {
			return false, err
		}
		s = s[end:]
	}
	if len(last.parts) == 0 {
		return true, nil
	}
	if len(last.parts) > len(s) {
		return false, nil
	}
	at := back(s, max(len(s)-blanks, 0), len(last.parts))
	if blanks > 0 { // every match after this place ends among the blanks
		start, _, err := First(m, last, s[max(at, 0):])
		return start >= 0, err
	}
	if at < 0 {
		return false, nil
	}
	_, ok, err := matches(m, last, s[at:])
	return ok, err
}

// Index returns the byte offset of the first match in s, for PATINDEX; -1 for none. padded is set
// for texts of non-Unicode types, of which the trailing blanks need not match: see MatchPadded. The
// only error is that of a canceled request.
func (p *Pattern) Index(m *meter.Meter, s string, padded bool) (int, error) {
	blanks := 0
	if padded {
		blanks = len(s) - len(types.TrimBlanks(s))
	}
	if len(p.segments[0].parts) > 0 || len(p.segments) == 1 {
		ok, err := p.match(m, s, blanks)
		if !ok || err != nil {
			return -1, err
		}
		return 0, nil
	}
	rest := p.segments[1:]
	if len(rest) == 1 { // the segment must match at the end
		n := len(rest[0].parts)
		if n == 0 {
			return 0, nil
		}
		if blanks > 0 { // every match after this place ends among the blanks
			at := max(back(s, len(s)-blanks, n), 0)
			start, _, err := First(m, rest[0], s[at:])
			if start < 0 || err != nil {
				return -1, err
			}
			return at + start, nil
		}
		ok, err := p.matchRest(m, rest, s, 0)
		if !ok || err != nil {
			return -1, err
		}
		return back(s, len(s), n), nil
	}
	start, end, err := First(m, rest[0], s)
	if start < 0 || err != nil {
		return -1, err
	}
	// A % precedes the rest: if the rest does not match after the first place, it matches after no
	// later one.
	ok, err := p.matchRest(m, rest[1:], s[end:], min(blanks, len(s)-end))
	if !ok || err != nil {
		return -1, err
	}
	return start, nil
}
