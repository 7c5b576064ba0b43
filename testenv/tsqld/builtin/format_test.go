package builtin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/format"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// printCase is a value, a number or type'value', and its text in a format; "NULL" for an invalid
// format.
type printCase struct{ value, format, want string }

// check prints values in the culture en-US.
func check(t *testing.T, cases []printCase) {
	t.Helper()
	english, err := format.Named("en-US")
	require.NoError(t, err)
	for _, c := range cases {
		typ, v, err := types.NumberLiteral(c.value)
		if name, text, ok := strings.Cut(strings.TrimSuffix(c.value, "'"), "'"); ok {
			typ, err = types.ParseType(name)
			require.NoError(t, err)
			v, err = types.Convert(text, types.VarCharMax, typ, types.NoStyle)
		}
		require.NoError(t, err)
		got, ok, err := english.Print(nil, v, typ, c.format)
		require.NoError(t, err)
		if !ok {
			got = "NULL"
		}
		require.Equal(t, c.want, got, "FORMAT(%s, '%.40s')", c.value, c.format)
	}
}

// TestPrint follows "FORMAT (Transact-SQL)" and .NET's pages on standard and custom formats.
func TestPrint(t *testing.T) {
	t.Parallel()
	check(t, []printCase{
		{"123456789", "###-##-####", "123-45-6789"}, {"1234567.891", "N", "1,234,567.89"}, {"1234567.891", "N0", "1,234,568"},
		{"-5", "C", "($5.00)"}, {"1.5", "C", "$1.50"}, {"0.256", "P1", "25.6%"}, {"5", "D3", "005"}, {"255", "X", "FF"},
		{"-1", "x", "ffffffff"}, {"1234.5", "E2", "1.23E+003"}, {"1234.5E0", "G", "1234.5"}, {"1E20", "G", "1E+20"},
		{"1.5", "D", "NULL"}, {"1234.5", "0,000.00", "1,234.50"}, {"0.5", "#.##", ".5"}, {"-12", "0;(0);zero", "(12)"},
		{"0", "0;(0);zero", "zero"}, {"1234567", "0,,.0 M", "1.2 M"}, {"7", "0000", "0007"}, {"0.12", "0%", "12%"},
		{"5", "\"n=\"0", "n=5"}, {"datetime'2011-10-01 13:04:05.120'", "d", "10/1/2011"},
		{"datetime'2011-10-01 13:04:05.120'", "D", "Saturday, October 1, 2011"},
		{"datetime'2011-10-01 13:04:05.120'", "yyyy-MM-dd HH:mm:ss.fff", "2011-10-01 13:04:05.120"},
		{"datetime'2011-10-01 13:04:05'", "hh:mm tt", "01:04 PM"}, {"date'2011-10-01'", "ddd d MMM yy", "Sat 1 Oct 11"},
		{"datetimeoffset(0)'2011-10-01 13:04 +02:00'", "o", "2011-10-01T13:04:00.0000000+02:00"}, {"time(0)'07:35'", `hh\:mm`, "07:35"},
		{"time(0)'07:35'", "hh:mm", "NULL"},
	})
}

// A number is scaled by the commas and percent signs of its format in linear time.
func TestScaleOfFormat(t *testing.T) {
	t.Parallel()
	check(t, []printCase{
		{"1234567", "0,", "1235"}, {"1234567", "0,,.00", "1.23"}, {"5", "0,,,,", "0"}, {"5", "0%%", "50000%%"},
		{"-5", "0;;;(0);x", "-5"}, {"1", "0" + strings.Repeat(",", 1_000_000), "0"},
	})
}
