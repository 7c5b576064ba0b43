package tsqld

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// wireValue is a value in T-SQL, and its form in the strict reader.
type wireValue struct {
	literal string
	want    any
}

// Restrictions of a type.
const (
	noVariant = 1 << iota // a sql_variant cannot hold it
	noReturn              // a variable cannot have it
	noBulk                // the encoder of bulk loads does not write it
)

// wireTypes has every type with its smallest, its largest and where there is one its empty value.
var wireTypes = []struct {
	name   string
	not    int
	values []wireValue
}{
	{"bit", 0, []wireValue{{"0", int64(0)}, {"1", int64(1)}}},
	{"tinyint", 0, []wireValue{{"0", int64(0)}, {"255", int64(255)}}},
	{"smallint", 0, []wireValue{{"-32768", int64(-32768)}, {"32767", int64(32767)}}},
	{"int", 0, []wireValue{{"-2147483648", int64(-1 << 31)}, {"2147483647", int64(1<<31 - 1)}}},
	{"bigint", 0, []wireValue{{"-9223372036854775808", int64(-1 << 63)}, {"9223372036854775807", int64(1<<63 - 1)}}},
	{"decimal(1,0)", 0, []wireValue{{"-9", "-9"}, {"9", "9"}}},
	{"decimal(9,9)", 0, []wireValue{{"-0.999999999", "-0.999999999"}, {"0", "0.000000000"}}},
	{"decimal(10,2)", 0, []wireValue{{"-99999999.99", "-99999999.99"}, {"0.01", "0.01"}}},
	{"numeric(19,0)", 0, []wireValue{{"-9999999999999999999", "-9999999999999999999"}, {"0", "0"}}},
	{"decimal(20,5)", 0, []wireValue{{"-999999999999999.99999", "-999999999999999.99999"}, {"1", "1.00000"}}},
	{"decimal(28,28)", 0, []wireValue{{"0.9999999999999999999999999999", "0.9999999999999999999999999999"}}},
	{"decimal(38,0)", 0, []wireValue{{strings.Repeat("9", 38), strings.Repeat("9", 38)}, {"-" + strings.Repeat("9", 38), "-" + strings.Repeat("9", 38)}}},
	{"money", 0, []wireValue{{"-922337203685477.5808", "-922337203685477.5808"}, {"922337203685477.5807", "922337203685477.5807"}}},
	{"smallmoney", 0, []wireValue{{"-214748.3648", "-214748.3648"}, {"214748.3647", "214748.3647"}}},
	{"real", 0, []wireValue{{"-3.4e38", float64(float32(-3.4e38))}, {"0", 0.0}}},
	{"float", 0, []wireValue{{"-1.79e308", -1.79e308}, {"2.23e-308", 2.23e-308}}},
	{"date", 0, []wireValue{{"'0001-01-01'", "0001-01-01"}, {"'9999-12-31'", "9999-12-31"}}},
	{"time(0)", 0, []wireValue{{"'00:00:00'", "00:00:00"}, {"'23:59:59'", "23:59:59"}}},
	{"time(3)", 0, []wireValue{{"'23:59:59.999'", "23:59:59.999"}}},
	{"time(7)", 0, []wireValue{{"'00:00:00'", "00:00:00.0000000"}, {"'23:59:59.9999999'", "23:59:59.9999999"}}},
	{"datetime", 0, []wireValue{{"'1753-01-01'", "1753-01-01 00:00:00.000"}, {"'9999-12-31 23:59:59.997'", "9999-12-31 23:59:59.997"}}},
	{"smalldatetime", 0, []wireValue{{"'1900-01-01'", "1900-01-01 00:00"}, {"'2079-06-06 23:59'", "2079-06-06 23:59"}}},
	{"datetime2(0)", 0, []wireValue{{"'0001-01-01'", "0001-01-01 00:00:00"}, {"'9999-12-31 23:59:59'", "9999-12-31 23:59:59"}}},
	{"datetime2(4)", 0, []wireValue{{"'9999-12-31 23:59:59.9999'", "9999-12-31 23:59:59.9999"}}},
	{"datetime2(7)", 0, []wireValue{{"'0001-01-01'", "0001-01-01 00:00:00.0000000"}, {"'9999-12-31 23:59:59.9999999'", "9999-12-31 23:59:59.9999999"}}},
	{"datetimeoffset(0)", 0, []wireValue{{"'0001-01-01 14:00 +14:00'", "0001-01-01 14:00:00 +14:00"}}},
	{"datetimeoffset(7)", 0, []wireValue{{"'9999-12-31 09:59:59.9999999 -14:00'", "9999-12-31 09:59:59.9999999 -14:00"}}},
	{"char(1)", 0, []wireValue{{"''", " "}, {"'€'", "€"}}},
	{"char(8000)", 0, []wireValue{{"''", strings.Repeat(" ", 8000)}, {"REPLICATE('x', 8000)", strings.Repeat("x", 8000)}}},
	{"varchar(1)", 0, []wireValue{{"''", ""}, {"'é'", "é"}}},
	{"varchar(8000)", 0, []wireValue{{"''", ""}, {"REPLICATE('x', 8000)", strings.Repeat("x", 8000)}}},
	{"varchar(max)", noVariant, []wireValue{{"''", ""}, {"REPLICATE(CAST('y' AS varchar(max)), 70000)", strings.Repeat("y", 70000)}}},
	{"nchar(4)", 0, []wireValue{{"N''", "    "}, {"N'日😀b'", "日😀b"}}},
	{"nvarchar(4000)", 0, []wireValue{{"N''", ""}, {"REPLICATE(N'日', 4000)", strings.Repeat("日", 4000)}}},
	{"nvarchar(max)", noVariant, []wireValue{{"N''", ""}, {"REPLICATE(CAST(N'日' AS nvarchar(max)), 70000)", strings.Repeat("日", 70000)}}},
	{"text", noVariant | noReturn | noBulk, []wireValue{{"''", ""}, {"'täxt'", "täxt"}}},
	{"ntext", noVariant | noReturn | noBulk, []wireValue{{"N''", ""}, {"N'日'", "日"}}},
	{"image", noVariant | noReturn | noBulk, []wireValue{{"0x", []byte{}}, {"0x00FF", []byte{0, 255}}}},
	{"binary(3)", 0, []wireValue{{"0x", []byte{0, 0, 0}}, {"0xFFFFFF", []byte{255, 255, 255}}}},
	{"varbinary(8000)", 0, []wireValue{{"0x", []byte{}}, {"0x0102", []byte{1, 2}}}},
	{"varbinary(max)", noVariant, []wireValue{{"0x", []byte{}}, {"CAST(REPLICATE(CAST('z' AS varchar(max)), 9000) AS varbinary(max))", []byte(strings.Repeat("z", 9000))}}},
	{"uniqueidentifier", 0, []wireValue{{"'00000000-0000-0000-0000-000000000000'", "00000000-0000-0000-0000-000000000000"},
		{"'00112233-4455-6677-8899-AABBCCDDEEFF'", "00112233-4455-6677-8899-aabbccddeeff"}}},
	{"xml", noVariant, []wireValue{{"N''", ""}, {"N'<a>日</a>'", "<a>日</a>"}}},
	{"sql_variant", noVariant, []wireValue{{"CAST(1.5 AS decimal(38, 1))", "1.5"}, {"N'日'", "日"}, {"CAST(0x01 AS varbinary(5))", []byte{1}}}},
}

// wireClient is a client with a strict reader.
type wireClient struct {
	*rawClient
	results []*strict.Result
	returns []any
}

// newWireClient starts a server and logs in.
func newWireClient(t *testing.T) *wireClient {
	c := &wireClient{}
	s, err := New(Config{SAPassword: "secret", Record: strict.WatchResults(t, func(r *strict.Reader) {
		r.OnResult = func(res *strict.Result) { c.results = append(c.results, res) }
		r.OnReturn = func(_ strict.Column, v any) { c.returns = append(c.returns, v) }
	})})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	c.rawClient = connectRaw(t, &fixture{Server: s}, tds.Version74)
	c.request(tds.PacketLogin7, tdsclient.AppendLogin(nil, &tds.Login{Asked: tds.Version74, User: "sa", Password: "secret"}))
	return c
}

// request sends a request and waits for its answer, which must hold no error.
func (c *wireClient) request(kind tds.PacketType, payload []byte) {
	c.t.Helper()
	c.results, c.returns = nil, nil
	c.send(kind, payload)
	_, b, err := tds.ReadMessage(c.conn, 1<<24)
	require.NoError(c.t, err)
	last := b[len(b)-13:]
	require.Zero(c.t, last[1]&byte(tds.DoneError), "the request failed: %q", b)
}

// run runs a batch.
func (c *wireClient) run(format string, args ...any) {
	c.t.Helper()
	c.request(tds.PacketBatch, tdsclient.AppendBatch(nil, &tds.Batch{Text: fmt.Sprintf(format, args...)}, c.version))
}

// call calls sp_executesql.
func (c *wireClient) call(text, declared string, p tds.Param) {
	c.t.Helper()
	p.Name = "@p"
	b, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "sp_executesql", Params: []tds.Param{
		{Type: types.NVarCharMax, Value: text}, {Type: types.NVarCharMax, Value: "@p " + declared}, p}}}, c.version)
	require.NoError(c.t, err)
	c.request(tds.PacketRPC, b)
}

// only returns the single value of the single result set.
func (c *wireClient) only(nullable bool) any {
	c.t.Helper()
	require.Len(c.t, c.results, 1)
	require.Len(c.t, c.results[0].Rows, 1)
	require.Equal(c.t, nullable, c.results[0].Columns[0].Nullable)
	return c.results[0].Rows[0][0]
}

// TestEveryTypeOnTheWire sends values of every type in every way, and reads them with the strict
// reader.
func TestEveryTypeOnTheWire(t *testing.T) {
	t.Parallel()
	c := newWireClient(t)
	for i, w := range wireTypes {
		c.run("CREATE TABLE n%[1]d (v %[2]s NULL); CREATE TABLE m%[1]d (v %[2]s NOT NULL)", i, w.name)
		c.run("CREATE TYPE t%d AS TABLE (v %s NULL)", i, w.name)
		typ, err := types.ParseType(w.name)
		require.NoError(t, err)
		for _, v := range append([]wireValue{{"NULL", nil}}, w.values...) {
			what := w.name + " " + v.literal[:min(len(v.literal), 30)]
			equal := func(way string, got any) { require.EqualValues(t, v.want, got, "%s as %s", what, way) }
			c.run("INSERT n%d VALUES (CAST(%s AS %s))", i, v.literal, w.name)
			c.run("SELECT v FROM n%d", i)
			equal("column", c.only(true))
			if v.want != nil {
				c.run("INSERT m%d VALUES (CAST(%s AS %s))", i, v.literal, w.name)
				c.run("SELECT v FROM m%d; DELETE m%[1]d", i)
				equal("column that is not nullable", c.only(false))
			}
			if w.not&noVariant == 0 {
				c.run("SELECT CAST(CAST(%s AS %s) AS sql_variant)", v.literal, w.name)
				equal("sql_variant", c.only(true))
			}
			var held types.Value
			if v.want != nil {
				held = c.held(t, v, typ)
			}
			c.call("SELECT @p", w.name, tds.Param{Type: typ, Value: held})
			equal("parameter", c.only(true))
			if w.not&noReturn == 0 {
				c.call("SET @p = @p", w.name+" OUTPUT", tds.Param{Type: typ, Value: held, Output: true})
				require.Len(t, c.returns, 1)
				equal("return value", c.returns[0])
			}
			column := []types.Column{{Name: "v", Type: typ, Nullable: true}}
			rows := [][]types.Value{{held}}
			c.call("SELECT v FROM @p", fmt.Sprintf("t%d READONLY", i), tds.Param{TypeName: fmt.Sprintf("t%d", i), Columns: column, Rows: rows})
			equal("column of a table-valued parameter", c.only(true))
			c.run("DELETE n%d", i)
			if w.not&noBulk == 0 {
				c.run("INSERT BULK n%d (v %s)", i, w.name)
				b, err := tdsclient.AppendBulk(nil, column, rows, c.version)
				require.NoError(t, err)
				c.request(tds.PacketBulkLoad, b)
				c.run("SELECT v FROM n%d; DELETE n%[1]d", i)
				equal("bulk load", c.only(true))
			}
		}
	}
}

// held returns the server's value of a literal.
func (c *wireClient) held(t *testing.T, v wireValue, typ types.Type) types.Value {
	t.Helper()
	switch want := v.want.(type) {
	case int64:
		return want
	case float64:
		return want
	case []byte:
		if typ.ID == types.Variant {
			break
		}
		return want
	}
	if typ.ID == types.Variant {
		inner := types.NVarCharOf(5)
		switch v.want.(type) {
		case []byte:
			inner = types.Type{ID: types.VarBinary, Length: 5}
		case string:
			if v.want == "1.5" {
				inner = types.Type{ID: types.Decimal, Precision: 38, Scale: 1}
			}
		}
		packed, err := types.VariantPack(v.want, inner)
		require.NoError(t, err)
		return packed
	}
	text, _ := v.want.(string)
	val, err := types.Convert(text, types.NVarCharMax, typ, 0)
	require.NoError(t, err)
	return val
}

// TestTransactionChangesOnTheWire: where the ENVCHANGE of a transaction is among the tokens. The
// rollback that an error causes is announced behind the error and before the DONE, so that a client
// that reads up to the DONE with the error knows of it. MS-TDS 2.2.7.9 prescribes no order; SQL
// Server's is known from issue 245 of tiberius ("deadlock victim receives error token, followed by
// ENVCHANGE(TransactionRollback)").
func TestTransactionChangesOnTheWire(t *testing.T) {
	t.Parallel()
	const (
		errorToken, infoToken, env = 0xAA, 0xAB, 0xE3
		done, doneProc, doneInProc = 0xFD, 0xFE, 0xFF
	)
	c := newWireClient(t)
	c.run("CREATE TABLE tempdb.dbo.t (a INT);")
	c.run("CREATE PROCEDURE p AS SET XACT_ABORT ON; BEGIN TRANSACTION; THROW 50001, N'x', 1;")
	for _, tc := range []struct {
		text   string
		tokens []byte
		env    []byte
	}{
		{"SET XACT_ABORT ON; BEGIN TRANSACTION; THROW 50001, N'x', 1;",
			[]byte{done, env, done, errorToken, env, done}, []byte{8, 10}},
		{"EXECUTE p;", []byte{doneInProc, env, doneInProc, errorToken, env, done}, []byte{8, 10}},
		{"SET XACT_ABORT ON; BEGIN TRANSACTION; BEGIN TRY THROW 50001, N'x', 1; END TRY BEGIN CATCH PRINT 'caught'; END CATCH;",
			[]byte{done, env, done, done, done, done, infoToken, done, done, errorToken, env, done}, []byte{8, 10}}, // starts of TRY and CATCH, THROW, end
		{"BEGIN TRANSACTION; ROLLBACK;", []byte{env, done, env, done}, []byte{8, 10}},
		{"SET IMPLICIT_TRANSACTIONS ON; INSERT tempdb.dbo.t VALUES (1); COMMIT;",
			[]byte{done, env, done, env, done}, []byte{8, 9}},
	} {
		c.batch(tc.text)
		a := c.answer()
		require.Equal(t, tc.tokens, a.tokens, tc.text)
		require.Equal(t, tc.env, a.env, tc.text)
	}
}

// TestTriggersOnTheWire: statements of a trigger end like those of the batch that fires it. The
// transaction that a trigger ends is announced only if the client has begun it.
func TestTriggersOnTheWire(t *testing.T) {
	t.Parallel()
	const (
		errorToken, env, status    = 0xAA, 0xE3, 0x79
		done, doneProc, doneInProc = 0xFD, 0xFE, 0xFF
	)
	c := newWireClient(t)
	c.run("CREATE DATABASE w;")
	c.run("USE w; CREATE TABLE t (a INT); CREATE TABLE u (a INT);")
	c.run("CREATE TRIGGER tr ON t AFTER INSERT AS INSERT u SELECT a FROM inserted; IF (SELECT a FROM inserted) < 0 ROLLBACK;")
	c.run("CREATE TRIGGER td ON t INSTEAD OF DELETE AS SET NOCOUNT ON; SELECT a FROM deleted;")
	c.run("CREATE PROCEDURE p AS INSERT t VALUES (2);")
	for _, tc := range []struct {
		text   string
		tokens []byte
		env    []byte
	}{
		{"INSERT t VALUES (1);", []byte{done, done, done}, nil},
		{"EXECUTE p;", []byte{doneInProc, doneInProc, doneInProc, status, doneProc}, nil},
		{"INSERT t VALUES (-1);", []byte{done, done, done, errorToken, done}, nil},
		{"BEGIN TRANSACTION; INSERT t VALUES (-1);", []byte{env, done, done, done, env, done, errorToken, done}, []byte{8, 10}},
	} {
		c.batch(tc.text)
		a := c.answer()
		require.Equal(t, tc.tokens, a.tokens, tc.text)
		require.Equal(t, tc.env, a.env, tc.text)
	}
	c.run("DELETE t WHERE a = 1;") // the strict reader reads the rows
	require.EqualValues(t, 1, c.only(true))
}
