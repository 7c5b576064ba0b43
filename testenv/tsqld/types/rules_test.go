package types

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// number returns the error number of err, 0 without an error.
func number(err error) int32 {
	var e *mserr.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// TestNamed covers lengths, defaults and limits ("char and varchar", "decimal and numeric", "float
// and real", "datetime2").
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		args []int
		want string
		num  int32
	}{
		{"VARCHAR", nil, "varchar(1)", 0}, {"varchar", []int{Max}, "varchar(max)", 0}, {"varchar", []int{8001}, "", 131},
		{"nvarchar", []int{4001}, "", 131}, {"char", []int{0}, "", 1001}, {"char", []int{Max}, "", 102},
		{"decimal", nil, "decimal(18,0)", 0}, {"numeric", []int{10, 3}, "numeric(10,3)", 0}, {"dec", []int{39}, "", 2750},
		{"decimal", []int{5, 6}, "", 2751}, {"float", []int{24}, "real", 0}, {"float", []int{25}, "float", 0},
		{"float", []int{54}, "", 2750},
		{"datetime2", nil, "datetime2(7)", 0}, {"datetime2", []int{8}, "", 1002}, {"int", []int{4}, "", 2716},
		{"nonsense", nil, "", 243},
		{"sysname", nil, "nvarchar(128)", 0}, {"rowversion", nil, "timestamp", 0},
		{"character  varying", []int{5}, "varchar(5)", 0},
		{"double precision", nil, "float", 0}, {"integer", nil, "int", 0},
	} {
		got, err := Named(c.name, c.args...)
		require.Equal(t, c.num, number(err), c.name)
		if c.num == 0 {
			require.Equal(t, c.want, got.String())
			back, err := ParseType(got.Key())
			require.NoError(t, err)
			require.Equal(t, got, back)
		}
	}
	cast, err := NamedForCast("nvarchar")
	require.NoError(t, err)
	require.Equal(t, 30, cast.Length)
}

// TestSysTypes compares with sys.types and sys.columns of SQL Server.
func TestSysTypes(t *testing.T) {
	for s, want := range map[string][4]int{ // system_type_id, max_length, precision, scale
		"int": {56, 4, 10, 0}, "nvarchar(10)": {231, 20, 0, 0}, "varchar(max)": {167, -1, 0, 0},
		"decimal(18,4)": {106, 9, 18, 4},
		"numeric(38,0)": {108, 17, 38, 0}, "datetime2(7)": {42, 8, 27, 7}, "datetime2(0)": {42, 6, 19, 0},
		"time(3)":           {41, 4, 12, 3},
		"datetimeoffset(7)": {43, 10, 34, 7}, "datetime": {61, 8, 23, 3}, "bit": {104, 1, 1, 0}, "float": {62, 8, 53, 0},
		"money": {60, 8, 19, 4}, "uniqueidentifier": {36, 16, 0, 0}, "date": {40, 3, 10, 0}, "timestamp": {189, 8, 0, 0},
	} {
		typ := mustType(t, s)
		require.Equal(t, want, [4]int{int(typ.SystemTypeID()), int(typ.MaxLength()), int(typ.SysPrecision()), int(typ.SysScale())}, s)
	}
	require.Len(t, ByID(), 30)
}

// TestArithType follows "Precision, scale, and length (Transact-SQL)" and "Data type precedence".
func TestArithType(t *testing.T) {
	for _, c := range []struct {
		a    string
		op   Op
		b    string
		want string
		num  int32
	}{
		{"int", Add, "int", "int", 0}, {"tinyint", Add, "smallint", "smallint", 0}, {"int", Div, "bigint", "bigint", 0},
		{"int", Add, "varchar(5)", "int", 0}, {"float", Mul, "int", "float", 0}, {"real", Add, "decimal(5,2)", "real", 0},
		{"decimal(10,2)", Add, "decimal(10,4)", "decimal(13,4)", 0},
		{"decimal(10,2)", Mul, "decimal(10,4)", "decimal(21,6)", 0},
		{"decimal(10,2)", Div, "decimal(10,4)", "decimal(25,13)", 0},
		{"decimal(38,10)", Mul, "decimal(38,10)", "decimal(38,6)", 0},
		{"decimal(38,0)", Div, "decimal(38,0)", "decimal(38,6)", 0},
		{"decimal(10,2)", Mod, "decimal(10,4)", "decimal(10,4)", 0},
		{"int", Div, "decimal(5,2)", "decimal(18,6)", 0}, {"decimal(5,2)", Div, "int", "decimal(16,13)", 0},
		{"money", Add, "int", "money", 0}, {"smallmoney", Mul, "money", "money", 0}, {"datetime", Add, "int", "datetime", 0},
		{"datetime", Sub, "datetime", "datetime", 0}, {"smalldatetime", Add, "int", "datetime", 0},
		{"datetime", Mul, "int", "", 8117},
		{"date", Add, "int", "", 206}, {"datetime2(7)", Sub, "datetime2(7)", "", 8117},
		{"datetime2(7)", Add, "varchar(10)", "", 402},
		{"varchar(10)", Add, "varchar(20)", "varchar(30)", 0}, {"varchar(8000)", Add, "varchar(20)", "varchar(8000)", 0},
		{"varchar(10)", Add, "nvarchar(20)", "nvarchar(30)", 0}, {"nvarchar(max)", Add, "varchar(20)", "nvarchar(max)", 0},
		{"char(5)", Add, "char(5)", "char(10)", 0}, {"char(5)", Add, "varchar(5)", "varchar(10)", 0},
		{"varchar(5)", Sub, "varchar(5)", "", 8117},
		{"binary(2)", Add, "varbinary(3)", "varbinary(5)", 0}, {"varchar(5)", Add, "varbinary(5)", "", 402},
		{"bit", Add, "bit", "", 402}, {"bit", Mul, "bit", "", 8117},
		{"bit", Add, "int", "int", 0}, {"uniqueidentifier", Add, "int", "", 206}, {"float", Mod, "int", "", 402},
		{"int", BitAnd, "bigint", "bigint", 0},
		{"int", BitAnd, "float", "", 402}, {"varbinary(4)", BitAnd, "int", "int", 0}, {"xml", Add, "xml", "", 8117},
	} {
		got, err := ArithType(c.op, mustType(t, c.a), mustType(t, c.b))
		name := c.a + " " + c.op.String() + " " + c.b
		require.Equal(t, c.num, number(err), "%s: %v", name, err)
		if c.num == 0 {
			require.Equal(t, c.want, strings.Replace(got.String(), "numeric", "decimal", 1), name)
		}
	}
}

func TestArith(t *testing.T) {
	for _, c := range []struct {
		ta, a string
		op    Op
		tb, b string
		want  string
		num   int32
	}{
		{"int", "7", Div, "int", "2", "3", 0}, {"int", "-7", Div, "int", "2", "-3", 0},
		{"int", "-7", Mod, "int", "3", "-1", 0},
		{"int", "1", Div, "int", "0", "", 8134}, {"int", "2147483647", Add, "int", "1", "", 8115},
		{"tinyint", "200", Add, "tinyint", "100", "", 8115},
		{"bigint", "9223372036854775807", Add, "bigint", "1", "", 8115},
		{"bigint", "-9223372036854775808", Sub, "int", "1", "", 8115},
		{"decimal(2,1)", "2.0", Div, "int", "3", "0.666666666666", 0},
		{"decimal(5,2)", "1.25", Mul, "decimal(5,2)", "2.50", "3.1250", 0},
		{"decimal(5,2)", "1.25", Add, "int", "2", "3.25", 0},
		{"decimal(38,2)", "99999999999999999999.25", Add, "decimal(5,2)", "0.75", "100000000000000000000.00", 0},
		{"decimal(5,2)", "10.50", Mod, "decimal(5,2)", "3.00", "1.50", 0},
		{"decimal(5,2)", "1", Div, "decimal(5,2)", "0", "", 8134},
		{"decimal(38,0)", "99999999999999999999999999999999999999", Add, "decimal(38,0)", "1", "", 8115},
		{"money", "2", Div, "money", "3", "0.6666", 0}, {"money", "1.5", Mul, "money", "1.5", "2.2500", 0},
		{"float", "1", Div, "float", "4", "0.25", 0},
		{"float", "1", Div, "float", "0", "", 8134}, {"varchar(5)", "5", Add, "int", "1", "6", 0},
		{"varchar(5)", "x", Add, "int", "1", "", 245},
		{"varchar(5)", "ab", Add, "nvarchar(5)", "cd", "abcd", 0}, {"char(3)", "a", Add, "varchar(5)", "b", "a  b", 0},
		{"datetime", "2020-01-31", Add, "int", "1", "2020-02-01 00:00:00.000", 0},
		{"datetime", "2020-01-31", Sub, "decimal(3,1)", "0.5", "2020-01-30 12:00:00.000", 0},
		{"datetime", "2020-01-02", Sub, "datetime", "2020-01-01", "1900-01-02 00:00:00.000", 0},
		{"datetime", "9999-12-31", Add, "int", "1", "", 8115},
		{"int", "12", BitAnd, "int", "10", "8", 0}, {"int", "12", BitXor, "int", "10", "6", 0},
		{"int", "12", BitOr, "int", "3", "15", 0},
	} {
		name := c.a + " " + c.op.String() + " " + c.b
		ta, tb := mustType(t, c.ta), mustType(t, c.tb)
		a, err := Convert(c.a, VarCharMax, ta, NoStyle)
		require.NoError(t, err, name)
		b, err := Convert(c.b, VarCharMax, tb, NoStyle)
		require.NoError(t, err, name)
		r, err := ArithType(c.op, ta, tb)
		require.NoError(t, err, name)
		got, err := Arith(c.op, a, ta, b, tb, r)
		require.Equal(t, c.num, number(err), "%s: %v", name, err)
		if c.num == 0 {
			require.Equal(t, c.want, show(t, got, r), name)
		}
	}
}

// TestDecimalArith compares decimal arithmetic with big.Rat.
func TestDecimalArith(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gen := func(label string) (Type, Value, *big.Rat) {
			p := rapid.IntRange(1, 38).Draw(rt, label+"p")
			s := rapid.IntRange(0, p).Draw(rt, label+"s")
			digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(rt, label)
			digits = digits[:min(len(digits), p)]
			u, _ := new(big.Int).SetString(digits, 10)
			if rapid.Bool().Draw(rt, label+"neg") {
				u.Neg(u)
			}
			typ := DecimalOf(uint8(p), uint8(s))
			v, ok := DecimalValue(u, typ)
			if !ok {
				rt.Fatalf("%v does not fit %v", u, typ)
			}
			return typ, v, new(big.Rat).SetFrac(u, bigPow10[s])
		}
		ta, a, ra := gen("a")
		tb, b, rb := gen("b")
		op := rapid.SampledFrom([]Op{Add, Sub, Mul, Div}).Draw(rt, "op")
		r, err := ArithType(op, ta, tb)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Arith(op, a, ta, b, tb, r)
		want := new(big.Rat)
		switch op {
		case Add:
			want.Add(ra, rb)
		case Sub:
			want.Sub(ra, rb)
		case Mul:
			want.Mul(ra, rb)
		case Div:
			if rb.Sign() == 0 {
				if number(err) != 8134 {
					rt.Fatalf("division by zero: %v", err)
				}
				return
			}
			want.Quo(ra, rb)
		}
		scaled := new(big.Rat).Mul(want, new(big.Rat).SetInt(bigPow10[r.Scale]))
		if err != nil {
			if number(err) != 8115 {
				rt.Fatal(err)
			}
			if new(big.Int).Quo(scaled.Num(), scaled.Denom()).CmpAbs(new(big.Int).Sub(bigPow10[r.Precision], bigPow10[0])) < 0 {
				rt.Fatalf("%v %v %v = %v overflowed %v", ra, op, rb, want, r)
			}
			return
		}
		diff := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(DecimalUnscaled(got, r)))
		limit := big.NewRat(1, 2)
		if op == Div {
			limit = big.NewRat(1, 1) // quotients are truncated
		}
		if diff.Abs(diff).Cmp(limit) > 0 || op == Div && diff.Cmp(limit) == 0 {
			rt.Fatalf("%v %v %v = %v, got %v", ra, op, rb, want, FormatDecimal(got, r))
		}
	})
}

func TestNegate(t *testing.T) {
	_, err := Negate(int64(math.MinInt32), IntType, IntType)
	require.EqualValues(t, 8115, number(err))
	v, err := Negate("0.0000000000000000000", DecimalOf(38, 19), DecimalOf(38, 19))
	require.NoError(t, err)
	require.Equal(t, "0.0000000000000000000", v)
	require.Equal(t, int64(254), BitNot(int64(1), TinyIntType))
	require.Equal(t, int64(0), BitNot(int64(1), BitType))
}

// TestCommon covers CASE, COALESCE and UNION.
func TestCommon(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
		num  int32
	}{
		{[]string{"NULL", "NULL"}, "int", 0}, {[]string{"NULL", "varchar(3)"}, "varchar(3)", 0},
		{[]string{"varchar(3)", "nvarchar(2)"}, "nvarchar(3)", 0},
		{[]string{"varchar(3)", "varchar(10)"}, "varchar(10)", 0}, {[]string{"varchar(3)", "int"}, "int", 0},
		{[]string{"decimal(5,2)", "decimal(10,0)"}, "decimal(12,2)", 0},
		{[]string{"int", "decimal(5,2)"}, "decimal(12,2)", 0},
		{[]string{"datetime", "datetime2(3)"}, "datetime2(3)", 0}, {[]string{"date", "varchar(10)"}, "date", 0},
		{[]string{"date", "int"}, "", 206},
		{[]string{"uniqueidentifier", "varchar(36)"}, "uniqueidentifier", 0}, {[]string{"uniqueidentifier", "int"}, "", 206},
		{[]string{"varchar(8000)", "nvarchar(max)"}, "nvarchar(max)", 0}, {[]string{"char(3)", "char(5)"}, "char(5)", 0},
		{[]string{"sql_variant", "int"}, "sql_variant", 0}, {[]string{"bit", "int"}, "int", 0},
		{[]string{"varbinary(5)", "int"}, "int", 0},
	} {
		var ts []Type
		for _, s := range c.in {
			ts = append(ts, mustType(t, s))
		}
		got, err := Common(ts...)
		require.Equal(t, c.num, number(err), "%v: %v", c.in, err)
		if c.num == 0 {
			require.Equal(t, c.want, got.String(), "%v", c.in)
		}
	}
	_, err := CompareType(Type{ID: Text}, VarCharOf(5), "equal to")
	require.EqualValues(t, 402, number(err))
	_, err = CompareType(Type{ID: Image}, VarBinaryOf(5), "equal to")
	require.EqualValues(t, 306, number(err))
}

// TestLiterals follows "Constants (Transact-SQL)".
func TestLiterals(t *testing.T) {
	for text, want := range map[string]string{
		"1": "int", "2147483647": "int", "2147483648": "numeric(10,0)", "1.5": "numeric(2,1)", "0.05": "numeric(2,2)",
		"1.": "numeric(1,0)",
		".5": "numeric(1,1)", "1e3": "float", "2E": "float", "$12.5": "money", "-5": "int", "00012": "int",
		"12345678901234567890.5": "numeric(21,1)",
	} {
		typ, v, err := NumberLiteral(text)
		require.NoError(t, err, text)
		require.Equal(t, want, typ.String(), text)
		require.NotNil(t, v)
	}
	_, _, err := NumberLiteral(strings.Repeat("9", 39))
	require.EqualValues(t, 1007, number(err))
	typ, v := StringLiteral("aΩ", false)
	require.Equal(t, "varchar(2)", typ.String())
	require.Equal(t, "a?", v)
	typ, _ = StringLiteral("", true)
	require.Equal(t, "nvarchar(1)", typ.String())
	typ, _ = StringLiteral(strings.Repeat("x", 4001), true)
	require.Equal(t, "nvarchar(max)", typ.String())
}

// FuzzNumberLiteral must not panic.
func FuzzNumberLiteral(f *testing.F) {
	for _, s := range []string{"1", "1.5e", "$", "--1", "1e+", ".", "0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, v, err := NumberLiteral(s)
		if err == nil {
			requireForm(t, v, typ)
		}
	})
}
