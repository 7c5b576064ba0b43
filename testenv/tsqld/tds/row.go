package tds

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Flags of a column (MS-TDS 2.2.7.4).
const (
	columnCaseSensitive = 0x0002
	columnMaybeWritable = 0x0008
	columnIdentity      = 0x0010
	columnComputed      = 0x0020
	columnHidden        = 0x2000
	columnKey           = 0x4000
)

// maxColumns is the largest number of columns of a result set in SQL Server.
const maxColumns = 4096

// RowEncoder writes the rows of one result set. It is not safe for concurrent use.
type RowEncoder struct {
	cols  []types.Column
	infos []typeInfo
	v     Version
}

// NewRowEncoder prepares a result set for a client of version v. It keeps the columns. The error
// wraps a [*ValueError] about a type that cannot be sent.
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
		if o := c.Origin; o != nil && o.Browse && e.v.since72() {
			if o.Key {
				flags |= columnKey
			}
			if o.Hidden {
				flags |= columnHidden
			}
		}
		b = binary.LittleEndian.AppendUint16(b, flags)
		b = appendTypeInfo(b, e.infos[i])
		switch e.infos[i].token {
		case tokText, tokNText, tokImage:
			var table []string
			if c.Origin != nil {
				table = c.Origin.Table
			}
			b = appendTableName(b, table, e.v.since72())
		}
		b = appendBVarchar(b, c.Name)
	}
	return b
}

// appendTableName appends the name of a table in parts, or as one text for a client without
// multi-part names.
func appendTableName(b []byte, parts []string, inParts bool) []byte {
	if !inParts {
		return appendUSVarchar(b, strings.Join(parts, "."), maxMessage)
	}
	b = append(b, byte(len(parts)))
	for _, p := range parts {
		b = appendUSVarchar(b, p, maxMessage)
	}
	return b
}

// Status of a column in COLINFO (MS-TDS 2.2.7.3).
const (
	infoExpression    = 0x04
	infoKey           = 0x08
	infoHidden        = 0x10
	infoDifferentName = 0x20
)

// AppendOrigins appends TABNAME and COLINFO, which follow COLMETADATA in browse mode. For other
// result sets it appends nothing.
func (e *RowEncoder) AppendOrigins(b []byte) []byte {
	if e.cols[0].Origin == nil || !e.cols[0].Origin.Browse {
		return b
	}
	var tables []byte
	numbers := map[string]byte{}
	for _, c := range e.cols {
		name := string(appendTableName(nil, c.Origin.Table, e.v > Version71))
		if _, known := numbers[name]; !known && len(c.Origin.Table) > 0 {
			numbers[name] = byte(len(numbers) + 1)
			tables = append(tables, name...)
		}
	}
	if len(tables) > 0 {
		b = sized(b, tokenTabName, func(b []byte) []byte { return append(b, tables...) })
	}
	return sized(b, tokenColInfo, func(b []byte) []byte {
		for i, c := range e.cols {
			o := c.Origin
			b = append(b, byte(i+1), numbers[string(appendTableName(nil, o.Table, e.v > Version71))])
			status := byte(0)
			if len(o.Table) == 0 {
				status |= infoExpression
			}
			if o.Key {
				status |= infoKey
			}
			if o.Hidden {
				status |= infoHidden
			}
			if len(o.Table) == 0 || o.Column == c.Name {
				b = append(b, status)
				continue
			}
			b = appendBVarchar(append(b, status|infoDifferentName), o.Column)
		}
		return b
	})
}

// AppendRow appends a ROW, or an NBCROW if that is shorter and the client's version has it. On an
// error, which wraps a [*ValueError] and names the column, it returns b unchanged.
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

// nullBytes returns how many bytes the NULLs of a row have in a ROW.
func (e *RowEncoder) nullBytes(vals []types.Value) int {
	n := 0
	for i, v := range vals {
		if v == nil && !e.infos[i].isFixed() {
			n += nullSize(e.infos[i])
		}
	}
	return n
}
