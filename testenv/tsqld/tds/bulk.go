package tds

import (
	"io"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// BulkReader reads the stream of a bulk load: COLMETADATA, rows, DONE (MS-TDS 2.2.6.1). It holds
// one row at a time. It is not safe for concurrent use.
type BulkReader struct {
	d     *decoder
	infos []typeInfo
	cols  []types.Column
	done  bool
}

// NewBulkReader reads the columns from a stream of pieces. next returns the next piece, and io.EOF
// at the end. The reader keeps no pieces.
func NewBulkReader(next func() ([]byte, error), v Version) (*BulkReader, error) {
	r := &BulkReader{d: &decoder{what: "bulk load", more: next}}
	d := r.d
	if token := d.u8(); token != tokenColMetadata {
		d.failf("token %#02x instead of its columns", token)
	}
	n := int(d.u16())
	if n == 0 || n > maxColumns {
		d.failf("%d columns", n)
	}
	for range n {
		if d.err != nil {
			break
		}
		if v.since72() {
			d.u32() // user type
		} else {
			d.u16()
		}
		flags := d.u16()
		ti := readTypeInfo(d, formColumn)
		r.infos = append(r.infos, ti)
		r.cols = append(r.cols, types.Column{Name: d.bVarchar(), Type: ti.typ, Nullable: flags&columnNullable != 0,
			Identity: flags&columnIdentity != 0, Computed: flags&columnComputed != 0})
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// Columns returns the columns. The slice belongs to the reader.
func (r *BulkReader) Columns() []types.Column { return r.cols }

// Next returns the next row in a new slice, and io.EOF after the last row.
func (r *BulkReader) Next() ([]types.Value, error) {
	d := r.d
	if d.err != nil {
		return nil, d.err
	}
	if r.done || !d.has(1) {
		r.done = true
		if d.err != nil {
			return nil, d.err
		}
		return nil, io.EOF
	}
	var nulls []byte
	switch token := d.u8(); token {
	case tokenRow:
	case tokenNBCRow:
		nulls = d.bytes((len(r.infos) + 7) / 8)
	case tokenDone:
		// SqlClient sends a row count of four bytes in every version of TDS, so the DONE token is
		// not decoded. It ends the stream.
		r.done = true
		return nil, io.EOF
	default:
		d.failf("token %#02x instead of a row", token)
	}
	row := make([]types.Value, len(r.infos))
	for i, ti := range r.infos {
		if d.err != nil {
			return nil, d.err
		}
		if nulls != nil && nulls[i/8]&(1<<(i%8)) != 0 {
			continue
		}
		row[i] = readValue(d, ti, formColumn)
		if d.err != nil { // checked here, so that valid rows need no closure
			d.locate(func(*LengthError) error { return mserr.BulkLength(i + 1) }, func(e *ValueError) error { return e })
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return row, nil
}
