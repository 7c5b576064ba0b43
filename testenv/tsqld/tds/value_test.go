package tds

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// offsetValue is a datetimeoffset in its stored form.
func offsetValue(utcTicks int64, minutes int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(utcTicks))
	return binary.BigEndian.AppendUint16(b, uint16(minutes+offsetBias))
}

// Sample is a type with a value of it.
type Sample struct {
	T types.Type
	V types.Value
}

// day2020 is 2020-02-29 in days since 0001-01-01.
const day2020 = 737483

// Samples has at least one row for each type.
func Samples() []Sample {
	str := func(id types.ID, n int) types.Type { return types.Type{ID: id, Length: n} }
	noon := int64(12*3600) * ticksPerSecond
	guid := types.GUIDFromWire([]byte("0123456789abcdef"))
	return []Sample{
		{types.Type{ID: types.Bit}, int64(0)}, {types.Type{ID: types.Bit}, int64(1)},
		{types.Type{ID: types.TinyInt}, int64(255)}, {types.Type{ID: types.SmallInt}, int64(math.MinInt16)},
		{types.Type{ID: types.Int}, int64(math.MinInt32)}, {types.Type{ID: types.BigInt}, int64(math.MaxInt64)},
		{types.Type{ID: types.Decimal, Precision: 9, Scale: 2}, int64(-999999999)},
		{types.Type{ID: types.Decimal, Precision: 18, Scale: 4}, int64(999999999999999999)},
		{types.Type{ID: types.Decimal, Precision: 19, Scale: 4, Numeric: true}, "-123456789012345.6789"},
		{types.Type{ID: types.Decimal, Precision: 28, Scale: 0}, "1234567890123456789012345678"},
		{types.Type{ID: types.Decimal, Precision: 38, Scale: 38}, "0." + strings.Repeat("9", 38)},
		{types.Type{ID: types.Decimal, Precision: 38, Scale: 3}, "-0.001"},
		{types.Type{ID: types.Money}, int64(math.MinInt64)}, {types.Type{ID: types.Money}, int64(12345678)},
		{types.Type{ID: types.SmallMoney}, int64(-2147483648)},
		{types.Type{ID: types.Real}, float64(float32(1.5))}, {types.Type{ID: types.Float}, math.MaxFloat64},
		{types.Type{ID: types.Date}, int64(0)}, {types.Type{ID: types.Date}, int64(maxDays) * ticksPerDay},
		{types.Type{ID: types.Time}, int64(0)}, {types.Type{ID: types.Time, Scale: 7}, int64(ticksPerDay - 1)},
		{types.Type{ID: types.Time, Scale: 3}, noon + 1230000},
		{types.Type{ID: types.DateTime}, day2020*ticksPerDay + noon},
		{types.Type{ID: types.DateTime}, day2020*ticksPerDay + thirdsToTicks(thirdsPerDay-1)},
		{types.Type{ID: types.SmallDateTime}, day2020*ticksPerDay + noon},
		{types.Type{ID: types.DateTime2, Scale: 7}, day2020*ticksPerDay + noon + 1},
		{types.Type{ID: types.DateTime2, Scale: 0}, day2020*ticksPerDay + noon},
		{types.Type{ID: types.DateTimeOffset, Scale: 7}, offsetValue(day2020*ticksPerDay+noon+7, -330)},
		{types.Type{ID: types.DateTimeOffset, Scale: 2}, offsetValue(day2020*ticksPerDay+noon, 840)},
		{str(types.Char, 5), "ab€  "}, {str(types.VarChar, 10), ""}, {str(types.VarChar, 10), "Größe\u0081"},
		{str(types.VarChar, types.Max), strings.Repeat("é", 20000)}, {str(types.VarChar, types.Max), ""},
		{str(types.NChar, 4), "日本  "}, {str(types.NVarChar, 10), "a😀b"},
		{str(types.NVarChar, types.Max), strings.Repeat("日", 9000)},
		{str(types.Binary, 3), []byte{1, 0, 2}}, {str(types.VarBinary, 8000), []byte{}},
		{str(types.VarBinary, types.Max), make([]byte, 70000)},
		{types.Type{ID: types.UniqueIdentifier}, guid}, {types.Type{ID: types.XML}, "<a>日</a>"},
	}
}

func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{Version72, Version73A, Version74} {
		for _, s := range Samples() {
			if !v.since73() && s.T.ID >= types.Date && s.T.ID <= types.DateTimeOffset && s.T.ID != types.DateTime && s.T.ID != types.SmallDateTime {
				continue // sent as text
			}
			for _, val := range []types.Value{s.V, nil} {
				ti, err := wireType(s.T, formParam, v)
				require.NoError(t, err)
				b, err := appendValue(appendTypeInfo(nil, ti), ti, formParam, val)
				require.NoError(t, err, "%s %v", s.T, val)
				d := newDecoder("test", b)
				got := readTypeInfo(d, formParam)
				back := readValue(d, got, formParam)
				require.NoError(t, d.err, "%s", s.T)
				require.Zero(t, d.left())
				require.Equal(t, s.T, got.typ, "%s", s.T)
				require.Equal(t, val, back, "%s", s.T)
			}
		}
	}
}

func TestVariantsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range Samples() {
		if s.T.Length == types.Max || s.T.ID == types.XML {
			continue
		}
		packed, err := types.VariantPack(s.V, s.T)
		require.NoError(t, err)
		b, err := appendVariant(nil, packed)
		require.NoError(t, err, "%s", s.T)
		d := newDecoder("test", b)
		back := readVariant(d)
		require.NoError(t, d.err, "%s", s.T)
		require.Zero(t, d.left())
		require.Equal(t, packed, back, "%s", s.T)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, s := range []Sample{
		{types.Type{ID: types.Int}, int64(1) << 31},
		{types.Type{ID: types.TinyInt}, int64(-1)},
		{types.Type{ID: types.Bit}, int64(2)},
		{types.Type{ID: types.Int}, "1"},
		{types.Type{ID: types.Decimal, Precision: 3}, int64(1000)},
		{types.Type{ID: types.Decimal, Precision: 20, Scale: 1}, "1.25"},
		{types.Type{ID: types.SmallMoney}, int64(1) << 31},
		{types.Type{ID: types.Date}, int64(-1)},
		{types.Type{ID: types.Time}, int64(ticksPerDay)},
		{types.Type{ID: types.DateTime}, int64(0)},
		{types.Type{ID: types.NVarChar, Length: 2}, "abc"},
		{types.Type{ID: types.UniqueIdentifier}, []byte{1}},
		{types.Type{ID: types.DateTimeOffset}, []byte{1}},
	} {
		ti, err := wireType(s.T, formParam, Version74)
		require.NoError(t, err)
		b, err := appendValue([]byte("x"), ti, formParam, s.V)
		var ve *ValueError
		require.ErrorAs(t, err, &ve, "%s", s.T)
		require.Equal(t, "x", string(b))
	}
}

func TestTemporalTextForOldClients(t *testing.T) {
	t.Parallel()
	noon := day2020*int64(ticksPerDay) + 12*3600*ticksPerSecond
	for want, s := range map[string]Sample{
		"2020-02-29":                      {types.Type{ID: types.Date}, int64(day2020 * ticksPerDay)},
		"12:00:00.0000012":                {types.Type{ID: types.Time, Scale: 7}, int64(12*3600*ticksPerSecond + 12)},
		"2020-02-29 12:00:00.12":          {types.Type{ID: types.DateTime2, Scale: 2}, noon + 1200000},
		"2020-02-29 12:00:00":             {types.Type{ID: types.DateTime2}, noon},
		"2020-02-29 06:30:00.000 -05:30":  {types.Type{ID: types.DateTimeOffset, Scale: 3}, offsetValue(noon, -330)},
		"2020-02-29 12:00:00.000 +00:00":  {types.Type{ID: types.DateTimeOffset, Scale: 3}, offsetValue(noon, 0)},
		"2020-03-01 02:00:00.0000 +14:00": {types.Type{ID: types.DateTimeOffset, Scale: 4}, offsetValue(noon, 840)},
	} {
		got, err := temporalText(s.T, s.V)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLegacyTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw  []byte
		typ  types.Type
		want types.Value
	}{
		"Int4":       {[]byte{tokInt4, 5, 0, 0, 0}, types.Type{ID: types.Int}, int64(5)},
		"Bit":        {[]byte{tokBit, 7}, types.Type{ID: types.Bit}, int64(1)},
		"Float4":     {[]byte{tokFloat4, 0, 0, 0x80, 0x3F}, types.Type{ID: types.Real}, 1.0},
		"Money":      {[]byte{tokMoney, 1, 0, 0, 0, 2, 0, 0, 0}, types.Type{ID: types.Money}, int64(1<<32 + 2)},
		"DateTime4":  {[]byte{tokDateTime4, 1, 0, 2, 0}, types.Type{ID: types.SmallDateTime}, int64((days1900+1)*ticksPerDay + 2*ticksPerMinute)},
		"VarChar":    {[]byte{tokVarChar, 10, 3, 'a', 0x80, 'c'}, types.Type{ID: types.VarChar, Length: 10}, "a€c"},
		"Binary":     {[]byte{tokBinary, 2, 2, 1, 2}, types.Type{ID: types.Binary, Length: 2}, []byte{1, 2}},
		"Decimal":    {[]byte{tokOldDecimal, 5, 5, 2, 5, 0, 57, 48, 0, 0}, types.Type{ID: types.Decimal, Precision: 5, Scale: 2}, int64(-12345)},
		"Text":       {[]byte{tokText, 0xFF, 0xFF, 0xFF, 0x7F, 9, 4, 0xD0, 0, 0x34, 2, 0, 0, 0, 'h', 'i'}, types.Type{ID: types.Text}, "hi"},
		"TextNull":   {[]byte{tokText, 0xFF, 0xFF, 0xFF, 0x7F, 9, 4, 0xD0, 0, 0x34, 0xFF, 0xFF, 0xFF, 0xFF}, types.Type{ID: types.Text}, nil},
		"Null":       {[]byte{tokNull}, types.Type{ID: types.Null}, nil},
		"UTF8":       {append([]byte{tokBigVarChar, 4, 0, 9, 4, 0xD0, 4, 0, 3, 0}, "日"...), types.Type{ID: types.VarChar, Length: 4, Collation: collation("Latin1_General_100_CI_AS_SC_UTF8")}, "日"},
		"CaseSens":   {[]byte{tokNVarChar, 2, 0, 9, 4, 0xC0, 0, 0, 2, 0, 'x', 0}, types.Type{ID: types.NVarChar, Length: 1, Collation: collation("Latin1_General_CS_AS")}, "x"},
		"PLPChunks":  {[]byte{tokBigVarBin, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 7, 2, 0, 0, 0, 8, 9, 0, 0, 0, 0}, types.Type{ID: types.VarBinary, Length: types.Max}, []byte{7, 8, 9}},
		"XMLWithBOM": {[]byte{tokXML, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 0, 0, 0xFF, 0xFE, 'x', 0, 0, 0, 0, 0}, types.Type{ID: types.XML}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDecoder("test", c.raw)
			ti := readTypeInfo(d, formParam)
			got := readValue(d, ti, formParam)
			require.NoError(t, d.err)
			require.Zero(t, d.left())
			require.Equal(t, c.typ, ti.typ)
			require.Equal(t, c.want, got)
		})
	}
}

func TestCodePage1252(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte("?\x80??z"), append1252(nil, "日€😀z"))
	for c := range 256 {
		require.Equal(t, []byte{byte(c)}, append1252(nil, decode1252([]byte{byte(c)})), "%#x", c)
	}
}

// collation is a collation by its name.
func collation(name string) types.Collation {
	c, ok := types.CollationByName(name)
	if !ok {
		panic(name)
	}
	return c
}
