package tds

import (
	"encoding/binary"
	"fmt"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Flags of a column (MS-TDS 2.2.7.4).
const (
	columnCaseSensitive = 0x0002
	columnMaybeWritable = 0x0008
	columnIdentity      = 0x0010
	columnComputed      = 0x0020
)

// maxColumns is the largest number of columns of a result set in SQL Server.
const maxColumns = 4096

// RowEncoder writes the rows of one result set. It is not safe for concurrent use.
type RowEncoder struct {
	cols  []types.Column
	infos []typeInfo
	v     Version
}

// NewRowEncoder prepares a result set for a client of version v. The columns are kept. The error, a
// [*ValueError] inside, is about a type that has no form on the wire.
func NewRowEncoder(cols []types.Column, v Version) (*RowEncoder, error) {
	if len(cols) == 0 || len(cols) > maxColumns {
		return nil, fmt.Errorf("result set with %d columns", len(cols))
	}
	e := &RowEncoder{cols: cols, infos: make([]typeInfo, len(cols)), v: v}
	for i, c := range cols {
		ti, err := wireType(c.Type, formColumn, v)
		if err != nil {
			return nil, fmt.Errorf("column %d (%q): %w", i+1, c.Name, err)
		}
		if !c.Nullable {
			ti = ti.fixed()
		}
		e.infos[i] = ti
	}
	return e, nil
}

// AppendColMetadata appends COLMETADATA.
func (e *RowEncoder) AppendColMetadata(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, tokenColMetadata), uint16(len(e.cols)))
	for i, c := range e.cols {
		b = appendUserType(b, c.Type, e.v)
		flags := uint16(0)
		if c.Nullable {
			flags |= columnNullable
		}
		if c.Type.IsCharacter() && !c.Type.Collation.IgnoresCase() {
			flags |= columnCaseSensitive
		}
		switch {
		case c.Identity:
			flags |= columnIdentity
		case c.Computed:
			flags |= columnComputed
		default:
			flags |= columnMaybeWritable
		}
		b = binary.LittleEndian.AppendUint16(b, flags)
		b = appendTypeInfo(b, e.infos[i], formColumn, e.v)
		b = appendBVarchar(b, c.Name)
	}
	return b
}

// AppendRow appends a ROW, or an NBCROW where that is shorter and the client knows it. On an error,
// which wraps a [*ValueError] and names the column, b comes back as it was.
func (e *RowEncoder) AppendRow(b []byte, vals []types.Value) ([]byte, error) {
	if len(vals) != len(e.infos) {
		return b, fmt.Errorf("row of %d values for %d columns", len(vals), len(e.infos))
	}
	at := len(b)
	compressed := e.v.since73B() && e.nullBytes(vals) > (len(vals)+7)/8
	if compressed {
		b = append(append(b, tokenNBCRow), make([]byte, (len(vals)+7)/8)...)
	} else {
		b = append(b, tokenRow)
	}
	var err error
	for i, v := range vals {
		if compressed && v == nil && !e.infos[i].isFixed() {
			b[at+1+i/8] |= 1 << (i % 8)
			continue
		}
		if b, err = appendValue(b, e.infos[i], formColumn, v); err != nil {
			return b[:at], fmt.Errorf("column %d (%q): %w", i+1, e.cols[i].Name, err)
		}
	}
	return b, nil
}

// nullBytes returns how many bytes the NULLs of a row take in a ROW.
func (e *RowEncoder) nullBytes(vals []types.Value) int {
	n := 0
	for i, v := range vals {
		if v == nil && !e.infos[i].isFixed() {
			n += nullSize(e.infos[i])
		}
	}
	return n
}
