package types

import (
	"encoding/json"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
)

// Collation is the number of a collation in this server's table. Its zero value is
// SQL_Latin1_General_CP1_CI_AS, the server's default. Numbers are persisted (keys of functions,
// packed sql_variants), so the table may only grow at its end.
type Collation uint16

// The collations with a constant. All of them ignore trailing blanks when they test for equality.
const (
	CI  Collation = iota // SQL_Latin1_General_CP1_CI_AS
	CS                   // SQL_Latin1_General_CP1_CS_AS
	Bin                  // Latin1_General_BIN2
)

// Names of the collations with a constant.
const (
	CollationNameCI  = "SQL_Latin1_General_CP1_CI_AS"
	CollationNameCS  = "SQL_Latin1_General_CP1_CS_AS"
	CollationNameBin = "Latin1_General_BIN2"
)

// comparison is the kind of comparison of a collation, a set of the flags below.
type comparison uint8

const (
	caseSensitive comparison = 1 << iota
	accentInsensitive
	kanaSensitive
	widthSensitive
	binaryOrder // alone: code points
	dottedI     // i and İ are one letter, and ı and I another one (Turkish)

	comparisons = dottedI << 1 // number of values
)

// collationInfo is a row of the table of collations.
type collationInfo struct {
	name    string
	class   comparison
	version uint8 // 0 for the collations of SQL Server 2000, 2 for _100_
	sortID  uint8 // number of a SQL collation's sort order, 0 for Windows collations
	binary1 bool  // _BIN, not _BIN2
	sc      bool  // a character outside the basic plane counts once (_SC, and all of _UTF8)
	utf8    bool  // varchar is UTF-8
}

// collations is the table, in the order of the numbers.
var collations = makeCollations()

// collationsByName finds numbers by the names in capitals.
var collationsByName = func() map[string]Collation {
	m := make(map[string]Collation, len(collations))
	for i := range collations {
		m[strings.ToUpper(collations[i].name)] = Collation(i)
	}
	return m
}()

// makeCollations lists the collations: the three with a constant, then those of each family.
// Sources: "SQL Server Collation Name", "Windows Collation Name (Transact-SQL)".
func makeCollations() []collationInfo {
	out := []collationInfo{
		{name: CollationNameCI, sortID: 52},
		{name: CollationNameCS, class: caseSensitive, sortID: 51},
		{name: CollationNameBin, class: binaryOrder},
		{name: "SQL_Latin1_General_CP1_CI_AI", class: accentInsensitive, sortID: 54},
		{name: "Latin1_General_BIN", class: binaryOrder, binary1: true},
		{name: "Latin1_General_100_BIN", class: binaryOrder, version: 2, binary1: true},
		{name: "Latin1_General_100_BIN2", class: binaryOrder, version: 2},
		{name: "Latin1_General_100_BIN2_UTF8", class: binaryOrder, version: 2, sc: true, utf8: true},
	}
	add := func(family string, version uint8, suffix string, sc, utf8 bool) {
		for c := range kanaSensitive | widthSensitive | accentInsensitive | caseSensitive + 1 {
			out = append(out, collationInfo{name: family + c.suffix() + suffix, class: c, version: version, sc: sc, utf8: utf8})
		}
	}
	add("Latin1_General", 0, "", false, false)
	add("Latin1_General_100", 2, "", false, false)
	add("Latin1_General_100", 2, "_SC", true, false)
	add("Latin1_General_100", 2, "_SC_UTF8", true, true)
	latin := len(out)
	add("Turkish", 0, "", false, false)
	add("Turkish_100", 2, "", false, false)
	add("Turkish_100", 2, "_SC", true, false)
	for i := range out[latin:] {
		out[latin+i].class |= dottedI
	}
	return out
}

// suffix returns the part of a collation's name that stands for the comparison.
func (c comparison) suffix() string {
	s := "_CI"
	if c&caseSensitive != 0 {
		s = "_CS"
	}
	if c&accentInsensitive != 0 {
		s += "_AI"
	} else {
		s += "_AS"
	}
	if c&kanaSensitive != 0 {
		s += "_KS"
	}
	if c&widthSensitive != 0 {
		s += "_WS"
	}
	return s
}

// CollationByName finds a collation by its name in any case. database_default and catalog_default
// are the server's default. ok is false for unknown names.
func CollationByName(name string) (c Collation, ok bool) {
	upper := strings.ToUpper(name)
	if upper == "DATABASE_DEFAULT" || upper == "CATALOG_DEFAULT" {
		return CI, true
	}
	c, ok = collationsByName[upper]
	return c, ok
}

// Collations lists all collations by number.
func Collations() []Collation {
	out := make([]Collation, len(collations))
	for i := range out {
		out[i] = Collation(i)
	}
	return out
}

// info returns the collation's row; for an unknown number, the row of the default.
func (c Collation) info() *collationInfo {
	if int(c) >= len(collations) {
		c = CI
	}
	return &collations[c]
}

// String returns the name of the collation.
func (c Collation) String() string { return c.info().name }

// IsUTF8 reports whether char and varchar are UTF-8; their lengths count bytes then.
func (c Collation) IsUTF8() bool { return c != CI && c.info().utf8 }

// IsBinary reports whether the collation compares code points.
func (c Collation) IsBinary() bool { return c.info().class&binaryOrder != 0 }

// IgnoresCase reports whether the collation is case-insensitive.
func (c Collation) IgnoresCase() bool { return c.info().class&(caseSensitive|binaryOrder) == 0 }

// Supplementary reports whether functions count a character outside the basic plane once
// ("Collation and Unicode Support", supplementary characters).
func (c Collation) Supplementary() bool { return c != CI && c.info().sc }

// SortID returns the number of a SQL collation's sort order, 0 for Windows collations (MS-TDS
// 2.2.5.1.2).
func (c Collation) SortID() uint8 { return c.info().sortID }

// Version returns COLLATIONPROPERTY(…, 'Version').
func (c Collation) Version() uint8 { return c.info().version }

// LCID returns the Windows locale of the collation: English of the United States, or Turkish.
func (c Collation) LCID() int {
	if c.IsTurkish() {
		return 0x041F
	}
	return 0x0409
}

// IsTurkish reports whether i and I are different letters.
func (c Collation) IsTurkish() bool { return c != CI && c.info().class&dottedI != 0 }

// CodePage returns the code page of char and varchar, 65001 for UTF-8.
func (c Collation) CodePage() int {
	switch {
	case c.IsUTF8():
		return 65001
	case c.IsTurkish():
		return 1254
	}
	return 1252
}

// codePage returns the characters of the code page, if it is not UTF-8.
func (c Collation) codePage() *charmap.Charmap {
	if c.IsTurkish() {
		return charmap.Windows1254
	}
	return charmap.Windows1252
}

// Upper returns a text in capitals, as UPPER does in the collation.
func (c Collation) Upper(s string) string {
	if c.IsTurkish() {
		return strings.ToUpperSpecial(unicode.TurkishCase, s)
	}
	return strings.ToUpper(s)
}

// Lower returns a text in small letters, as LOWER does in the collation.
func (c Collation) Lower(s string) string {
	if c.IsTurkish() {
		return strings.ToLowerSpecial(unicode.TurkishCase, s)
	}
	return strings.ToLower(s)
}

// Flags of [Collation.ComparisonStyle], those of the Windows function LCMapString.
const (
	ignoreCase     = 0x1
	ignoreNonspace = 0x2
	ignoreKana     = 0x10000
	ignoreWidth    = 0x20000
)

// ComparisonStyle returns COLLATIONPROPERTY(…, 'ComparisonStyle'); 0 for binary collations.
func (c Collation) ComparisonStyle() int {
	k, style := c.info().class, 0
	if k&binaryOrder != 0 {
		return 0
	}
	if k&caseSensitive == 0 {
		style |= ignoreCase
	}
	if k&accentInsensitive != 0 {
		style |= ignoreNonspace
	}
	if k&kanaSensitive == 0 {
		style |= ignoreKana
	}
	if k&widthSensitive == 0 {
		style |= ignoreWidth
	}
	return style
}

// Bits of a collation's first four bytes on the wire (MS-TDS 2.2.5.1.2): LCID in the low 20 bits,
// then flags, then the version in the highest four bits.
const (
	wireLCID         = 0x000FFFFF
	wireIgnoreCase   = 1 << 20
	wireIgnoreAccent = 1 << 21
	wireIgnoreKana   = 1 << 22
	wireIgnoreWidth  = 1 << 23
	wireBinary       = 1 << 24
	wireBinary2      = 1 << 25
	wireUTF8         = 1 << 26
	wireVersion      = 28
)

// Wire returns the collation's first four bytes on the wire (MS-TDS 2.2.5.1.2); the fifth byte is
// [Collation.SortID].
func (c Collation) Wire() uint32 {
	i := c.info()
	w := uint32(c.LCID()) | uint32(i.version)<<wireVersion
	if i.utf8 {
		w |= wireUTF8
	}
	switch {
	case i.binary1:
		return w | wireBinary
	case i.class&binaryOrder != 0:
		return w | wireBinary2
	}
	for _, f := range [...]struct {
		class comparison
		want  comparison
		bit   uint32
	}{{caseSensitive, 0, wireIgnoreCase}, {accentInsensitive, accentInsensitive, wireIgnoreAccent}, {kanaSensitive, 0, wireIgnoreKana}, {widthSensitive, 0, wireIgnoreWidth}} {
		if i.class&f.class == f.want {
			w |= f.bit
		}
	}
	return w
}

// wireCollations finds numbers by their wire form. If two collations share a form, which does not
// contain _SC, it has the first one.
var wireCollations = func() map[uint64]Collation {
	m := make(map[uint64]Collation, len(collations))
	for i := range collations {
		c := Collation(i)
		key := uint64(c.Wire())<<8 | uint64(c.SortID())
		if _, ok := m[key]; !ok {
			m[key] = c
		}
	}
	return m
}()

// CollationFromWire is the inverse of [Collation.Wire] and [Collation.SortID]. For an unknown form,
// five zeroes included, it returns the collation that is nearest to the flags.
func CollationFromWire(info uint32, sortID uint8) Collation {
	if c, ok := wireCollations[uint64(info)<<8|uint64(sortID)]; ok {
		return c
	}
	switch {
	case info&wireUTF8 != 0 && info&(wireBinary|wireBinary2) != 0:
		return collationsByName["LATIN1_GENERAL_100_BIN2_UTF8"]
	case info&wireUTF8 != 0 && info&wireIgnoreCase == 0:
		return collationsByName["LATIN1_GENERAL_100_CS_AS_SC_UTF8"]
	case info&wireUTF8 != 0:
		return collationsByName["LATIN1_GENERAL_100_CI_AS_SC_UTF8"]
	case info&(wireBinary|wireBinary2) != 0:
		return Bin
	case info&wireIgnoreCase != 0 || info&wireLCID == 0:
		return CI
	}
	return CS
}

// Description returns the description in fn_helpcollations.
func (c Collation) Description() string {
	i := c.info()
	parts := []string{"Latin1-General"}
	if c.IsTurkish() {
		parts[0] = "Turkish"
	}
	if i.version == 2 {
		parts[0] += "-100"
	}
	pick := func(flag comparison, yes, no string) {
		if i.class&flag != 0 {
			no = yes
		}
		parts = append(parts, no)
	}
	switch {
	case i.binary1:
		parts = append(parts, "binary sort")
	case i.class&binaryOrder != 0:
		parts = append(parts, "binary code point comparison sort")
	default:
		pick(caseSensitive, "case-sensitive", "case-insensitive")
		pick(accentInsensitive, "accent-insensitive", "accent-sensitive")
		pick(kanaSensitive, "kanatype-sensitive", "kanatype-insensitive")
		pick(widthSensitive, "width-sensitive", "width-insensitive")
		if i.sc {
			parts = append(parts, "supplementary characters")
		}
	}
	if i.utf8 {
		parts = append(parts, "UTF8")
	}
	text := strings.Join(parts, ", ")
	if i.sortID != 0 {
		text += " for Unicode Data, SQL Server Sort Order " + scaledText(int64(i.sortID), 0) + " on Code Page 1252 for non-Unicode Data"
	}
	return text
}

// MarshalJSON writes the name, so that persisted definitions do not depend on numbers.
func (c Collation) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// UnmarshalJSON reads a name, or the number that earlier versions wrote for the first three
// collations. An unknown name becomes the default, so that a database of an earlier version opens.
func (c *Collation) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '"' {
		var n uint16
		err := json.Unmarshal(b, &n)
		*c = Collation(n)
		return err
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	*c, _ = CollationByName(name)
	return nil
}
