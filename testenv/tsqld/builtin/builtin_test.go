package builtin

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// arg is an argument of a call under test.
type arg struct {
	t types.Type
	v types.Value
}

// as returns a value that is converted from text to a type; NULL for "NULL".
func as(t *testing.T, typ, s string) arg {
	t.Helper()
	to, err := types.ParseType(typ)
	require.NoError(t, err, typ)
	if s == "NULL" {
		return arg{t: to}
	}
	v, err := types.Convert(s, types.VarCharMax, to, types.NoStyle)
	require.NoError(t, err, "%s as %s", s, typ)
	return arg{to, v}
}

// lit reads a literal: a number, 'text', N'text', NULL, or type'value' such as date'2020-01-01'.
func lit(t *testing.T, s string) arg {
	t.Helper()
	switch {
	case s == "NULL":
		return arg{t: types.NullType}
	case strings.HasPrefix(s, "N'"):
		typ, v := types.StringLiteral(strings.Trim(s[1:], "'"), true)
		return arg{typ, v}
	case strings.HasPrefix(s, "'"):
		typ, v := types.StringLiteral(strings.Trim(s, "'"), false)
		return arg{typ, v}
	case strings.HasPrefix(s, "0x"):
		v, err := hex.DecodeString(s[2:])
		require.NoError(t, err)
		return arg{types.VarBinaryOf(len(v)), v}
	case strings.HasSuffix(s, "'"):
		name, value, _ := strings.Cut(strings.TrimSuffix(s, "'"), "'")
		return as(t, name, value)
	}
	typ, v, err := types.NumberLiteral(s)
	require.NoError(t, err, s)
	return arg{typ, v}
}

// errNumber returns the error number of err, 0 without an error.
func errNumber(err error) int32 {
	var e *mserr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// call evaluates a function and returns the type and the value of the result as texts.
func call(t *testing.T, env Env, name string, args ...arg) (string, string, error) {
	t.Helper()
	f, ok := Lookup(name)
	require.True(t, ok, name)
	ts := make([]types.Type, len(args))
	vs := make([]types.Value, len(args))
	for i, a := range args {
		ts[i], vs[i] = a.t, a.v
	}
	r, err := f.ResultType(ts, vs)
	if err != nil {
		return "", "", err
	}
	v, err := f.Call(nil, env, ts, r, vs)
	if err != nil {
		return "", "", err
	}
	if v == nil {
		return r.String(), "NULL", nil
	}
	if b, ok := v.([]byte); ok && r.Storage() == "BLOB" && r.ID != types.UniqueIdentifier && r.ID != types.DateTimeOffset {
		if r.ID == types.Variant {
			inner, x, err := types.VariantUnpack(v)
			require.NoError(t, err)
			s, err := types.Convert(x, inner, types.NVarCharMax, types.NoStyle)
			require.NoError(t, err)
			return r.String(), s.(string), nil
		}
		return r.String(), fmt.Sprintf("0x%X", b), nil
	}
	style := types.NoStyle
	if r.IsLegacyTemporal() {
		style = 121
	}
	if r.IsMoney() {
		style = 2
	}
	s, err := types.Convert(v, r, types.NVarCharMax, style)
	require.NoError(t, err, name)
	return r.String(), s.(string), nil
}

// functionCase is one call: literals as arguments, the type and text of the result, or #number for
// an error.
type functionCase struct {
	name string
	args []string
	typ  string // "" for any type
	want string
}

// check runs cases.
func check(t *testing.T, cases []functionCase) {
	t.Helper()
	for _, c := range cases {
		label := c.name + "(" + strings.Join(c.args, ", ") + ")"
		args := make([]arg, len(c.args))
		for i, a := range c.args {
			args[i] = lit(t, a)
		}
		typ, got, err := call(t, newFakeEnv(), c.name, args...)
		if strings.HasPrefix(c.want, "#") {
			require.Error(t, err, label)
			v, _ := types.Convert(int64(errNumber(err)), types.IntType, types.VarCharMax, types.NoStyle)
			require.Equal(t, c.want[1:], v, "%s: %v", label, err)
			continue
		}
		require.NoError(t, err, label)
		require.Equal(t, c.want, got, label)
		if c.typ != "" {
			require.Equal(t, c.typ, typ, label)
		}
	}
}

// TestStrings follows the pages of "String functions (Transact-SQL)".
func TestStrings(t *testing.T) {
	check(t, []functionCase{
		{"LEN", []string{"'abc  '"}, "int", "3"}, {"LEN", []string{"N'😀'"}, "int", "2"},
		{"LEN", []string{"NULL"}, "", "NULL"},
		{"LEN", []string{"12345"}, "int", "5"}, {"LEN", []string{"nvarchar(max)'xy'"}, "bigint", "2"},
		{"LEN", nil, "", "#174"},
		{"DATALENGTH", []string{"N'abc'"}, "int", "6"}, {"DATALENGTH", []string{"'abc  '"}, "int", "5"},
		{"DATALENGTH", []string{"1"}, "int", "4"},
		{"SUBSTRING", []string{"'abcdef'", "2", "3"}, "varchar(3)", "bcd"},
		{"SUBSTRING", []string{"'abc'", "0", "2"}, "", "a"},
		{"SUBSTRING", []string{"'abc'", "-1", "2"}, "", ""}, {"SUBSTRING", []string{"'abc'", "2", "-1"}, "", "#536"},
		{"SUBSTRING", []string{"0x010203", "2", "1"}, "varbinary(1)", "0x02"},
		{"LEFT", []string{"'abcdef'", "2"}, "varchar(2)", "ab"}, {"LEFT", []string{"'abc'", "-1"}, "", "#536"},
		{"RIGHT", []string{"N'abcdef'", "2"}, "nvarchar(2)", "ef"},
		{"RIGHT", []string{"'abc'", "9"}, "", "abc"}, {"UPPER", []string{"'aé'"}, "varchar(2)", "AÉ"},
		{"LOWER", []string{"N'ÄB'"}, "nvarchar(2)", "äb"},
		{"LTRIM", []string{"'  a '"}, "", "a "}, {"RTRIM", []string{"'  a '"}, "", "  a"},
		{"TRIM", []string{"'  a '"}, "", "a"}, {"TRIM", []string{"'.#a#.'", "'#.'"}, "", "a"},
		{"REVERSE", []string{"N'añ'"}, "", "ña"}, {"REPLACE", []string{"'abcABC'", "'b'", "'-'"}, "varchar(8000)", "a-cA-C"},
		{"REPLACE", []string{"'abc'", "''", "'x'"}, "", "abc"},
		{"REPLACE", []string{"'abc'", "N'c'", "N'Ω'"}, "nvarchar(4000)", "abΩ"},
		{"REPLACE", []string{"'abc'", "NULL", "'x'"}, "", "NULL"},
		{"STUFF", []string{"'abcdef'", "2", "3", "'ijklmn'"}, "varchar(12)", "aijklmnef"},
		{"STUFF", []string{"'abc'", "0", "1", "'x'"}, "", "NULL"},
		{"STUFF", []string{"'abc'", "2", "1", "NULL"}, "", "ac"},
		{"TRANSLATE", []string{"'2*[3+4]'", "'[]'", "'()'"}, "", "2*(3+4)"},
		{"TRANSLATE", []string{"'a'", "'ab'", "'c'"}, "", "#9828"},
		{"ASCII", []string{"'A'"}, "int", "65"}, {"ASCII", []string{"'€'"}, "", "128"},
		{"ASCII", []string{"''"}, "", "NULL"}, {"UNICODE", []string{"N'Å'"}, "int", "197"},
		{"CHAR", []string{"65"}, "char(1)", "A"}, {"CHAR", []string{"300"}, "", "NULL"},
		{"NCHAR", []string{"937"}, "nchar(1)", "Ω"},
		{"SOUNDEX", []string{"'Smith'"}, "", "S530"}, {"SOUNDEX", []string{"'Smythe'"}, "", "S530"},
		{"DIFFERENCE", []string{"'Green'", "'Greene'"}, "int", "4"},
		{"CHARINDEX", []string{"'B'", "'abcb'"}, "int", "2"}, {"CHARINDEX", []string{"'b'", "'abcb'", "3"}, "", "4"},
		{"CHARINDEX", []string{"'x'", "'abc'"}, "", "0"}, {"CHARINDEX", []string{"''", "'abc'"}, "", "0"},
		{"CHARINDEX", []string{"NULL", "'abc'"}, "", "NULL"},
		{"PATINDEX", []string{"'%[0-9]%'", "'abc123'"}, "int", "4"}, {"PATINDEX", []string{"'b%'", "'abc'"}, "", "0"},
		{"PATINDEX", []string{"'%ter%'", "'interesting data'"}, "", "3"},
		{"PATINDEX", []string{"'%'", "'abc'"}, "", "1"}, {"PATINDEX", []string{"'%c'", "'abc'"}, "", "3"},
		{"CONCAT", []string{"'a'", "NULL", "5"}, "varchar(13)", "a5"},
		{"CONCAT", []string{"'a'", "N'b'"}, "nvarchar(2)", "ab"}, {"CONCAT", []string{"'a'"}, "", "#189"},
		{"CONCAT_WS", []string{"','", "'a'", "NULL", "'b'"}, "", "a,b"},
		{"REPLICATE", []string{"'ab'", "3"}, "varchar(6)", "ababab"},
		{"REPLICATE", []string{"'a'", "-1"}, "", "NULL"},
		{"SPACE", []string{"3"}, "varchar(3)", "   "}, {"QUOTENAME", []string{"N'a]b'"}, "nvarchar(258)", "[a]]b]"},
		{"QUOTENAME", []string{"'ab'", "'\"'"}, "", "\"ab\""}, {"QUOTENAME", []string{"'ab'", "'x'"}, "", "NULL"},
		{"PARSENAME", []string{"'s.d..o'", "1"}, "nvarchar(128)", "o"},
		{"PARSENAME", []string{"'[a.b].c'", "2"}, "", "a.b"}, {"PARSENAME", []string{"'a.b'", "3"}, "", "NULL"},
		{"STR", []string{"123.45", "6", "1"}, "varchar(6)", " 123.5"},
		{"STR", []string{"123.45", "2", "2"}, "", "**"}, {"STR", []string{"5"}, "varchar(10)", "         5"},
		{"STR", []string{"1234.5678", "6", "3"}, "", "1234.6"},
		{"STRING_ESCAPE", []string{`N'\	/'`, "'json'"}, "nvarchar(max)", `\\\t\/`},
		{"HASHBYTES", []string{"'MD5'", "'abc'"}, "varbinary(8000)", "0x900150983CD24FB0D6963F7D28E17F72"},
		{"HASHBYTES", []string{"'SHA2_256'", "'abc'"}, "", "0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"},
		{"HASHBYTES", []string{"'nope'", "'abc'"}, "", "NULL"}, {"LEN", []string{"xml'<a/>'"}, "", "#8116"},
	})
}

// TestFormatMessage follows "RAISERROR (Transact-SQL)" and "FORMATMESSAGE (Transact-SQL)".
func TestFormatMessage(t *testing.T) {
	check(t, []functionCase{
		{"FORMATMESSAGE", []string{"'a %s b %d'", "'x'", "5"}, "nvarchar(2048)", "a x b 5"},
		{"FORMATMESSAGE", []string{"'<%7.3s>'", "'abcde'"}, "", "<    abc>"},
		{"FORMATMESSAGE", []string{"'<%*.*s>'", "7", "3", "'abcde'"}, "", "<    abc>"},
		{"FORMATMESSAGE", []string{"'%06i'", "-50"}, "", "-00050"},
		{"FORMATMESSAGE", []string{"'%+i'", "50"}, "", "+50"},
		{"FORMATMESSAGE", []string{"'%x %X %#x'", "50000", "50000", "50000"}, "", "c350 C350 0xc350"},
		{"FORMATMESSAGE", []string{"'%o'", "50"}, "", "62"},
		{"FORMATMESSAGE", []string{"'%u'", "-50"}, "", "4294967246"},
		{"FORMATMESSAGE", []string{"'<%-5d>'", "5"}, "", "<5    >"},
		{"FORMATMESSAGE", []string{"'100%% %s'"}, "", "100% (null)"},
		{"FORMATMESSAGE", []string{"'%q'", "5"}, "", "#2787"},
		{"FORMATMESSAGE", []string{"'%d'", "'x'"}, "", "#2786"},
		{"FORMATMESSAGE", []string{"'%d'", "1.5"}, "", "#2748"},
		{"FORMATMESSAGE", []string{"'%I64d'", "bigint'5000000000'"}, "", "5000000000"},
	})
}

// TestMath follows "Mathematical functions (Transact-SQL)".
func TestMath(t *testing.T) {
	check(t, []functionCase{
		{"ABS", []string{"-5"}, "int", "5"}, {"ABS", []string{"int'-2147483648'"}, "", "#8115"},
		{"ABS", []string{"-1.50"}, "numeric(3,2)", "1.50"}, {"SIGN", []string{"-2.5"}, "numeric(2,1)", "-1.0"},
		{"CEILING", []string{"123.45"}, "numeric(5,0)", "124"}, {"CEILING", []string{"-123.45"}, "", "-123"},
		{"FLOOR", []string{"-123.45"}, "", "-124"}, {"FLOOR", []string{"$123.45"}, "money", "123.0000"},
		{"ROUND", []string{"123.9994", "3"}, "numeric(7,4)", "123.9990"},
		{"ROUND", []string{"123.9995", "3"}, "", "124.0000"}, {"ROUND", []string{"150.75", "0", "1"}, "", "150.00"},
		{"ROUND", []string{"748.58", "-2"}, "", "700.00"},
		{"ROUND", []string{"748.58", "-3"}, "", "#8115"}, {"ROUND", []string{"1234", "-2"}, "int", "1200"},
		{"ROUND", []string{"2.5E0", "0"}, "float", "3"}, {"ROUND", []string{"-2.5E0", "0"}, "float", "-3"},
		{"POWER", []string{"2", "10"}, "int", "1024"}, {"POWER", []string{"2", "31"}, "", "#232"},
		{"POWER", []string{"2.0", "-1"}, "numeric(38,1)", "0.5"},
		{"POWER", []string{"2E0", "0.5"}, "float", "1.41421"},
		{"SQUARE", []string{"3"}, "float", "9"}, {"SQRT", []string{"16"}, "", "4"},
		{"SQRT", []string{"-1"}, "", "#3623"}, {"LOG", []string{"0"}, "", "#3623"},
		{"LOG", []string{"8", "2"}, "", "3"}, {"LOG10", []string{"1000"}, "", "3"}, {"EXP", []string{"0"}, "", "1"},
		{"PI", nil, "float", "3.14159"}, {"SIN", []string{"0"}, "", "0"},
		{"ATN2", []string{"1", "1"}, "", "0.785398"},
		{"DEGREES", []string{"3.141592653589793"}, "", "180.000000000000000000"},
		{"RADIANS", []string{"180"}, "int", "3"},
		{"RAND", []string{"5"}, "float", "0.25"},
	})
}

// TestDates follows "Date and time data types and functions (Transact-SQL)".
func TestDates(t *testing.T) {
	check(t, []functionCase{
		{"DATEADD", []string{"'month'", "1", "'20240830'"}, "datetime", "2024-09-30 00:00:00.000"},
		{"DATEADD", []string{"'mm'", "1", "date'2024-01-31'"}, "date", "2024-02-29"},
		{"DATEADD", []string{"'hour'", "1", "date'2024-01-31'"}, "", "#9810"},
		{"DATEADD", []string{"'year'", "1", "datetime2(7)'9999-01-01'"}, "", "#517"},
		{"DATEADD", []string{"'ns'", "150", "datetime2(7)'2007-01-01 13:10:10.1111111'"}, "datetime2(7)", "2007-01-01 13:10:10.1111113"},
		{"DATEADD", []string{"'hh'", "-13", "time(0)'01:00'"}, "time(0)", "12:00:00"},
		{"DATEADD", []string{"'fortnight'", "1", "'20240830'"}, "", "#155"},
		{"DATEADD", []string{"'day'", "1", "datetimeoffset(0)'2024-01-31 23:00 +02:00'"}, "datetimeoffset(0)", "2024-02-01 23:00:00 +02:00"},
		{"DATEADD", []string{"'ms'", "3", "datetime'2024-01-01'"}, "datetime", "2024-01-01 00:00:00.003"},
		{"DATEADD", []string{"'day'", "NULL", "datetime'2024-01-01'"}, "datetime", "NULL"},
		{"DATEDIFF", []string{"'year'", "datetime2(7)'2005-12-31 23:59:59.9999999'", "datetime2(7)'2006-01-01'"}, "int", "1"},
		{"DATEDIFF", []string{"'week'", "datetime2(7)'2005-12-31 23:59:59.9999999'", "datetime2(7)'2006-01-01'"}, "", "1"},
		{"DATEDIFF", []string{"'second'", "'2000-01-01'", "'2070-01-01'"}, "", "#535"},
		{"DATEDIFF_BIG", []string{"'second'", "'2000-01-01'", "'2070-01-01'"}, "bigint", "2209075200"},
		{"DATEDIFF", []string{"'day'", "'2020-03-01'", "'2020-02-28'"}, "", "-2"},
		{"DATEDIFF", []string{"'minute'", "datetimeoffset(0)'2020-01-01 12:00 +02:00'", "datetimeoffset(0)'2020-01-01 12:00 +00:00'"}, "", "120"},
		{"DATEPART", []string{"'week'", "date'2007-04-21'"}, "int", "16"},
		{"DATEPART", []string{"'weekday'", "date'2007-04-21'"}, "", "7"},
		{"DATEPART", []string{"'iso_week'", "date'2008-01-01'"}, "", "1"},
		{"DATEPART", []string{"'dayofyear'", "date'2007-10-30'"}, "", "303"},
		{"DATEPART", []string{"'tz'", "datetimeoffset(7)'2007-05-10 00:00:01.1234567 +05:10'"}, "", "310"},
		{"DATEPART", []string{"'ns'", "'00:00:01.1234567'"}, "", "123456700"},
		{"DATEPART", []string{"'ms'", "datetime'2020-01-01 00:00:00.997'"}, "", "997"},
		{"DATEPART", []string{"'hour'", "date'2007-10-30'"}, "", "#9810"},
		{"DATENAME", []string{"'month'", "date'2007-10-30'"}, "nvarchar(30)", "October"},
		{"DATENAME", []string{"'dw'", "date'2007-10-30'"}, "", "Tuesday"},
		{"DATENAME", []string{"'tz'", "datetimeoffset(0)'2007-05-10 00:00:01 -05:30'"}, "", "-05:30"},
		{"DAY", []string{"'2020-02-29'"}, "int", "29"}, {"MONTH", []string{"0"}, "", "1"},
		{"YEAR", []string{"datetime'2020-02-29'"}, "", "2020"},
		{"EOMONTH", []string{"'2012-12-02'", "1"}, "date", "2013-01-31"},
		{"EOMONTH", []string{"date'2024-02-10'"}, "", "2024-02-29"},
		{"DATEFROMPARTS", []string{"2010", "12", "31"}, "date", "2010-12-31"},
		{"DATEFROMPARTS", []string{"2010", "13", "31"}, "", "#289"},
		{"DATETIME2FROMPARTS", []string{"2011", "8", "15", "14", "23", "44", "5", "1"}, "datetime2(1)", "2011-08-15 14:23:44.5"},
		{"DATETIMEFROMPARTS", []string{"2010", "12", "31", "23", "59", "59", "0"}, "datetime", "2010-12-31 23:59:59.000"},
		{"TIMEFROMPARTS", []string{"14", "23", "44", "500", "3"}, "time(3)", "14:23:44.500"},
		{"TIMEFROMPARTS", []string{"14", "23", "44", "500", "9"}, "", "#10760"},
		{"DATETIMEOFFSETFROMPARTS", []string{"2010", "12", "31", "14", "23", "23", "0", "12", "0", "7"}, "datetimeoffset(7)", "2010-12-31 14:23:23.0000000 +12:00"},
		{"SMALLDATETIMEFROMPARTS", []string{"2010", "12", "31", "23", "59"}, "", "2010-12-31 23:59:00.000"},
		{"SWITCHOFFSET", []string{"datetimeoffset(0)'1998-09-20 7:45:50 -5:00'", "'-08:00'"}, "datetimeoffset(0)", "1998-09-20 04:45:50 -08:00"},
		{"TODATETIMEOFFSET", []string{"datetime2(0)'2020-01-01 10:00'", "120"}, "", "2020-01-01 10:00:00 +02:00"},
		{"SWITCHOFFSET", []string{"datetimeoffset(0)'1998-09-20 7:45:50 -5:00'", "'x'"}, "", "#9812"},
		{"ISDATE", []string{"'2009-05-12 10:19:41.177'"}, "int", "1"}, {"ISDATE", []string{"'nope'"}, "", "0"},
		{"ISDATE", []string{"NULL"}, "", "0"},
		{"DATETRUNC", []string{"'month'", "datetime2(7)'2021-12-08 11:30:15.1234567'"}, "datetime2(7)", "2021-12-01 00:00:00.0000000"},
		{"DATETRUNC", []string{"'iso_week'", "date'2021-11-11'"}, "date", "2021-11-08"},
		{"DATETRUNC", []string{"'week'", "date'2021-11-11'"}, "", "2021-11-07"},
		{"DATE_BUCKET", []string{"'week'", "2", "datetime2(7)'2020-06-15 21:22:11'"}, "", "2020-06-08 00:00:00.0000000"},
		{"DATE_BUCKET", []string{"'month'", "3", "date'2020-06-15'"}, "date", "2020-04-01"},
		{"GETUTCDATE", nil, "datetime", "2024-05-06 07:08:09.123"},
		{"GETDATE", nil, "datetime", "2024-05-06 09:08:09.123"},
		{"SYSUTCDATETIME", nil, "datetime2(7)", "2024-05-06 07:08:09.1234567"},
		{"SYSDATETIMEOFFSET", nil, "datetimeoffset(7)", "2024-05-06 09:08:09.1234567 +02:00"},
		{"AT TIME ZONE", []string{"datetime2(0)'2024-07-01 12:00'", "'UTC'"}, "datetimeoffset(0)", "2024-07-01 12:00:00 +00:00"},
	})
	require.True(t, NeedsDateFirst(table["DATEPART"], "dw"))
	require.False(t, NeedsDateFirst(table["DATEPART"], "day"))
	f := table["DATEPART"]
	ts := []types.Type{types.VarCharOf(2), types.DateType, types.IntType}
	v, err := f.Call(nil, nil, ts, types.IntType, []types.Value{"dw", as(t, "date", "2007-04-22").v, int64(1)})
	require.NoError(t, err)
	require.Equal(t, int64(7), v) // a Sunday; Monday is the first day
}

func TestLogic(t *testing.T) {
	check(t, []functionCase{
		{"GREATEST", []string{"'6.62'", "3.1415", "NULL"}, "", "6.6200"},
		{"LEAST", []string{"5", "2", "NULL"}, "int", "2"},
		{"ISNUMERIC", []string{"'12.5'"}, "int", "1"}, {"ISNUMERIC", []string{"'$5'"}, "", "1"},
		{"ISNUMERIC", []string{"'x'"}, "", "0"}, {"ISNUMERIC", []string{"''"}, "", "0"},
		{"ISNUMERIC", []string{"5"}, "", "1"},
	})
	_, a, err := call(t, nil, "NEWID")
	require.NoError(t, err)
	_, b, err := call(t, nil, "NEWID")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	f := table["NEWSEQUENTIALID"]
	var last types.Value
	for range 100 {
		v, err := f.Call(nil, nil, nil, types.GUIDType, nil)
		require.NoError(t, err)
		require.Equal(t, -1, types.Compare(last, v, types.GUIDType))
		last = v
	}
}

// TestFormat checks the types of FORMAT's arguments and its cultures.
func TestFormat(t *testing.T) {
	check(t, []functionCase{
		{"FORMAT", []string{"1234567.891", "'N'"}, "nvarchar(4000)", "1,234,567.89"},
		{"FORMAT", []string{"1234567.891", "'N0'", "'de-DE'"}, "", "1.234.568"},
		{"FORMAT", []string{"date'2011-10-01'", "'d'", "'en-GB'"}, "", "01/10/2011"},
		{"FORMAT", []string{"1.5", "'D'"}, "", "NULL"}, {"FORMAT", []string{"1.5", "NULL"}, "", "NULL"},
		{"FORMAT", []string{"5", "'N'", "'ko-KR'"}, "", "#40517"}, {"FORMAT", []string{"5", "'N'", "'?'"}, "", "#9818"},
		{"FORMAT", []string{"'x'", "'N'"}, "", "#8116"},
	})
}

// Splitting a long name takes no time of the square of its length.
func TestSplitLongNames(t *testing.T) {
	for _, part := range []string{"[", "[a]]", "a.", "[a].", `"`} {
		name := strings.Repeat(part, 100_000)
		require.Less(t, testing.AllocsPerRun(1, func() { SplitName(name) }), 100.0, part)
	}
	parts, ok := SplitName("[" + strings.Repeat("a]]", 1000) + "].b")
	require.True(t, ok)
	require.Equal(t, []string{strings.Repeat("a]", 1000), "b"}, parts)
	_, ok = SplitName("a.b.c.d.")
	require.False(t, ok, "five parts")
}
