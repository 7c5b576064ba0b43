package tsqld

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// typeSample is a value of a type, and its value in the driver.
type typeSample struct {
	t    types.Type
	v    types.Value
	want any
	name string // the driver's name for the type
	text bool   // not for bulk copy: the driver cannot send the type from its own value
}

// instant is the instant of all date samples.
var instant = time.Date(2020, 2, 29, 13, 14, 15, 120_000_000, time.UTC)

// ticks are those of instant.
func ticks() int64 {
	days := int64(instant.Sub(time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC))/(24*time.Hour)) + 693595
	return days*24*3600*10_000_000 + timeTicks()
}

// timeTicks are those of instant's time of day.
func timeTicks() int64 {
	return int64(instant.Sub(instant.Truncate(24*time.Hour)) / 100)
}

// typeSamples has every type that can be a column.
func typeSamples() []typeSample {
	typ := func(id types.ID) types.Type { return types.Type{ID: id} }
	str := func(id types.ID, n int) types.Type { return types.Type{ID: id, Length: n} }
	offset := binary.BigEndian.AppendUint64(nil, uint64(ticks()))
	offset = binary.BigEndian.AppendUint16(offset, 840-330)
	long := strings.Repeat("日€", 4100)
	variant, _ := types.VariantPack("v€", types.VarCharOf(5))
	wire := []byte("0123456789abcdef")
	timeOfDay := time.Date(1, 1, 1, 13, 14, 15, 120_000_000, time.UTC)
	return []typeSample{
		{t: typ(types.Bit), v: int64(1), want: true, name: "BIT"},
		{t: typ(types.TinyInt), v: int64(200), want: int64(200), name: "TINYINT"},
		{t: typ(types.SmallInt), v: int64(-2), want: int64(-2), name: "SMALLINT"},
		{t: typ(types.Int), v: int64(-3), want: int64(-3), name: "INT"},
		{t: typ(types.BigInt), v: int64(-4), want: int64(-4), name: "BIGINT"},
		{t: types.Type{ID: types.Decimal, Precision: 10, Scale: 2}, v: int64(-12345), want: []byte("-123.45"), name: "DECIMAL"},
		{t: types.Type{ID: types.Decimal, Precision: 38, Scale: 4, Numeric: true}, v: "1234567890123456789012345678901234.5678",
			want: []byte("1234567890123456789012345678901234.5678"), name: "DECIMAL"},
		{t: typ(types.Money), v: int64(-12345), want: []byte("-1.2345"), name: "MONEY"},
		{t: typ(types.SmallMoney), v: int64(12345), want: []byte("1.2345"), name: "SMALLMONEY"},
		{t: typ(types.Real), v: 1.5, want: 1.5, name: "REAL"},
		{t: typ(types.Float), v: 0.1, want: 0.1, name: "FLOAT"},
		{t: typ(types.Date), v: ticks() - timeTicks(), want: instant.Truncate(24 * time.Hour), name: "DATE"},
		{t: types.Type{ID: types.Time, Scale: 7}, v: timeTicks(), want: timeOfDay, name: "TIME"},
		{t: types.Type{ID: types.Time, Scale: 2}, v: timeTicks(), want: timeOfDay, name: "TIME"},
		{t: typ(types.DateTime), v: ticks(), want: instant, name: "DATETIME"},
		{t: typ(types.SmallDateTime), v: ticks() - ticks()%600_000_000, want: instant.Truncate(time.Minute), name: "SMALLDATETIME"},
		{t: types.Type{ID: types.DateTime2, Scale: 7}, v: ticks(), want: instant, name: "DATETIME2"},
		{t: types.Type{ID: types.DateTime2, Scale: 3}, v: ticks(), want: instant, name: "DATETIME2"},
		{t: types.Type{ID: types.DateTimeOffset, Scale: 4}, v: offset, want: instant, name: "DATETIMEOFFSET"},
		{t: str(types.Char, 3), v: "€b ", want: "€b ", name: "CHAR", text: true},
		{t: str(types.VarChar, 10), v: "Größe", want: "Größe", name: "VARCHAR", text: true},
		{t: str(types.VarChar, types.Max), v: "", want: "", name: "VARCHAR"},
		{t: str(types.NChar, 3), v: "日b ", want: "日b ", name: "NCHAR"},
		{t: str(types.NVarChar, 10), v: "a😀", want: "a😀", name: "NVARCHAR"},
		{t: str(types.NVarChar, types.Max), v: long, want: long, name: "NVARCHAR"},
		{t: typ(types.Text), v: "tä", want: "tä", name: "TEXT", text: true},
		{t: typ(types.NText), v: "日", want: "日", name: "NTEXT"},
		{t: str(types.Binary, 2), v: []byte{1, 2}, want: []byte{1, 2}, name: "BINARY"},
		{t: str(types.VarBinary, 5), v: []byte{1}, want: []byte{1}, name: "VARBINARY"},
		{t: str(types.VarBinary, types.Max), v: make([]byte, 9000), want: make([]byte, 9000), name: "VARBINARY"},
		{t: typ(types.Image), v: []byte{3}, want: []byte{3}, name: "IMAGE"},
		{t: typ(types.UniqueIdentifier), v: types.GUIDFromWire(wire), want: wire, name: "UNIQUEIDENTIFIER"},
		{t: typ(types.RowVersion), v: []byte{0, 0, 0, 0, 0, 0, 0, 9}, want: []byte{0, 0, 0, 0, 0, 0, 0, 9}, name: "BINARY"},
		{t: typ(types.XML), v: "<a>日</a>", want: "<a>日</a>", name: "XML", text: true},
		{t: typ(types.Variant), v: variant, want: "v€", name: "SQL_VARIANT", text: true},
		{t: typ(types.Null), v: nil, want: nil, name: "INT"},
	}
}

// sampleColumns returns the samples as columns and as a row.
func sampleColumns() ([]types.Column, []types.Value) {
	var cols []types.Column
	var row []types.Value
	for i, s := range typeSamples() {
		cols = append(cols, types.Column{Name: fmt.Sprintf("c%d", i), Type: s.t, Nullable: true})
		row = append(row, s.v)
	}
	return cols, row
}

// sendSamples sends the samples as one row, or NULL of each.
func sendSamples(sink answer.Sink, null bool) error {
	cols, row := sampleColumns()
	if null {
		clear(row)
	}
	if err := sink.Columns(cols); err != nil {
		return err
	}
	if err := sink.Row(row); err != nil {
		return err
	}
	return sink.Done(answer.Done{Rows: 1, Count: true, Command: answer.CommandSelect})
}

func TestEveryTypeReachesTheDriver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := f.oneConn(t)
	for _, query := range []string{"types 1", "types null"} {
		rows, err := c.QueryContext(t.Context(), query)
		require.NoError(t, err)
		names, err := rows.ColumnTypes()
		require.NoError(t, err)
		require.True(t, rows.Next(), rows.Err())
		got := make([]any, len(names))
		into := make([]any, len(names))
		for i := range got {
			into[i] = &got[i]
		}
		require.NoError(t, rows.Scan(into...))
		require.False(t, rows.Next())
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		for i, s := range typeSamples() {
			require.Equal(t, s.name, names[i].DatabaseTypeName(), s.t)
			switch want, isTime := s.want.(time.Time); {
			case query == "types null":
				require.Nil(t, got[i], s.t)
			case isTime:
				require.True(t, want.Equal(got[i].(time.Time)), "%s: %v", s.t, got[i])
			default:
				require.Equal(t, s.want, got[i], s.t)
			}
		}
	}
}

func TestBulkCopyByTheDriver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	db := f.dial(t, "encrypt=disable&packet+size=512")
	c, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	var names []string
	var vals []any
	var want []types.Value
	for i, s := range typeSamples() {
		if s.text || s.t.ID == types.Null || s.t.ID == types.Money || s.t.ID == types.SmallMoney {
			continue
		}
		names = append(names, fmt.Sprintf("c%d", i))
		v := s.want
		if raw, isBytes := v.([]byte); isBytes && s.t.ID == types.Decimal {
			v = string(raw)
		}
		vals = append(vals, v)
		want = append(want, s.v)
	}
	stmt, err := c.PrepareContext(t.Context(), mssql.CopyIn("t", mssql.BulkOptions{}, names...))
	require.NoError(t, err)
	for range 30 {
		_, err = stmt.ExecContext(t.Context(), vals...)
		require.NoError(t, err)
	}
	res, err := stmt.ExecContext(t.Context())
	require.NoError(t, err)
	n, err := res.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(30), n)
	require.NoError(t, stmt.Close())
	require.NoError(t, c.Raw(func(any) error { return nil }))
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	require.Len(t, f.engine.last.loaded, 30)
	for i, got := range f.engine.last.loaded[29] {
		if raw, ok := want[i].([]byte); ok && len(raw) == 10 {
			require.Equal(t, raw[:8], got.([]byte)[:8], "the driver sends UTC")
			continue
		}
		require.Equal(t, want[i], got, names[i])
	}
}

func TestBulkLoadWithoutStatement(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{})
	c := newRawClient(t, f, tds.Version74)
	c.send(0x07, []byte{0xFD})
	require.Contains(t, c.answer().numbers, int32(4002))
}
