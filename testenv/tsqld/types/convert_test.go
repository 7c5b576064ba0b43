package types

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// mustType parses a type's declaration.
func mustType(t *testing.T, s string) Type {
	t.Helper()
	typ, err := ParseType(s)
	require.NoError(t, err, s)
	return typ
}

// show prints a value through a conversion to varchar, binary types as hexadecimal digits.
func show(t *testing.T, v Value, typ Type) string {
	t.Helper()
	if v == nil {
		return "NULL"
	}
	if b, ok := v.([]byte); ok && typ.Storage() == "BLOB" && (typ.IsBinary() || typ.ID == RowVersion) {
		return "0x" + strings.ToUpper(hex.EncodeToString(b))
	}
	style := NoStyle
	if typ.IsApprox() {
		style = 0
	}
	if typ.IsMoney() || typ.IsLegacyTemporal() {
		style = 2
	}
	if typ.IsLegacyTemporal() {
		style = 121
	}
	s, err := Convert(v, typ, NVarCharMax, style)
	require.NoError(t, err)
	return s.(string)
}

// conversions follow "CAST and CONVERT (Transact-SQL)" and the pages of the data types. A want that
// begins with # is an error number.
var conversions = []struct {
	from, in, to string
	style        int
	want         string
}{
	// Texts to numbers.
	{"varchar(20)", " 42 ", "int", -1, "42"},
	{"varchar(20)", "", "int", -1, "0"},
	{"varchar(20)", "-7", "int", -1, "-7"},
	{"varchar(20)", "1.5", "int", -1, "#245"},
	{"varchar(20)", "abc", "int", -1, "#245"},
	{"varchar(20)", "2147483648", "int", -1, "#248"},
	{"varchar(20)", "256", "tinyint", -1, "#244"},
	{"varchar(20)", "32768", "smallint", -1, "#244"},
	{"varchar(20)", "x", "bigint", -1, "#8114"},
	{"varchar(30)", "9223372036854775808", "bigint", -1, "#8115"},
	{"varchar(20)", "true", "bit", -1, "1"},
	{"varchar(20)", "FALSE", "bit", -1, "0"},
	{"varchar(20)", "17", "bit", -1, "1"},
	{"varchar(20)", "yes", "bit", -1, "#245"},
	{"varchar(20)", "12.345", "decimal(5,2)", -1, "12.35"},
	{"varchar(20)", "-12.345", "decimal(5,2)", -1, "-12.35"},
	{"varchar(20)", "1234.5", "decimal(5,2)", -1, "#8115"},
	{"varchar(20)", "", "decimal(5,2)", -1, "#8114"},
	{"varchar(50)", "12345678901234567890.123", "decimal(38,3)", -1, "12345678901234567890.123"},
	{"varchar(20)", "1e3", "decimal(9,2)", -1, "#8114"},
	{"varchar(20)", "1e3", "float", -1, "1000"},
	{"varchar(20)", "", "float", -1, "0"},
	{"varchar(20)", "x", "float", -1, "#8114"},
	{"varchar(20)", "$1,234.56", "money", -1, "1234.5600"},
	{"varchar(20)", "-$5", "money", -1, "-5.0000"},
	{"varchar(20)", "€ 1,000.00", "money", -1, "1000.0000"},
	{"varchar(20)", "ABC", "money", -1, "#235"},
	// Numbers to numbers: decimal and float are cut, money is rounded.
	{"decimal(5,2)", "10.99", "int", -1, "10"},
	{"decimal(5,2)", "-10.99", "int", -1, "-10"},
	{"money", "10.50", "int", -1, "11"},
	{"float", "10.9", "int", -1, "10"},
	{"float", "1e10", "int", -1, "#232"}, {"float", "1e19", "bigint", -1, "#8115"},
	{"float", "123456", "varchar(3)", -1, "#232"}, {"float", "123456", "nvarchar(3)", -1, "#8115"},
	{"float", "300", "tinyint", -1, "#232"},
	{"int", "300", "tinyint", -1, "#220"},
	{"int", "-1", "tinyint", -1, "#220"},
	{"bigint", "3000000000", "int", -1, "#8115"},
	{"decimal(5,3)", "1.235", "decimal(4,2)", -1, "1.24"},
	{"decimal(5,2)", "123.45", "decimal(4,2)", -1, "#8115"},
	{"decimal(20,2)", "123456789012345678.99", "bigint", -1, "123456789012345678"},
	{"float", "1.005", "decimal(9,2)", -1, "1.01"},
	{"int", "5", "bit", -1, "1"},
	{"int", "12", "money", -1, "12.0000"},
	// Numbers to texts.
	{"int", "123456", "varchar(3)", -1, "*"},
	{"int", "123456", "nvarchar(3)", -1, "#8115"},
	{"bigint", "123456", "varchar(3)", -1, "#8115"},
	{"decimal(9,2)", "1234.5", "varchar(10)", -1, "1234.50"},
	{"decimal(9,2)", "1234.5", "varchar(4)", -1, "#8115"},
	{"money", "1234567.891", "varchar(20)", -1, "1234567.89"},
	{"money", "1234567.891", "varchar(20)", 1, "1,234,567.89"},
	{"money", "1234567.891", "varchar(20)", 2, "1234567.8910"},
	{"money", "1234567.891", "varchar(3)", -1, "#234"},
	{"float", "1234567.8", "varchar(30)", -1, "1.23457e+006"},
	{"float", "123456.7", "varchar(30)", -1, "123457"},
	{"float", "0.0001", "varchar(30)", -1, "0.0001"},
	{"float", "0.00001", "varchar(30)", -1, "1e-005"},
	{"float", "1234.5", "varchar(30)", 1, "1.2345000e+003"},
	{"float", "1234.5", "varchar(30)", 2, "1.234500000000000e+003"},
	{"float", "1234.5", "varchar(30)", 3, "1.2345000000000000e+003"},
	{"bit", "1", "varchar(5)", -1, "1"},
	// Texts to texts.
	{"varchar(20)", "abcdef", "varchar(3)", -1, "abc"},
	{"varchar(20)", "ab", "char(4)", -1, "ab  "},
	{"nvarchar(20)", "aΩb", "varchar(10)", -1, "a?b"},
	{"nvarchar(20)", "ŧ", "nvarchar(1)", -1, "ŧ"},
	// uniqueidentifier.
	{"varchar(50)", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "uniqueidentifier", -1, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
	{"varchar(50)", "{6f9619ff-8b86-d011-b42d-00c04fc964ff}", "uniqueidentifier", -1, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
	{"varchar(50)", "nope", "uniqueidentifier", -1, "#8169"},
	{"uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "varchar(20)", -1, "#8170"},
	{"uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "varbinary(16)", -1, "0xFF19966F868B11D0B42D00C04FC964FF"},
	// binary.
	{"varchar(20)", "Ab", "varbinary(10)", -1, "0x4162"},
	{"nvarchar(20)", "Ab", "varbinary(10)", -1, "0x41006200"},
	{"varchar(20)", "0x4E", "varbinary(10)", 1, "0x4E"},
	{"varchar(20)", "4E61", "varbinary(10)", 2, "0x4E61"},
	{"varchar(20)", "4E6", "varbinary(10)", 2, "#8114"},
	{"int", "1", "varbinary(10)", -1, "0x00000001"},
	{"int", "1", "binary(2)", -1, "0x0001"},
	{"int", "258", "binary(6)", -1, "0x000000000102"},
	{"decimal(2,1)", "1.5", "varbinary(20)", -1, "0x020100010F000000"},
	{"datetime", "1900-01-02T00:00:00", "varbinary(8)", -1, "0x0000000100000000"},
	{"datetime2(7)", "2007-05-08 12:35:29", "varbinary(20)", -1, "0x07807E308A69832E0B"},
	// Dates to texts: "Date and time styles".
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", -1, "Dec 30 2006 12:38AM"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 100, "Dec 30 2006 12:38AM"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 1, "12/30/06"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 101, "12/30/2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 2, "06.12.30"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 103, "30/12/2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 104, "30.12.2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 105, "30-12-2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 106, "30 Dec 2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 107, "Dec 30, 2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 108, "00:38:54"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 109, "Dec 30 2006 12:38:54:840AM"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 110, "12-30-2006"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 111, "2006/12/30"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 112, "20061230"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 12, "061230"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 113, "30 Dec 2006 00:38:54:840"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 114, "00:38:54:840"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 120, "2006-12-30 00:38:54"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 121, "2006-12-30 00:38:54.840"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 22, "12/30/06 12:38:54 AM"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 23, "2006-12-30"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 126, "2006-12-30T00:38:54.840"},
	{"datetime", "2006-12-30 00:38:54", "varchar(30)", 126, "2006-12-30T00:38:54"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 127, "2006-12-30T00:38:54.840"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(50)", 131, "10/12/1427 12:38:54:840AM"},
	{"datetime", "2006-12-30 00:38:54.840", "varchar(30)", 99, "#281"},
	{"datetime2(7)", "2007-05-08 12:35:29.1234567", "varchar(30)", -1, "2007-05-08 12:35:29.1234567"},
	{"datetime2(7)", "2007-05-08 12:35:29.1234567", "varchar(30)", 0, "May  8 2007 12:35PM"},
	{"datetime2(7)", "2007-05-08 12:35:29.1234567", "varchar(40)", 109, "May  8 2007 12:35:29.1234567PM"},
	{"datetime2(0)", "2007-05-08 12:35:29.6", "varchar(30)", -1, "2007-05-08 12:35:30"},
	{"date", "2007-05-08", "varchar(30)", -1, "2007-05-08"},
	{"time(7)", "12:35:29.1234567", "varchar(30)", -1, "12:35:29.1234567"},
	{"time(3)", "12:35:29.1236", "varchar(30)", -1, "12:35:29.124"},
	{"datetimeoffset(7)", "2007-05-08 12:35:29.1234567 +12:15", "varchar(40)", -1, "2007-05-08 12:35:29.1234567 +12:15"},
	{"datetimeoffset(7)", "2007-05-08 12:35:29.1234567 +12:15", "varchar(40)", 127, "2007-05-08T00:20:29.1234567Z"},
	// Source: SQL Server 2022, recorded.
	{"date", "2007-05-08", "varchar(30)", 108, "#8114"},
	{"date", "2007-05-08", "varchar(30)", 114, "#281"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 1, "#8114"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 115, "#8114"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 0, "3:04AM"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 109, "3:04:05.1234567AM"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 22, " 3:04:05 AM"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 127, "03:04:05.1234567"},
	{"time(7)", "03:04:05.1234567", "varchar(30)", 130, " 3:04:05.1234567AM"},
	{"datetime2(7)", "2024-01-02 03:04:05.1234567", "varchar(30)", 115, "030405"},
	{"datetime2(7)", "2024-01-02 03:04:05.1234567", "varchar(30)", 127, "2024-01-02T03:04:05.1234567"},
	{"datetime2(7)", "2024-01-02 03:04:05.1234567", "varchar(40)", 131, "21/06/1445  3:04:05.1234567AM"},
	{"datetimeoffset(7)", "2024-01-02 03:04:05.1234567 +05:30", "varchar(40)", 8, "03:04:05 +05:30"},
	{"datetimeoffset(7)", "2024-01-02 03:04:05.1234567 +05:30", "varchar(40)", 22, "01/02/24  3:04:05 AM +05:30"},
	{"varchar(30)", "2024-01-02", "datetime", 23, "#241"},
	{"varchar(30)", "01/02/24  3:04:05 PM", "datetime", 22, "#241"},
	{"varchar(30)", "2024-01-02", "datetime", 99, "#241"},
	{"varchar(30)", "2024-01-02", "smalldatetime", 23, "#295"},
	{"varchar(30)", "2024-01-02", "date", 23, "2024-01-02"},
	{"varchar(30)", " 3:04:05 AM", "time(0)", 22, "03:04:05"},
	{"varchar(10)", "abc", "varbinary(4)", 3, "#9809"},
	{"varbinary(10)", "0x0A0B", "varchar(20)", 3, "#9809"},
	{"varbinary(10)", "0x0A0B", "varchar(3)", 1, "0x"},
	{"varbinary(10)", "abc", "varchar(3)", 2, "61"},
	// Among dates.
	{"datetime2(7)", "2007-05-08 12:35:29.1234567", "datetime", -1, "2007-05-08 12:35:29.123"},
	{"datetime", "2007-05-08 12:35:29.123", "datetime2(7)", -1, "2007-05-08 12:35:29.1233333"},
	{"datetime2(7)", "2007-05-08 12:35:29.998", "smalldatetime", -1, "2007-05-08 12:35:00.000"},
	{"datetime2(7)", "2007-05-08 12:35:30", "smalldatetime", -1, "2007-05-08 12:36:00.000"},
	{"datetimeoffset(7)", "2007-05-08 23:00:00 +02:00", "datetime2(0)", -1, "2007-05-08 23:00:00"},
	{"time(7)", "10:00", "datetime", -1, "1900-01-01 10:00:00.000"},
	{"date", "1600-01-01", "datetime", -1, "#242"},
	{"datetime2(7)", "9999-12-31 23:59:59.9999999", "datetime2(0)", -1, "9999-12-31 23:59:59"},
	{"int", "1", "datetime", -1, "1900-01-02 00:00:00.000"},
	{"float", "0.5", "datetime", -1, "1900-01-01 12:00:00.000"},
	{"datetime", "1900-01-03 12:00", "int", -1, "3"},
	{"datetime", "1900-01-02 06:00", "float", -1, "1.25"},
	{"date", "2020-01-01", "int", -1, "#529"},
	{"int", "1", "date", -1, "#529"},
	{"sql_variant", "", "xml", -1, "NULL"},
	{"varchar(20)", "<a><b/></a>", "xml", -1, "<a><b/></a>"},
	{"varchar(20)", "<a>", "xml", -1, "#9400"},
	{"varchar(20)", "<a></b>", "xml", -1, "#9436"}, {"varchar(20)", "abc", "smallmoney", -1, "#293"},
	{"varchar(20)", "1e", "money", -1, "#235"},
	{"varchar(20)", "1000000", "smallmoney", -1, "#294"}, {"smallmoney", "1.5", "varchar(2)", -1, "#292"},
}

func TestConvert(t *testing.T) {
	for _, c := range conversions {
		name := c.from + " " + c.in + " to " + c.to
		from, to := mustType(t, c.from), mustType(t, c.to)
		var in Value
		if from.ID != Variant {
			var err error
			in, err = Convert(c.in, VarCharMax, from, NoStyle)
			require.NoError(t, err, name)
		}
		got, err := Convert(in, from, to, c.style)
		if strings.HasPrefix(c.want, "#") {
			var e *mserr.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, c.want[1:], itoa(e.Number), "%s: %s", name, e.Message)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, show(t, got, to), name)
	}
}

// itoa prints an error number.
func itoa(n int32) string { return scaledText(int64(n), 0) }

// TestConvertEnumerated converts a sample of every type to every type. A conversion that the matrix
// allows either works or returns the error number of a conversion. One that it forbids returns 529.
// None panics.
func TestConvertEnumerated(t *testing.T) {
	samples := map[string]string{
		"bit": "1", "tinyint": "7", "smallint": "7", "int": "7", "bigint": "7", "decimal(9,2)": "7.25",
		"decimal(38,4)": "7.25",
		"money":         "7.25", "smallmoney": "7.25", "real": "7.25", "float": "7.25", "date": "2020-02-29",
		"time(7)":  "10:11:12.1234567",
		"datetime": "2020-02-29 10:11:12.123", "smalldatetime": "2020-02-29 10:11",
		"datetime2(7)":      "2020-02-29 10:11:12.1234567",
		"datetimeoffset(7)": "2020-02-29 10:11:12.1234567 +02:00", "char(8)": "7", "varchar(50)": "7", "nchar(8)": "7",
		"nvarchar(50)": "7", "text": "7", "ntext": "7", "uniqueidentifier": "6F9619FF-8B86-D011-B42D-00C04FC964FF",
		"xml": "<a/>",
	}
	value := func(s string) (Type, Value) {
		typ := mustType(t, s)
		v, err := Convert(samples[s], VarCharMax, typ, NoStyle)
		require.NoError(t, err, s)
		return typ, v
	}
	all := make(map[Type]Value, len(samples)+4)
	for s := range samples {
		typ, v := value(s)
		all[typ] = v
	}
	for _, s := range []string{"binary(8)", "varbinary(50)", "image", "timestamp"} {
		typ := mustType(t, s)
		v, err := Convert(int64(7), IntType, typ, NoStyle)
		if typ.ID == Image {
			v, err = []byte{7}, nil
		}
		require.NoError(t, err, s)
		all[typ] = v
	}
	packed, err := VariantPack(int64(7), IntType)
	require.NoError(t, err)
	all[VariantType] = packed
	for from, v := range all {
		for to := range all {
			got, err := Convert(v, from, to, NoStyle)
			kind := ConversionOf(from, to)
			var e *mserr.Error
			switch {
			case from == to:
				require.NoError(t, err)
			case kind == Forbidden && from.ID != Variant:
				require.ErrorAs(t, err, &e, "%v to %v", from, to)
				require.EqualValues(t, 529, e.Number, "%v to %v", from, to)
				require.Error(t, CheckImplicit(from, to))
			case err != nil:
				require.ErrorAs(t, err, &e, "%v to %v", from, to)
			default:
				requireForm(t, got, to)
			}
			if kind == Explicit {
				require.ErrorAs(t, CheckImplicit(from, to), &e)
				require.EqualValues(t, 257, e.Number)
			}
		}
	}
}

// requireForm checks that a value has the Go type of its SQL type.
func requireForm(t *testing.T, v Value, typ Type) {
	t.Helper()
	if v == nil {
		return
	}
	switch typ.Storage() {
	case "INTEGER":
		require.IsType(t, int64(0), v, "%v", typ)
	case "REAL":
		require.IsType(t, float64(0), v, "%v", typ)
	case "TEXT":
		require.IsType(t, "", v, "%v", typ)
	case "BLOB":
		require.IsType(t, []byte(nil), v, "%v", typ)
	}
}

func TestCuts(t *testing.T) {
	require.True(t, Truncates("abcd", VarCharMax, VarCharOf(3)))
	require.False(t, Truncates("abc   ", VarCharMax, VarCharOf(3)))
	require.True(t, Truncates("😀😀", NVarCharMax, NVarCharOf(3)))
	require.False(t, Truncates("ééé", NVarCharMax, NVarCharOf(3)))
	require.True(t, Truncates([]byte{1, 2}, VarBinaryMax, VarBinaryOf(1)))
	require.False(t, Truncates(int64(5), IntType, VarCharOf(1)))
}

func TestTryConvert(t *testing.T) {
	v, err := TryConvert("x", VarCharMax, IntType, NoStyle, Locale{})
	require.NoError(t, err)
	require.Nil(t, v)
	_, err = TryConvert(int64(1), IntType, DateType, NoStyle, Locale{})
	require.Error(t, err)
}

func TestVariant(t *testing.T) {
	for s, in := range map[string]string{"int": "5", "nvarchar(10)": "xy", "decimal(38,2)": "1.50", "decimal(9,2)": "1.50", "float": "2.5",
		"uniqueidentifier": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "datetime2(3)": "2020-01-02 03:04:05.678"} {
		typ := mustType(t, s)
		v, err := Convert(in, VarCharMax, typ, NoStyle)
		require.NoError(t, err)
		p, err := VariantPack(v, typ)
		require.NoError(t, err)
		gotType, got, err := VariantUnpack(p)
		require.NoError(t, err)
		require.Equal(t, typ, gotType)
		require.Equal(t, v, got)
	}
	_, err := VariantPack("x", NVarCharMax)
	require.Error(t, err)
	_, _, err = VariantUnpack([]byte{1, 2})
	require.Error(t, err)
}

// FuzzConvertText converts texts to every type. It must not panic, and the result must convert back
// to text.
func FuzzConvertText(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5", "2020-01-02 03:04:05.1234567 +01:00", "$1,2", "1e400", "0x", "{", "Jan 5 99", "12 PM", "99:99"} {
		f.Add(s)
	}
	targets := []Type{{ID: Bit}, IntType, BigIntType, DecimalOf(5, 2), DecimalOf(38, 10), MoneyType, FloatType, {ID: Real}, DateType, {ID: Time, Scale: 3},
		DateTimeType, {ID: SmallDateTime}, DateTime2Type, DateTimeOffsetType, GUIDType, VarBinaryMax, {ID: XML}}
	f.Fuzz(func(t *testing.T, s string) {
		for _, to := range targets {
			v, err := Convert(s, NVarCharMax, to, NoStyle)
			if err != nil {
				continue
			}
			requireForm(t, v, to)
			if _, err := Convert(v, to, NVarCharMax, NoStyle); err != nil {
				t.Fatalf("%q as %v does not print: %v", s, to, err)
			}
		}
	})
}
