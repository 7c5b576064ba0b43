package builtin

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/format"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// textOf returns an argument of type nvarchar(max).
func textOf(s string) arg { return arg{types.NVarCharMax, s} }

// callWith evaluates a function with a meter.
func callWith(t *testing.T, m *meter.Meter, name string, args ...arg) (types.Value, error) {
	t.Helper()
	f, ok := Lookup(name)
	require.True(t, ok, name)
	ts, vs := make([]types.Type, len(args)), make([]types.Value, len(args))
	for i, a := range args {
		ts[i], vs[i] = a.t, a.v
	}
	r, err := f.ResultType(ts, nil)
	require.NoError(t, err, name)
	return f.Call(m, fakeEnv{}, ts, r, vs)
}

// Functions of long texts ask whether the request is canceled while they run.
func TestLongTextsAreCanceled(t *testing.T) {
	t.Parallel()
	long := func(part string) arg { return textOf(strings.Repeat(part, 200_000)) }
	number, date, one := arg{types.IntType, int64(7)}, as(t, "date", "2020-01-01"), textOf("a")
	for _, c := range []struct {
		name string
		args []arg
	}{
		{"FORMAT", []arg{number, long("#,")}}, {"FORMAT", []arg{date, long("yd")}},
		{"FORMATMESSAGE", []arg{long("%s")}}, {"FORMATMESSAGE", []arg{long("%%")}},
		{"PATINDEX", []arg{long("a"), one}}, {"PATINDEX", []arg{long("[a"), one}}, {"PATINDEX", []arg{long("_"), one}},
		{"CHECKSUM", []arg{long("é")}}, {"CHECKSUM", []arg{long("a")}}, {"BINARY_CHECKSUM", []arg{long("a")}},
		{"HASHBYTES", []arg{textOf("MD5"), long("a")}}, {"HASHBYTES", []arg{textOf("SHA2_512"), long("a")}},
		{"ISJSON", []arg{textOf("[" + strings.Repeat("1,", 200_000) + "1]")}}, {"ISJSON", []arg{textOf(`["` + strings.Repeat("a", 200_000) + `"]`)}},
		{"JSON_VALUE", []arg{textOf("[" + strings.Repeat("1,", 200_000) + "1]"), textOf("$[0]")}},
		{"JSON_QUERY", []arg{textOf("[" + strings.Repeat("1,", 200_000) + "1]"), textOf("$")}},
		{"JSON_PATH_EXISTS", []arg{textOf("[" + strings.Repeat("1,", 200_000) + "1]"), textOf("$")}},
		{"JSON_MODIFY", []arg{textOf("[" + strings.Repeat("1,", 200_000) + "1]"), textOf("$[0]"), one}},
		{"TRANSLATE", []arg{long("é"), one, one}}, {"TRANSLATE", []arg{one, long("é"), long("e")}},
		{"TRIM", []arg{long("é"), textOf("é")}}, {"RTRIM", []arg{long(" ")}}, {"LTRIM", []arg{one, long("éa")}},
	} {
		m := meter.NewPool(0).Session()
		ctx, cancel := context.WithCancel(t.Context())
		m.Begin(ctx)
		_, err := callWith(t, m, c.name, c.args...)
		require.NoError(t, err, c.name)
		cancel()
		_, err = callWith(t, m, c.name, c.args...)
		require.ErrorIs(t, err, context.Canceled, "%s(%.20v)", c.name, c.args[0].v)
		m.Close()
	}
}

// A text many times as large as its argument is on the account of its session.
func TestLongTextsAreAccounted(t *testing.T) {
	t.Parallel()
	long := func(part string) arg { return textOf(strings.Repeat(part, 500_000)) }
	for name, args := range map[string][]arg{
		"FORMAT": {{types.IntType, int64(7)}, long("#,")}, "PATINDEX": {long("_"), textOf("a")}, "TRANSLATE": {long("a"), textOf("a"), textOf("b")},
	} {
		m := meter.NewPool(2 << 20).Session()
		m.Begin(t.Context())
		_, err := callWith(t, m, name, args...)
		require.EqualValues(t, 701, errNumber(err), name)
		m.Close()
	}
}

// A message of wide directives is no longer than a message may be, whatever would follow.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	m := meter.NewPool(0).Session()
	m.Begin(t.Context())
	defer m.Close()
	for _, pattern := range []string{strings.Repeat("%2000d", 100_000), strings.Repeat("é", 100_000), strings.Repeat("é%s", 100_000)} {
		s, err := format.Message(m, pattern, nil, nil)
		require.NoError(t, err)
		require.Equal(t, 2047, types.Units(s))
		require.True(t, strings.HasSuffix(s, "..."))
	}
	_, err := format.Message(m, strings.Repeat("%2000d", 100)+"%y", nil, nil)
	require.EqualValues(t, 2787, errNumber(err), "the rest is checked")
}

// The checksum of a text is that of its key, in pieces.
func TestChecksumOfKeys(t *testing.T) {
	t.Parallel()
	sum := func(name, s string) types.Value {
		v, err := callWith(t, nil, name, textOf(s))
		require.NoError(t, err)
		return v
	}
	for _, part := range []string{"a", "é", "aé", "ß", "a\u0301", "I"} {
		long := strings.Repeat(part, 10_000)
		require.Equal(t, sum("CHECKSUM", long), sum("CHECKSUM", strings.ToUpper(long)+"  "), part)
		require.NotEqual(t, sum("CHECKSUM", long), sum("CHECKSUM", long+"b"), part)
		require.NotEqual(t, sum("BINARY_CHECKSUM", long), sum("BINARY_CHECKSUM", long+" "), part)
	}
}
