package types

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCollate(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		ci, cs int
	}{
		{"abc", "ABC", 0, -1}, {"abc", "abd", -1, -1}, {"abc", "abc  ", 0, 0}, {"a", "á", -1, -1}, {"á", "Á", 0, -1}, {"á", "b", -1, -1},
		{"straße", "STRASSE", 0, -1}, {"a_b", "a1b", -1, -1}, {"a-b", "aab", -1, -1}, {"1", "a", -1, -1}, {"Z", "a", 1, 1}, {"", " ", 0, 0},
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
// the fast way for ASCII agrees with the slow one.
func TestCollateOrder(t *testing.T) {
	gen := rapid.StringMatching(`[ aAbBzZáÁéßsSæe_\-1Ω]{0,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := gen.Draw(rt, "a"), gen.Draw(rt, "b"), gen.Draw(rt, "c")
		for _, coll := range []Collation{CI, CS, Bin} {
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
	for name, want := range map[string]Collation{"SQL_Latin1_General_CP1_CI_AS": CI, "Latin1_General_CS_AS": CS, "Latin1_General_100_BIN2": Bin,
		"latin1_general_100_ci_as_sc_utf8": CI, "database_default": CI, "Japanese_CI_AS_KS_WS": CI} {
		got, ok := CollationByName(name)
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"Latin1_General_CI_AI", "nonsense", "Klingon_CI_AS"} {
		_, ok := CollationByName(name)
		require.False(t, ok, name)
	}
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
