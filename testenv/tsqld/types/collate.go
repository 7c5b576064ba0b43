package types

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// asciiOrder lists the printable ASCII symbols in the order of Latin1_General; digits and then
// letters follow. The blank comes first of all, so that cutting trailing blanks and padding with
// them are the same.
const asciiOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// asciiWeight is the primary weight of every ASCII character: equal for the two cases of a letter,
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

// Collate compares two texts: -1, 0 or 1. Trailing blanks do not count. CI finds "a" and "A" equal
// and "a" and "á" different; CS orders them a, A, á. Bin compares code points.
func Collate(a, b string, c Collation) int {
	a, b = TrimBlanks(a), TrimBlanks(b)
	if c == Bin {
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
		if wx, wy := asciiWeight[x], asciiWeight[y]; wx != wy {
			return cmp.Compare(wx, wy)
		}
		if tie == 0 {
			tie = 1 // the small letter comes first
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
	if c == CS {
		return tie
	}
	return 0
}

// Equal reports whether two texts are equal in a collation.
func Equal(a, b string, c Collation) bool { return Collate(a, b, c) == 0 }

// element is one collation element of a text: primary weight, accents, case.
type element struct {
	primary uint32
	accent  uint32 // sum of the combining marks, weighted by position
	upper   bool
}

// expansions are the letters that sort as two ("ß" equals "ss" in the Windows collations).
var expansions = map[rune]string{'ß': "ss", 'ẞ': "SS", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'þ': "th", 'Þ': "TH"}

// elements splits a text into its collation elements.
func elements(s string) []element {
	out := make([]element, 0, len(s))
	for _, r := range norm.NFD.String(s) {
		if two, ok := expansions[r]; ok {
			for _, x := range two {
				out = append(out, elementOf(x))
			}
			continue
		}
		if unicode.Is(unicode.Mn, r) && len(out) > 0 {
			last := &out[len(out)-1]
			last.accent = last.accent*31 + uint32(r)
			continue
		}
		out = append(out, elementOf(r))
	}
	return out
}

// elementOf is the element of a single rune.
func elementOf(r rune) element {
	if r < utf8.RuneSelf {
		return element{primary: uint32(asciiWeight[r]), upper: r >= 'A' && r <= 'Z'}
	}
	lower := unicode.ToLower(r)
	return element{primary: uint32(lower) + utf8.RuneSelf, upper: lower != r}
}

// collateRunes is Collate for texts beyond ASCII: first the letters, then their accents, then (CS)
// their case.
func collateRunes(a, b string, c Collation) int {
	ea, eb := elements(a), elements(b)
	n := min(len(ea), len(eb))
	for i := range n {
		if ea[i].primary != eb[i].primary {
			return cmp.Compare(ea[i].primary, eb[i].primary)
		}
	}
	if len(ea) != len(eb) {
		return cmp.Compare(len(ea), len(eb))
	}
	for i := range n {
		if ea[i].accent != eb[i].accent {
			return cmp.Compare(ea[i].accent, eb[i].accent)
		}
	}
	if c == CI {
		return 0
	}
	for i := range n {
		if ea[i].upper != eb[i].upper {
			if eb[i].upper {
				return -1
			}
			return 1
		}
	}
	return 0
}

// CollationKey is a text that is equal for two texts exactly when Collate finds them equal.
func CollationKey(s string, c Collation) string {
	s = TrimBlanks(s)
	if c == Bin {
		return s
	}
	if isASCII(s) {
		if c == CI {
			return strings.ToLower(s)
		}
		return s
	}
	var b strings.Builder
	for _, e := range elements(s) {
		// An element of an ASCII letter must give what the fast way gives for it.
		switch {
		case e.primary < utf8.RuneSelf:
			ch := asciiOf[e.primary]
			if c == CS && e.upper {
				ch -= 'a' - 'A'
			}
			b.WriteByte(ch)
		default:
			b.WriteRune(rune(e.primary - utf8.RuneSelf))
			if c == CS && e.upper {
				b.WriteByte(1)
			}
		}
		if e.accent != 0 {
			b.WriteByte(2)
			b.WriteString(scaledText(int64(e.accent), 0))
			b.WriteByte(3)
		}
	}
	return b.String()
}

// asciiOf is the character of a primary weight, a small letter for letters.
var asciiOf = func() (c [utf8.RuneSelf]byte) {
	for i := range byte(utf8.RuneSelf) {
		if i < 'A' || i > 'Z' {
			c[asciiWeight[i]] = i
		}
	}
	return c
}()

// Names of the collations, as COLLATE and the catalogue show them.
const (
	CollationNameCI  = "SQL_Latin1_General_CP1_CI_AS"
	CollationNameCS  = "SQL_Latin1_General_CP1_CS_AS"
	CollationNameBin = "Latin1_General_BIN2"
)

// String is the name under which a collation shows in sys.columns; several names of a kind share one.
func (c Collation) String() string {
	switch c {
	case CS:
		return CollationNameCS
	case Bin:
		return CollationNameBin
	}
	return CollationNameCI
}

// CollationByName finds the collation of a COLLATE clause: names of SQL Server's families
// (Latin1_General, SQL_Latin1_General and other languages alike) by their suffixes _CI_AS, _CS_AS,
// _BIN, _BIN2, and database_default and catalog_default. ok is false for anything else,
// accent-insensitive collations included: the server does not have them.
func CollationByName(name string) (c Collation, ok bool) {
	upper := strings.ToUpper(name)
	if upper == "DATABASE_DEFAULT" || upper == "CATALOG_DEFAULT" {
		return CI, true
	}
	upper = strings.TrimSuffix(upper, "_UTF8")
	upper = strings.TrimSuffix(upper, "_SC")
	base, known := upper, false
	for _, s := range [...]struct {
		suffix string
		c      Collation
	}{
		{"_BIN2", Bin}, {"_BIN", Bin}, {"_CI_AS", CI}, {"_CS_AS", CS}, {"_CI_AS_KS", CI}, {"_CS_AS_KS", CS},
		{"_CI_AS_WS", CI}, {"_CS_AS_WS", CS}, {"_CI_AS_KS_WS", CI}, {"_CS_AS_KS_WS", CS},
	} {
		if b, found := strings.CutSuffix(upper, s.suffix); found {
			base, c, known = b, s.c, true
			break
		}
	}
	if !known {
		return 0, false
	}
	for _, family := range [...]string{"LATIN1_GENERAL", "SQL_LATIN1_GENERAL_CP", "FRENCH", "MODERN_SPANISH", "FINNISH_SWEDISH",
		"DANISH_NORWEGIAN", "GERMAN_PHONEBOOK", "POLISH", "CZECH", "HUNGARIAN", "CYRILLIC_GENERAL", "GREEK", "TURKISH",
		"JAPANESE", "CHINESE", "KOREAN", "ESTONIAN", "LATVIAN", "LITHUANIAN", "ROMANIAN", "SLOVAK", "SLOVENIAN", "UKRAINIAN",
		"VIETNAMESE", "THAI", "ARABIC", "HEBREW", "ICELANDIC"} {
		if strings.HasPrefix(base, family) {
			return c, true
		}
	}
	return 0, false
}
