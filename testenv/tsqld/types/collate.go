package types

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// asciiOrder lists the printable ASCII symbols in the order of Latin1_General; digits and then
// letters follow. The blank comes first, so that a comparison without trailing blanks equals one
// with padding.
const asciiOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// asciiWeight is the primary weight of every ASCII character: equal for both cases of a letter,
// never 0.
var asciiWeight = func() (w [utf8.RuneSelf]uint8) {
	next := uint8(1)
	give := func(c byte) {
		if w[c] == 0 {
			w[c] = next
			next++
		}
	}
	give(' ')
	for c := range byte(' ') {
		give(c)
	}
	give(0x7F)
	for i := range len(asciiOrder) {
		give(asciiOrder[i])
	}
	for c := byte('0'); c <= '9'; c++ {
		give(c)
	}
	for c := byte('a'); c <= 'z'; c++ {
		give(c)
		w[c-'a'+'A'] = w[c]
	}
	return w
}()

// Collate compares two texts and returns -1, 0 or 1. It ignores trailing blanks. In CI "a" equals
// "A" and differs from "á"; CS orders a, A, á. Binary collations compare code points.
func Collate(a, b string, c Collation) int { return collate(a, b, c.info().class) }

// isI reports whether an ASCII character is i or I, which are different letters in Turkish.
func isI(b byte) bool { return b|0x20 == 'i' }

// collate is Collate for a kind of comparison.
func collate(a, b string, c comparison) int {
	a, b = TrimBlanks(a), TrimBlanks(b)
	if c&binaryOrder != 0 {
		return strings.Compare(a, b)
	}
	if a == b {
		return 0
	}
	tie := 0
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x >= utf8.RuneSelf || y >= utf8.RuneSelf {
			return collateRunes(a, b, c)
		}
		if x == y {
			continue
		}
		if c&dottedI != 0 && (isI(x) || isI(y)) {
			return collateRunes(a, b, c)
		}
		if wx, wy := asciiWeight[x], asciiWeight[y]; wx != wy {
			return cmp.Compare(wx, wy)
		}
		if tie == 0 {
			tie = 1 // the lower-case letter comes first
			if x > y {
				tie = -1
			}
		}
	}
	if len(a) != len(b) {
		rest := a[n:] + b[n:] // one of them is empty
		if rest[0] >= utf8.RuneSelf {
			return collateRunes(a, b, c)
		}
		return cmp.Compare(len(a), len(b))
	}
	if c&caseSensitive != 0 {
		return tie
	}
	return 0
}

// Equal reports whether two texts are equal in a collation.
func Equal(a, b string, c Collation) bool { return Collate(a, b, c) == 0 }

// element is one collation element of a text: primary weight, accents, case.
type element struct {
	primary uint32
	dot     bool   // a Turkish i or İ, which follows ı and I
	accent  uint32 // sum of the combining marks, weighted by position
	upper   bool
}

// expansions are the letters that sort as two letters ("ß" equals "ss" in the Windows collations).
var expansions = map[rune]string{'ß': "ss", 'ẞ': "SS", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'þ': "th", 'Þ': "TH"}

// strokes are the letters with a stroke. Windows treats the stroke as an accent of the letter, but
// Unicode does not decompose them.
var strokes = map[rune]rune{'ø': 'o', 'Ø': 'O', 'đ': 'd', 'Đ': 'D', 'ð': 'd', 'Ð': 'D', 'ł': 'l', 'Ł': 'L', 'ħ': 'h', 'Ħ': 'H', 'ŧ': 't', 'Ŧ': 'T'}

// elementReader reads the collation elements of a text one by one: a text may be as large as the
// memory of its session permits, and its elements would be many times as large.
type elementReader struct {
	c      comparison
	text   norm.Iter // decomposed
	part   []byte    // the rest of the last part of text
	last   element   // marks may follow
	some   bool      // last is set
	second element   // of an expansion
	two    bool      // second is set
}

// newElementReader returns a reader of s.
func newElementReader(s string, c comparison) *elementReader {
	if c&dottedI != 0 {
		s = strings.ReplaceAll(s, "İ", string(dottedCapital)) // NFD would separate the dot
	}
	r := &elementReader{c: c}
	r.text.InitString(norm.NFD, s)
	return r
}

// next returns the next element; ok is false at the end.
func (r *elementReader) next() (e element, ok bool) {
	for {
		next, mark, more := r.read()
		switch {
		case !more:
			ok, r.some = r.some, false
			return r.last, ok
		case mark != 0:
			if r.c&accentInsensitive == 0 {
				r.last.accent = r.last.accent*31 + uint32(mark)
			}
		case r.some:
			e, r.last = r.last, next
			return e, true
		default:
			r.last, r.some = next, true
		}
	}
}

// read returns the element of the next character, or a mark that changes the last element.
func (r *elementReader) read() (e element, mark rune, ok bool) {
	if r.two {
		r.two = false
		return r.second, 0, true
	}
	if len(r.part) == 0 {
		if r.text.Done() {
			return e, 0, false
		}
		r.part = r.text.Next()
	}
	x, n := utf8.DecodeRune(r.part)
	r.part = r.part[n:]
	if r.c&dottedI != 0 {
		if e, ok := turkishI[x]; ok {
			return e, 0, true
		}
	}
	if x < utf8.RuneSelf {
		return elementOf(x), 0, true
	}
	if two, ok := expansions[x]; ok {
		r.second, r.two = elementOf(rune(two[1])), true
		return elementOf(rune(two[0])), 0, true
	}
	if base, ok := strokes[x]; ok {
		e := elementOf(base)
		if r.c&accentInsensitive == 0 {
			e.accent = uint32(unicode.ToLower(x))
		}
		return e, 0, true
	}
	if unicode.Is(unicode.Mn, x) && r.some {
		return e, x, true
	}
	return elementOf(fold(x, r.c)), 0, true
}

// dottedCapital stands for İ in a text whose characters are decomposed.
const dottedCapital = '\uE130'

// turkishI are the elements of the Turkish letters ı and i.
var turkishI = map[rune]element{
	'ı': {primary: uint32(asciiWeight['i'])}, 'I': {primary: uint32(asciiWeight['i']), upper: true},
	'i': {primary: uint32(asciiWeight['i']), dot: true}, dottedCapital: {primary: uint32(asciiWeight['i']), dot: true, upper: true},
}

// firstWide is the ideographic space, the first character that has another width or is kana.
const firstWide = 0x3000

// fold removes the differences that the comparison ignores besides case and accents: the width of
// characters and the kind of kana.
func fold(r rune, c comparison) rune {
	if r < firstWide {
		return r
	}
	if c&widthSensitive == 0 {
		if f := width.LookupRune(r).Folded(); f != 0 {
			r = f
		}
	}
	if c&kanaSensitive == 0 && r >= 'ぁ' && r <= 'ゖ' {
		r += 'ァ' - 'ぁ'
	}
	return r
}

// elementOf returns the element of one rune.
func elementOf(r rune) element {
	if r < utf8.RuneSelf {
		return element{primary: uint32(asciiWeight[r]), upper: r >= 'A' && r <= 'Z'}
	}
	lower := unicode.ToLower(r)
	return element{primary: uint32(lower) + utf8.RuneSelf, upper: lower != r}
}

// collateRunes is Collate for texts beyond ASCII: it compares first the letters, then the accents,
// then (CS) the case.
func collateRunes(a, b string, c comparison) int {
	if a == b {
		return 0
	}
	ra, rb := newElementReader(a, c), newElementReader(b, c)
	accents, cases := 0, 0 // the first differences
	for {
		x, more := ra.next()
		y, moreOfB := rb.next()
		switch {
		case !more && !moreOfB:
			if accents != 0 || c&caseSensitive == 0 {
				return accents
			}
			return cases
		case !more:
			return -1
		case !moreOfB:
			return 1
		case x.primary != y.primary:
			return cmp.Compare(x.primary, y.primary)
		case x.dot != y.dot:
			if y.dot {
				return -1
			}
			return 1
		}
		if accents == 0 {
			accents = cmp.Compare(x.accent, y.accent)
		}
		if cases == 0 && x.upper != y.upper {
			cases = 1
			if y.upper {
				cases = -1
			}
		}
	}
}

// CollationKey returns a text that is equal for two texts if and only if Collate returns 0 for
// them.
func CollationKey(s string, coll Collation) string {
	s = TrimBlanks(s)
	if key, ok := plainKey(s, coll.info().class); ok {
		return key
	}
	var b strings.Builder
	_ = writeElements(&b, s, coll.info().class) // a builder does not fail
	return b.String()
}

// plainKey returns the key of a text whose characters are its elements; ok is false for others.
func plainKey(s string, c comparison) (key string, ok bool) {
	if c&binaryOrder != 0 {
		return s, true
	}
	if isASCII(s) && (c&dottedI == 0 || !strings.ContainsAny(s, "iI")) {
		if c&caseSensitive == 0 {
			return strings.ToLower(s), true
		}
		return s, true
	}
	return "", false
}

// keyPiece is the size in bytes of the pieces of a text's key.
const keyPiece = 4 << 10

// writeCollationKey writes the key of a text in pieces.
func writeCollationKey(w io.Writer, s string, coll Collation) error {
	s = TrimBlanks(s)
	c := coll.info().class
	if c&binaryOrder == 0 && (c&dottedI != 0 || !isASCII(s)) {
		return writeElements(w, s, c)
	}
	for len(s) > 0 {
		n := min(len(s), keyPiece)
		key, _ := plainKey(s[:n], c)
		if _, err := io.WriteString(w, key); err != nil {
			return err
		}
		s = s[n:]
	}
	return nil
}

// writeElements writes the key of a text from its collation elements.
func writeElements(w io.Writer, s string, c comparison) error {
	var b bytes.Buffer
	r := newElementReader(s, c)
	for e, more := r.next(); more; e, more = r.next() {
		if b.Len() >= keyPiece {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
		// The element of an ASCII letter must have the same key as in the fast path.
		switch {
		case e.primary < utf8.RuneSelf:
			ch := asciiOf[e.primary]
			if c&caseSensitive != 0 && e.upper {
				ch -= 'a' - 'A'
			}
			b.WriteByte(ch)
			if e.dot {
				b.WriteByte(4)
			}
		default:
			b.WriteRune(rune(e.primary - utf8.RuneSelf))
			if c&caseSensitive != 0 && e.upper {
				b.WriteByte(1)
			}
		}
		if e.accent != 0 {
			b.WriteByte(2)
			b.WriteString(scaledText(int64(e.accent), 0))
			b.WriteByte(3)
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// asciiOf maps a primary weight to its character, the lower-case one for letters.
var asciiOf = func() (c [utf8.RuneSelf]byte) {
	for i := range byte(utf8.RuneSelf) {
		if i < 'A' || i > 'Z' {
			c[asciiWeight[i]] = i
		}
	}
	return c
}()

// turkishLetters are the two letters whose case Turkish pairs otherwise.
const turkishLetters = "iIıİ"

// SameRune reports whether two characters are equal in a collation. Unlike in whole texts, a blank
// counts.
func SameRune(a, b rune, c Collation) bool {
	if a == b {
		return true
	}
	k := c.info().class
	switch {
	case k&binaryOrder != 0:
		return false
	case k&dottedI != 0 && (strings.ContainsRune(turkishLetters, a) || strings.ContainsRune(turkishLetters, b)):
		return k&caseSensitive == 0 && unicode.TurkishCase.ToLower(a) == unicode.TurkishCase.ToLower(b)
	case a < utf8.RuneSelf && b < utf8.RuneSelf:
		return k&caseSensitive == 0 && a|0x20 == b|0x20 && a|0x20 >= 'a' && a|0x20 <= 'z'
	case k&caseSensitive == 0 && unicode.ToLower(a) == unicode.ToLower(b):
		return true
	case k&accentInsensitive == 0 && max(a, b) < firstWide, a == ' ', b == ' ':
		return false
	}
	return collate(string(a), string(b), k) == 0
}
