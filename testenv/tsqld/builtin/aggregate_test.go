package builtin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TestAggregates follows "Aggregate functions (Transact-SQL)".
func TestAggregates(t *testing.T) {
	for _, c := range []struct {
		name, typ string
		in        []string
		result    string
		want      string
	}{
		{"SUM", "tinyint", []string{"200", "100", "NULL"}, "int", "300"},
		{"SUM", "int", []string{"2147483647", "1"}, "int", "#8115"}, {"SUM", "int", nil, "int", "NULL"},
		{"SUM", "bigint", []string{"9223372036854775807", "1", "-1"}, "bigint", "9223372036854775807"},
		{"SUM", "decimal(5,2)", []string{"1.25", "2.50"}, "decimal(38,2)", "3.75"},
		{"SUM", "decimal(30,2)", []string{"1.25", "-2.50"}, "decimal(38,2)", "-1.25"},
		{"SUM", "money", []string{"1.25", "2.50"}, "money", "3.75"},
		{"SUM", "real", []string{"1.5", "2"}, "float", "3.5"}, {"SUM", "varchar(5)", nil, "", "#8117"},
		{"SUM", "bit", nil, "", "#8117"}, {"AVG", "int", []string{"1", "2"}, "int", "1"},
		{"AVG", "int", []string{"-1", "-2"}, "int", "-1"},
		{"AVG", "decimal(5,2)", []string{"1.00", "2.00", "2.00"}, "decimal(38,6)", "1.666666"},
		{"AVG", "float", []string{"1", "2"}, "float", "1.5"},
		{"MIN", "varchar(5)", []string{"b", "A", "NULL"}, "varchar(5)", "A"},
		{"MAX", "datetime2(0)", []string{"2020-01-01", "2021-01-01"}, "datetime2(0)", "2021-01-01 00:00:00"},
		{"MAX", "bit", nil, "", "#8117"}, {"MAX", "xml", nil, "", "#8117"},
		{"STDEV", "int", []string{"2", "4", "4", "4", "5", "5", "7", "9"}, "float", "2.13809"},
		{"STDEVP", "int", []string{"2", "4", "4", "4", "5", "5", "7", "9"}, "float", "2"},
		{"VAR", "int", []string{"5"}, "float", "NULL"}, {"VARP", "int", []string{"5"}, "float", "0"},
		{"CHECKSUM_AGG", "int", []string{"5", "3"}, "int", "6"},
		{"APPROX_COUNT_DISTINCT", "varchar(5)", []string{"a", "A", "b", "NULL"}, "bigint", "2"},
	} {
		f, ok := Lookup(c.name)
		require.True(t, ok)
		own, err := types.ParseType(c.typ)
		require.NoError(t, err)
		label := c.name + " " + c.typ
		r, err := f.ResultType([]types.Type{own}, nil)
		if err == nil {
			require.Equal(t, c.result, r.String(), label)
			acc := f.New([]types.Type{own}, r)
			for _, s := range c.in {
				a := as(t, c.typ, s)
				require.NoError(t, acc.Add([]types.Value{a.v}), label)
			}
			var v types.Value
			if v, err = acc.Result(); err == nil {
				got := types.Value("NULL")
				if v != nil {
					got, err = types.Convert(v, r, types.NVarCharMax, types.NoStyle)
					require.NoError(t, err)
				}
				require.Equal(t, c.want, got, label)
				continue
			}
		}
		require.Equal(t, c.want, "#"+types.FormatNumber(int64(errNumber(err)), types.IntType, types.NoStyle), "%s: %v", label, err)
	}
}

func TestStringAgg(t *testing.T) {
	f, _ := Lookup("STRING_AGG")
	ts := []types.Type{types.NVarCharOf(10), types.VarCharOf(1)}
	r, err := f.ResultType(ts, nil)
	require.NoError(t, err)
	require.Equal(t, "nvarchar(4000)", r.String())
	acc := f.New(ts, r)
	for _, s := range []types.Value{"a", nil, "b"} {
		require.NoError(t, acc.Add([]types.Value{s, ","}))
	}
	v, err := acc.Result()
	require.NoError(t, err)
	require.Equal(t, "a,b", v)
	long := make([]byte, 3999)
	for i := range long {
		long[i] = 'x'
	}
	require.EqualValues(t, 9829, errNumber(acc.Add([]types.Value{string(long), ","})))
}

func TestWindows(t *testing.T) {
	f, _ := Lookup("LAG")
	require.True(t, NeedsOrder(f))
	r, err := f.ResultType([]types.Type{types.VarCharOf(5), types.IntType, types.VarCharOf(1)}, nil)
	require.NoError(t, err)
	require.Equal(t, "varchar(5)", r.String())
	_, err = f.ResultType(nil, nil)
	require.EqualValues(t, 189, errNumber(err))
}
