package tds

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// TestFixedTypes compares columns that are never NULL with MS-TDS 2.2.5.4.1: SqlClient derives the
// form from the flag and ignores the token.
func TestFixedTypes(t *testing.T) {
	for _, c := range []struct {
		id    types.ID
		v     types.Value
		token byte
		row   []byte // the value without a length
	}{
		{types.TinyInt, int64(255), 0x30, []byte{255}},
		{types.Bit, int64(1), 0x32, []byte{1}},
		{types.SmallInt, int64(-2), 0x34, []byte{0xFE, 0xFF}},
		{types.Int, int64(1), 0x38, []byte{1, 0, 0, 0}},
		{types.BigInt, int64(-1), 0x7F, []byte{255, 255, 255, 255, 255, 255, 255, 255}},
		{types.Real, 1.0, 0x3B, []byte{0, 0, 0x80, 0x3F}},
		{types.Float, 1.0, 0x3E, []byte{0, 0, 0, 0, 0, 0, 0xF0, 0x3F}},
		{types.SmallMoney, int64(1), 0x7A, []byte{1, 0, 0, 0}},
		{types.Money, int64(1), 0x3C, []byte{0, 0, 0, 0, 1, 0, 0, 0}},
		{types.SmallDateTime, int64(day2020) * ticksPerDay, 0x3A, []byte{0x70, 0xAB, 0, 0}},
		{types.DateTime, int64(day2020) * ticksPerDay, 0x3D, []byte{0x70, 0xAB, 0, 0, 0, 0, 0, 0}},
	} {
		col := types.Column{Name: "c", Type: types.Type{ID: c.id}}
		e, err := NewRowEncoder([]types.Column{col}, Version74)
		require.NoError(t, err)
		require.Equal(t, []byte{tokenColMetadata, 1, 0, 0, 0, 0, 0, 8, 0, c.token, 1, 'c', 0}, e.AppendColMetadata(nil), "%s", col.Type)
		row, err := e.AppendRow(nil, []types.Value{c.v})
		require.NoError(t, err)
		require.Equal(t, append([]byte{tokenRow}, c.row...), row, "%s", col.Type)

		before := []byte("kept")
		after, err := e.AppendRow(before, []types.Value{nil})
		require.True(t, errors.As(err, new(*ValueError)), "a fixed type has no NULL")
		require.Equal(t, before, after)

		col.Nullable = true
		e, err = NewRowEncoder([]types.Column{col}, Version74)
		require.NoError(t, err)
		meta := e.AppendColMetadata(nil)
		require.NotEqual(t, c.token, meta[9])
		require.Equal(t, byte(len(c.row)), meta[10])
		row, err = e.AppendRow(nil, []types.Value{c.v})
		require.NoError(t, err)
		require.Equal(t, append([]byte{tokenRow, byte(len(c.row))}, c.row...), row, "%s", col.Type)
	}
}

// TestNoNullAmongManyNulls encodes a row that would be an NBCROW; its bitmap cannot represent this
// NULL.
func TestNoNullAmongManyNulls(t *testing.T) {
	cols := []types.Column{{Name: "a", Type: types.IntType}}
	row := []types.Value{nil}
	for range 9 {
		cols = append(cols, types.Column{Name: "b", Type: types.IntType, Nullable: true})
		row = append(row, nil)
	}
	e, err := NewRowEncoder(cols, Version74)
	require.NoError(t, err)
	_, err = e.AppendRow(nil, row)
	require.ErrorContains(t, err, "announced as not nullable")
	row[0] = int64(7)
	b, err := e.AppendRow(nil, row)
	require.NoError(t, err)
	require.Equal(t, []byte{tokenNBCRow, 0xFE, 0x03, 7, 0, 0, 0}, b)
}

// TestDecimalSizes checks that every precision is announced with 17 bytes, as in SQL Server, and
// that a sql_variant holds 17 bytes: SqlClient reads 17 bytes there whatever the length is.
func TestDecimalSizes(t *testing.T) {
	for p := uint8(1); p <= 38; p++ {
		typ := types.Type{ID: types.Decimal, Precision: p}
		v := types.Value(int64(-1))
		if p > smallPrecision {
			v = "-1"
		}
		e, err := NewRowEncoder([]types.Column{{Name: "c", Type: typ, Nullable: true}}, Version74)
		require.NoError(t, err)
		require.Equal(t, []byte{tokDecimalN, 17, p, 0}, e.AppendColMetadata(nil)[9:13])
		row, err := e.AppendRow(nil, []types.Value{v})
		require.NoError(t, err)
		require.Equal(t, byte(decimalSize(p)), row[1])
		require.Len(t, row, 2+decimalSize(p))

		packed, err := types.VariantPack(v, typ)
		require.NoError(t, err)
		b, err := appendVariant(nil, packed)
		require.NoError(t, err)
		require.Equal(t, append([]byte{21, 0, 0, 0, tokDecimalN, 2, p, 0, 0, 1}, make([]byte, 15)...), b)
		back := readVariant(newDecoder("test", b))
		require.Equal(t, packed, back)
	}
}

// TestOrigins compares TABNAME and COLINFO with MS-TDS 2.2.7.3 and 2.2.7.23, and the table name of
// an ntext column with 2.2.7.4.
func TestOrigins(t *testing.T) {
	table := []string{"dbo", "t"}
	e, err := NewRowEncoder([]types.Column{
		{Name: "x", Type: types.Type{ID: types.NText}, Nullable: true, Origin: &types.Origin{Browse: true, Table: table, Column: "n"}},
		{Name: "id", Type: types.IntType, Origin: &types.Origin{Browse: true, Table: table, Column: "id", Key: true, Hidden: true}},
		{Name: "", Type: types.IntType, Computed: true, Origin: &types.Origin{Browse: true}},
	}, Version74)
	require.NoError(t, err)
	name := []byte{2, 3, 0, 'd', 0, 'b', 0, 'o', 0, 1, 0, 't', 0}
	meta := e.AppendColMetadata(nil)
	at := 3 + 4 + 2
	require.Equal(t, byte(tokNText), meta[at])
	at += 1 + 4 + 5
	require.Equal(t, append(name, 1, 'x', 0), meta[at:at+len(name)+3])
	at += len(name) + 3 + 4
	require.Equal(t, []byte{0x08, 0x60}, meta[at:at+2], "fKey and fHidden")
	want := append([]byte{0xA4, 13, 0}, name...)
	want = append(want, 0xA5, 12, 0, 1, 1, 0x20, 1, 'n', 0, 2, 1, 0x08|0x10, 3, 0, 0x04)
	require.Equal(t, want, e.AppendOrigins(nil))

	e, err = NewRowEncoder([]types.Column{{Name: "a", Type: types.IntType, Origin: &types.Origin{Table: table, Column: "a"}}}, Version74)
	require.NoError(t, err)
	require.Empty(t, e.AppendOrigins(nil))
}
