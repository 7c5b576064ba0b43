package types

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCollate(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		ci, cs int
	}{
		{"abc", "ABC", 0, -1}, {"abc", "abd", -1, -1}, {"abc", "abc  ", 0, 0}, {"a", "á", -1, -1}, {"á", "Á", 0, -1},
		{"á", "b", -1, -1},
		{"straße", "STRASSE", 0, -1}, {"a_b", "a1b", -1, -1}, {"a-b", "aab", -1, -1}, {"1", "a", -1, -1},
		{"Z", "a", 1, 1}, {"", " ", 0, 0},
		{"ж", "Ж", 0, -1}, {"e\u0301", "é", 0, 0}, {"a b", "ab", -1, -1},
	} {
		require.Equal(t, c.ci, Collate(c.a, c.b, CI), "%q %q CI", c.a, c.b)
		require.Equal(t, -c.ci, Collate(c.b, c.a, CI), "%q %q CI", c.b, c.a)
		require.Equal(t, c.cs, Collate(c.a, c.b, CS), "%q %q CS", c.a, c.b)
	}
	require.Equal(t, -1, Collate("B", "a", Bin))
	require.Equal(t, 0, Collate("a ", "a", Bin))
}

// TestCollateOrder checks that every collation is a total order, that keys agree with it, and that
// the fast path for ASCII agrees with the slow one.
func TestCollateOrder(t *testing.T) {
	gen := rapid.StringMatching(`[ aAbBzZáÁéßsSæe_\-1ΩøあアｱＡ]{0,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := gen.Draw(rt, "a"), gen.Draw(rt, "b"), gen.Draw(rt, "c")
		for _, coll := range Collations() {
			ab, bc, ac := Collate(a, b, coll), Collate(b, c, coll), Collate(a, c, coll)
			if ab != -Collate(b, a, coll) {
				rt.Fatalf("%q %q: not antisymmetric", a, b)
			}
			if ab <= 0 && bc <= 0 && ac > 0 {
				rt.Fatalf("%q <= %q <= %q but not %q <= %q", a, b, c, a, c)
			}
			if ab == 0 && bc == 0 && ac != 0 {
				rt.Fatalf("equality of %q %q %q is not transitive", a, b, c)
			}
			if (ab == 0) != (CollationKey(a, coll) == CollationKey(b, coll)) {
				rt.Fatalf("%q %q: Collate %d, keys %q %q", a, b, ab, CollationKey(a, coll), CollationKey(b, coll))
			}
		}
	})
}

func TestCollationByName(t *testing.T) {
	for name, want := range map[string]Collation{"SQL_Latin1_General_CP1_CI_AS": CI, "sql_latin1_general_cp1_cs_as": CS, "latin1_general_bin2": Bin, "database_default": CI} {
		got, ok := CollationByName(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"nonsense", "Klingon_CI_AS", "Latin1_General_CI_AS_SC_UTF8", "SQL_Latin1_General_CP1_CS_AI"} {
		_, ok := CollationByName(name)
		require.False(t, ok, name)
	}
	for _, c := range Collations() {
		got, ok := CollationByName(c.String())
		require.True(t, ok, c)
		require.Equal(t, c, got)
		typ := Type{ID: VarChar, Length: 5, Collation: c}
		back, err := ParseType(typ.Key())
		require.NoError(t, err)
		require.Equal(t, typ, back)
		packed, err := VariantPack("x", typ)
		require.NoError(t, err)
		back, _, err = VariantUnpack(packed)
		require.NoError(t, err)
		require.Equal(t, typ, back)
		wired := CollationFromWire(c.Wire(), c.SortID())
		require.Equal(t, c.Wire(), wired.Wire(), c)
		require.Equal(t, c.IsUTF8(), wired.IsUTF8(), c)
	}
}

// TestCollationNumbers checks the numbers that files persist, and the values of COLLATIONPROPERTY
// and MS-TDS 2.2.5.1.2 for some collations.
func TestCollationNumbers(t *testing.T) {
	for name, want := range map[string]struct {
		number Collation
		wire   uint32
		sort   uint8
		style  int
	}{
		"SQL_Latin1_General_CP1_CI_AS":     {0, 0x00D00409, 52, 196609},
		"SQL_Latin1_General_CP1_CS_AS":     {1, 0x00C00409, 51, 196608},
		"Latin1_General_BIN2":              {2, 0x02000409, 0, 0},
		"SQL_Latin1_General_CP1_CI_AI":     {3, 0x00F00409, 54, 196611},
		"Latin1_General_BIN":               {4, 0x01000409, 0, 0},
		"Latin1_General_100_BIN2_UTF8":     {7, 0x26000409, 0, 0},
		"Latin1_General_CI_AS":             {8, 0x00D00409, 0, 196609},
		"Latin1_General_CS_AS":             {9, 0x00C00409, 0, 196608},
		"Latin1_General_CI_AI":             {10, 0x00F00409, 0, 196611},
		"Latin1_General_100_CI_AS":         {24, 0x20D00409, 0, 196609},
		"Latin1_General_100_CI_AS_SC":      {40, 0x20D00409, 0, 196609},
		"Latin1_General_100_CI_AS_SC_UTF8": {56, 0x24D00409, 0, 196609},
	} {
		c, ok := CollationByName(name)
		require.True(t, ok, name)
		require.Equal(t, want.number, c, name)
		require.Equal(t, want.wire, c.Wire(), name)
		require.Equal(t, want.sort, c.SortID(), name)
		require.Equal(t, want.style, c.ComparisonStyle(), name)
	}
}

// TestAccentInsensitive compares texts in the accent-insensitive collations and in those that
// distinguish kana and widths.
func TestAccentInsensitive(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       int
	}{
		{"Latin1_General_CI_AI", "café", "CAFE", 0}, {"Latin1_General_CI_AI", "e\u0301", "E", 0},
		{"Latin1_General_CS_AI", "café", "CAFE", -1},
		{"Latin1_General_CS_AI", "café", "cafe", 0}, {"SQL_Latin1_General_CP1_CI_AI", "Ünü", "unu", 0},
		{"Latin1_General_CI_AI", "Ångström", "angstrom", 0},
		{"Latin1_General_CI_AI", "smørrebrød", "smorrebrod", 0}, {"Latin1_General_CI_AS", "ø", "o", 1},
		{"Latin1_General_CI_AS", "ø", "p", -1},
		{"Latin1_General_CI_AS", "Ａ", "a", 0}, {"Latin1_General_CI_AS_WS", "Ａ", "A", 1},
		{"Latin1_General_CI_AS", "あ", "ア", 0},
		{"Latin1_General_CI_AS_KS", "あ", "ア", -1}, {"Latin1_General_100_CI_AI_KS_WS", "ｱ", "ア", 1},
	} {
		coll, ok := CollationByName(c.name)
		require.True(t, ok, c.name)
		require.Equal(t, c.want, Collate(c.a, c.b, coll), "%q %q %s", c.a, c.b, c.name)
	}
}

// TestUTF8Lengths checks that char and varchar of a UTF-8 collation count bytes and are truncated
// between characters ("Collation and Unicode Support", UTF-8 support).
func TestUTF8Lengths(t *testing.T) {
	utf8, ok := CollationByName("Latin1_General_100_CI_AS_SC_UTF8")
	require.True(t, ok)
	v := Type{ID: VarChar, Length: 5, Collation: utf8}
	got, err := Convert("äбж", NVarCharOf(10), v, NoStyle)
	require.NoError(t, err)
	require.Equal(t, "äб", got)
	require.True(t, Truncates("äбж", NVarCharOf(10), v))
	require.False(t, Truncates("äб  ", NVarCharOf(10), v))
	require.Equal(t, 4, DataLength(got, v))
	fixed := Type{ID: Char, Length: 6, Collation: utf8}
	got, err = Convert("ä😀ж", NVarCharOf(10), fixed, NoStyle)
	require.NoError(t, err)
	require.Equal(t, "ä😀", got)
	got, err = Convert("ж", NVarCharOf(10), fixed, NoStyle)
	require.NoError(t, err)
	require.Equal(t, "ж    ", got)
	got, err = Convert("ж", v, VarBinaryMax, NoStyle)
	require.NoError(t, err)
	require.Equal(t, []byte("ж"), got)
	got, err = Convert([]byte("ж"), VarBinaryMax, v, NoStyle)
	require.NoError(t, err)
	require.Equal(t, "ж", got)
	require.Equal(t, 2, utf8.Chars("a😀"))
	require.Equal(t, "😀", utf8.Slice("a😀b", 1, 1))
	require.Equal(t, 3, CI.Chars("a😀"))
}

func TestCompare(t *testing.T) {
	require.Equal(t, -1, Compare(nil, int64(0), IntType))
	require.Equal(t, 0, Compare([]byte{1}, []byte{1, 0}, VarBinaryMax))
	require.Equal(t, -1, Compare("-2.50", "1.00", DecimalOf(38, 2)))
	require.Equal(t, 1, Compare("-2.50", "-10.00", DecimalOf(38, 2)))
	require.Equal(t, 0, Compare("0.00", "-0.00", DecimalOf(38, 2)))
	a, b := MakeOffset(1000, 60), MakeOffset(1000, -60)
	require.Equal(t, 0, Compare(a, b, DateTimeOffsetType))
	require.Equal(t, Key(a, DateTimeOffsetType), Key(b, DateTimeOffsetType))
	x, err := VariantPack(int64(5), IntType)
	require.NoError(t, err)
	y, err := VariantPack(int64(50), DecimalOf(3, 1))
	require.NoError(t, err)
	z, err := VariantPack("9", VarCharOf(5))
	require.NoError(t, err)
	require.Equal(t, 0, Compare(x, y, VariantType))
	require.Equal(t, 1, Compare(x, z, VariantType)) // numbers rank over characters
}

// TestGUID uses the example of "uniqueidentifier (Transact-SQL)" and the order of SqlGuid.
func TestGUID(t *testing.T) {
	v, err := ParseGUID("6F9619FF-8B86-D011-B42D-00C04FC964FF")
	require.NoError(t, err)
	require.Equal(t, []byte{0xFF, 0x19, 0x96, 0x6F, 0x86, 0x8B, 0x11, 0xD0, 0xB4, 0x2D, 0x00, 0xC0, 0x4F, 0xC9, 0x64, 0xFF}, GUIDToWire(v))
	require.Equal(t, v, GUIDFromWire(GUIDToWire(v)))
	require.Equal(t, "6F9619FF-8B86-D011-B42D-00C04FC964FF", FormatGUID(v))
	low, err := ParseGUID("FFFFFFFF-0000-0000-0000-000000000001")
	require.NoError(t, err)
	high, err := ParseGUID("00000000-0000-0000-0000-000000000002")
	require.NoError(t, err)
	require.Equal(t, -1, Compare(low, high, GUIDType))
}

// TestTurkish checks that Turkish collations pair ı with I and i with İ ("Windows Collation Name
// (Transact-SQL)"), and have code page 1254.
func TestTurkish(t *testing.T) {
	ci, ok := CollationByName("Turkish_100_CI_AS")
	require.True(t, ok)
	cs, ok := CollationByName("Turkish_CS_AS")
	require.True(t, ok)
	for _, c := range []struct {
		a, b string
		coll Collation
		want int
	}{
		{"INLINE", "inline", ci, -1},
		{"İNLİNE", "inline", ci, 0},
		{"ILIK", "ılık", ci, 0},
		{"ILIK", "ılık", cs, 1},
		{"ılık", "ILIK", cs, -1},
		{"İ", "i", cs, 1},
		{"ıb", "ia", ci, -1},
		{"h", "ı", ci, -1},
		{"i", "j", ci, -1},
		{"ABC ", "abc", ci, 0},
		{"i ", "i", ci, 0},
		{"ş", "Ş", ci, 0},
	} {
		require.Equal(t, c.want, Collate(c.a, c.b, c.coll), "%q %q %s", c.a, c.b, c.coll)
		require.Equal(t, -c.want, Collate(c.b, c.a, c.coll), "%q %q %s", c.b, c.a, c.coll)
		require.Equal(t, c.want == 0, CollationKey(c.a, c.coll) == CollationKey(c.b, c.coll), "%q %q %s", c.a, c.b, c.coll)
	}
	require.True(t, SameRune('I', 'ı', ci))
	require.True(t, SameRune('i', 'İ', ci))
	require.False(t, SameRune('i', 'I', ci))
	require.False(t, SameRune('i', 'İ', cs))
	require.Equal(t, "İIŞ", ci.Upper("iış"))
	require.Equal(t, "iış", ci.Lower("İIŞ"))
	require.Equal(t, "ISS", CI.Upper("iss"))
	require.Equal(t, 1254, ci.CodePage())
	require.Equal(t, []byte{0xDD, 0xFD}, ToCodePage("İı", ci))
	require.Equal(t, "İı", FromCodePage([]byte{0xDD, 0xFD}, ci))
	require.Equal(t, []byte("??"), ToCodePage("İı", CI))
	require.Equal(t, ci, CollationFromWire(ci.Wire(), ci.SortID()))
}

// Comparing long texts takes no memory of the size of the texts.
func TestLongTextsAreComparedInPieces(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	for _, other := range []string{long + "a", strings.Repeat("e\u0301", 1<<19) + "a"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result := Collate(long+"b", other, CI)
		runtime.ReadMemStats(&after)
		require.Equal(t, 1, result)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
	}
}
