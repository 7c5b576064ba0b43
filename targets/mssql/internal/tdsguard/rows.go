package tdsguard

import (
	"encoding/binary"
	"fmt"
)

// value is the state of the current value and its row.
type value struct {
	column    int
	bits      int64 // unread bytes of the bitmap of an NBCROW
	nbc       bool
	nulls     [maxColumns / 8]byte
	announced int64 // length of a chunked value; -1: unknown
	length    int64 // read bytes of a chunked value
	row       int64 // bytes of the row
	free      int64 // bytes up to which the row is neither checked nor accounted for
	kept      int64 // bytes of all rows
	fields    int   // bytes of a sql_variant without length, type and size of its properties
}

// freeRow is the size up to which a row is not accounted for. The driver holds at most seven rows.
const freeRow = 16 << 10

// beginRow begins a row, or the value of a RETURNVALUE.
func (g *Guard) beginRow() {
	v := &g.value
	v.column, v.nbc, v.row = 0, false, 0
	v.free = freeRow
	if g.disposition != keep || Rows(g.rows.Load()) == AllRows {
		v.free = 1 << 62
	}
}

// rowStep reads one field of a row.
func (g *Guard) rowStep() error {
	v := &g.value
	switch g.state {
	case atRowBits:
		if !v.nbc {
			v.nbc, v.bits = true, int64(len(g.columns.list)+7)/8
		}
		at := int64(len(g.columns.list)+7)/8 - v.bits
		n := copy(v.nulls[at:at+v.bits], g.buf[g.at:g.end])
		g.at += n
		if v.bits -= int64(n); v.bits == 0 {
			g.state = atRow
			return g.row()
		}
		return nil
	case atRow:
		return g.row()
	case atChunk:
		return g.chunk()
	case atText:
		return g.text()
	case atTextSize:
		b := g.take(4)
		if b == nil {
			return nil
		}
		n := int32(binary.LittleEndian.Uint32(b))
		g.next()
		if n == -1 {
			return nil
		}
		if n < 0 {
			return violation("%s with a value of %d bytes", tokenName(g.token), n)
		}
		return g.skipValue(int64(n), g.columns.list[v.column-1].even)
	case atVariant, atVariantProps:
		return g.variant()
	default:
		return g.valueLength(g.columns.list[v.column])
	}
}

// next advances to the next value.
func (g *Guard) next() {
	g.value.column++
	g.state = atRow
	if g.token == tokenReturnValue {
		g.state = atToken
	}
}

// row reads values until the row or the packet ends.
func (g *Guard) row() error {
	v, list := &g.value, g.columns.list
	for v.column < len(list) {
		if v.nbc && v.nulls[v.column/8]&(1<<(v.column%8)) != 0 {
			v.column++
			continue
		}
		if g.at == g.end {
			return nil
		}
		c := list[v.column]
		// This is the fast path for complete values of the most frequent kinds.
		switch left := g.end - g.at; c.kind {
		case fixedValue:
			if n := int(c.max); n <= left && v.row+int64(n) <= v.free {
				g.at += n
				v.row += int64(n)
				v.column++
				continue
			}
		case byteValue:
			n := int(g.buf[g.at])
			if n < left && (n == int(c.max) || n == 0) && v.row+int64(n) <= v.free {
				g.at += 1 + n
				v.row += int64(n)
				v.column++
				continue
			}
		case shortValue:
			if left < 2 {
				break
			}
			n := int(binary.LittleEndian.Uint16(g.buf[g.at:]))
			if n+2 <= left && n <= int(c.max) && !(c.even && n%2 != 0) && v.row+int64(n) <= v.free {
				g.at += 2 + n
				v.row += int64(n)
				v.column++
				continue
			}
		}
		g.state = atValue
		if err := g.valueLength(c); err != nil {
			return err
		}
		if g.state != atRow || g.skip > 0 {
			return nil
		}
	}
	g.endRow()
	return nil
}

// endRow ends a row, and checks the sum of all rows.
func (g *Guard) endRow() {
	g.state = atToken
	if g.disposition != keep {
		return
	}
	switch Rows(g.rows.Load()) {
	case AllRows, OwnRows:
		return
	}
	g.value.kept += g.value.row
	if most := g.limits.OutputBytes; most > 0 && g.value.kept > most {
		g.exceed("output_bytes", most, "")
		return
	}
	g.account.row()
}

// valueLength reads the length of a value.
func (g *Guard) valueLength(c column) error {
	v := &g.value
	wrong := func(n int) error {
		return violation("%s with a value of %d bytes in column %d, which has at most %d",
			tokenName(g.token), n, v.column+1, c.max)
	}
	switch c.kind {
	case fixedValue:
		g.next()
		return g.skipValue(int64(c.max), false)
	case byteValue, decimalValue:
		b := g.take(1)
		if b == nil {
			return nil
		}
		n := b[0]
		if uint16(n) > c.max || n != 0 && (c.kind == byteValue && uint16(n) != c.max || c.kind == decimalValue && n%4 != 1) {
			return wrong(int(n))
		}
		g.next()
		return g.skipValue(int64(n), false)
	case shortValue:
		b := g.take(2)
		if b == nil {
			return nil
		}
		n := binary.LittleEndian.Uint16(b)
		if n == 0xFFFF {
			g.next()
			return nil
		}
		if n > c.max {
			return wrong(int(n))
		}
		g.next()
		return g.skipValue(int64(n), c.even)
	case chunkedValue:
		b := g.take(8)
		if b == nil {
			return nil
		}
		const null, unknown = 1<<64 - 1, 1<<64 - 2
		switch n := binary.LittleEndian.Uint64(b); {
		case n == null:
			g.next()
			return nil
		case n == unknown:
			v.announced = -1
		case n > maxValue:
			return violation("%s with a value of %d bytes in column %d", tokenName(g.token), n, v.column+1)
		default:
			v.announced = int64(n)
			if err := g.charge(v.announced, v.announced); err != nil {
				return err
			}
		}
		v.length = 0
		g.state = atChunk
		return nil
	case textValue:
		g.state = atText
		return nil
	default:
		g.state = atVariant
		return nil
	}
}

// skipValue skips the n bytes of a value.
func (g *Guard) skipValue(n int64, even bool) error {
	if even && n%2 != 0 {
		return violation("%s with a text of %d bytes, want an even number", tokenName(g.token), n)
	}
	g.skip = n
	return g.charge(n, n)
}

// chunk reads the length of a chunk.
func (g *Guard) chunk() error {
	v := &g.value
	b := g.take(4)
	if b == nil {
		return nil
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n == 0 {
		c := g.columns.list[v.column]
		switch {
		case v.announced >= 0 && v.length != v.announced:
			return violation("%s with a value of %d bytes that was announced as one of %d",
				tokenName(g.token), v.length, v.announced)
		case c.even && v.length%2 != 0:
			return violation("%s with a text of %d bytes, want an even number", tokenName(g.token), v.length)
		}
		g.next()
		return nil
	}
	v.length += n
	if v.announced >= 0 && v.length > v.announced || v.length > maxValue {
		return violation("%s with a value of more than the %d bytes that it may have", tokenName(g.token), v.most())
	}
	g.skip = n
	if v.announced < 0 {
		return g.charge(v.length, n)
	}
	return nil
}

// most returns the longest permitted length of a chunked value.
func (v *value) most() int64 {
	if v.announced >= 0 {
		return v.announced
	}
	return maxValue
}

// text reads the length of a text pointer, and skips the pointer and the timestamp.
func (g *Guard) text() error {
	b := g.take(1)
	switch {
	case b == nil:
	case b[0] == 0:
		g.next()
	default:
		g.skip = int64(b[0]) + 8
		g.state = atTextSize
	}
	return nil
}

// variant reads the header of a sql_variant: length, type, length of the properties, properties.
// The driver does not compare the value's length with its type.
func (g *Guard) variant() error {
	v := &g.value
	if g.state == atVariant {
		b := g.take(4)
		if b == nil {
			return nil
		}
		n := binary.LittleEndian.Uint32(b)
		switch {
		case n == 0:
			g.next()
		case n < 2 || n > maxVariant:
			return violation("%s with a sql_variant of %d bytes", tokenName(g.token), n)
		default:
			v.fields = int(n) - 2
			g.state = atVariantProps
		}
		return nil
	}
	b := g.take(2)
	if b == nil {
		return nil
	}
	t, props := b[0], int(b[1])
	n := v.fields - props
	wrong := func() error {
		return violation("%s with a sql_variant of type 0x%02X, %d bytes of properties and a value of %d",
			tokenName(g.token), t, props, n)
	}
	ok := false
	switch size, fixed := fixedSizes[t]; {
	case fixed:
		ok = props == 0 && n == int(size)
	case t == typeGUID:
		ok = props == 0 && n == 16
	case t == typeDateN:
		ok = props == 0 && n == 3
	case t == typeTimeN, t == typeDateTime2N, t == typeDateTimeOffset:
		// The length depends on the scale, which follows.
		ok = props == 1 && n >= int(timeSize(t, 0)) && n <= int(timeSize(t, 7))
	case t == typeDecimalN, t == typeNumericN:
		ok = props == 2 && n >= 5 && n <= 17 && n%4 == 1
	case t == typeBigVarBin, t == typeBigBinary:
		ok = props == 2 && n >= 0 && n <= maxShort
	case t == typeBigVarChar, t == typeBigChar:
		ok = props == 7 && n >= 0 && n <= maxShort
	case t == typeNVarChar, t == typeNChar:
		ok = props == 7 && n >= 0 && n <= maxShort && n%2 == 0
	}
	if !ok {
		return wrong()
	}
	g.next()
	return g.skipValue(int64(v.fields), false)
}

// charge checks a value against the limits. length bytes of it have been read or announced; more of
// these are new.
func (g *Guard) charge(length, more int64) error {
	v := &g.value
	v.row += more
	if v.row <= v.free || g.disposition != keep {
		return nil
	}
	switch Rows(g.rows.Load()) {
	case AllRows:
		return nil
	case OwnRows:
		if length > ownValueBytes || v.row > ownRowBytes {
			return violation("a row of %d bytes in the answer to a query of the agent", v.row)
		}
		return nil
	}
	// A row that began before SetRows(NoRows) still goes to the driver.
	switch maxLength, maxRow := g.limits.ValueBytes, g.limits.RowBytes; {
	case maxLength > 0 && length > maxLength:
		what := fmt.Sprintf("a value of %s in column %d", atLeast(length, g.state == atChunk), g.columnNumber())
		g.exceed("value_bytes", maxLength, what)
	case maxRow > 0 && v.row > maxRow:
		g.exceed("row_bytes", maxRow, "")
	default:
		if err := g.account.reserve(more); err != nil {
			g.fail(err)
		}
	}
	return nil
}

// columnNumber returns the position of the current value's column, from 1.
func (g *Guard) columnNumber() int {
	if g.state == atValue || g.state == atChunk {
		return g.value.column + 1
	}
	return g.value.column // next has advanced already
}

// atLeast formats the length of a value; open means that more bytes may follow.
func atLeast(n int64, open bool) string {
	if open {
		return fmt.Sprintf("at least %d bytes", n)
	}
	return fmt.Sprintf("%d bytes", n)
}
