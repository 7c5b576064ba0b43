package tdsguard

import (
	"encoding/binary"
	"fmt"
)

// Types (MS-TDS 2.2.5.4).
const (
	typeInt1     = 0x30
	typeBit      = 0x32
	typeInt2     = 0x34
	typeInt4     = 0x38
	typeDateTim4 = 0x3A
	typeFlt4     = 0x3B
	typeMoney    = 0x3C
	typeDateTime = 0x3D
	typeFlt8     = 0x3E
	typeMoney4   = 0x7A
	typeInt8     = 0x7F

	typeGUID           = 0x24
	typeIntN           = 0x26
	typeDateN          = 0x28
	typeTimeN          = 0x29
	typeDateTime2N     = 0x2A
	typeDateTimeOffset = 0x2B
	typeBitN           = 0x68
	typeDecimalN       = 0x6A
	typeNumericN       = 0x6C
	typeFltN           = 0x6D
	typeMoneyN         = 0x6E
	typeDateTimeN      = 0x6F

	typeBigVarBin  = 0xA5
	typeBigVarChar = 0xA7
	typeBigBinary  = 0xAD
	typeBigChar    = 0xAF
	typeNVarChar   = 0xE7
	typeNChar      = 0xEF
	typeUDT        = 0xF0
	typeXML        = 0xF1

	typeImage   = 0x22
	typeText    = 0x23
	typeVariant = 0x62
	typeNText   = 0x63
)

// fixedSizes maps types without a length in their description to their lengths.
var fixedSizes = map[byte]uint16{
	typeInt1: 1, typeBit: 1, typeInt2: 2, typeInt4: 4, typeDateTim4: 4, typeFlt4: 4, typeMoney4: 4,
	typeMoney: 8, typeDateTime: 8, typeFlt8: 8, typeInt8: 8,
}

// kind is the format of a value on the network.
type kind uint8

const (
	fixedValue   kind = iota // max bytes
	byteValue                // a length of one byte, 0 or max
	decimalValue             // a length of one byte, at most max
	shortValue               // a length of two bytes, at most max; 0xFFFF is NULL
	chunkedValue             // a length of eight bytes, then chunks
	textValue                // a text pointer, a timestamp and a length of four bytes
	variantValue             // a length of four bytes
)

// column is the part of a column's description that is needed to find the ends of its values.
type column struct {
	kind kind
	even bool // UTF-16
	max  uint16
}

// columns is the description of the current result set or RETURNVALUE.
type columns struct {
	known    bool
	replaced bool // the driver has read stub instead
	list     []column
	left     int // columns not yet described

	typ              byte
	shortTexts, long int // unread names in the description of a type
	cost             int64
}

// columnCost is the memory cost of a column in the driver: its description, and a buffer for a
// value.
const columnCost = 256

// extraBytes returns how many bytes follow the type in a description, before names; 0 for all other
// types.
func extraBytes(t byte) int {
	switch t {
	case typeGUID, typeIntN, typeBitN, typeFltN, typeMoneyN, typeDateTimeN,
		typeTimeN, typeDateTime2N, typeDateTimeOffset, typeXML:
		return 1
	case typeUDT, typeBigVarBin, typeBigBinary:
		return 2
	case typeDecimalN, typeNumericN:
		return 3
	case typeVariant:
		return 4
	case typeImage:
		return 5
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		return 7
	case typeText, typeNText:
		return 10
	}
	return 0
}

// columnStep reads COLMETADATA, and RETURNVALUE up to its value.
func (g *Guard) columnStep() error {
	c := &g.columns
	switch g.state {
	case atColumns:
		b := g.take(2)
		if b == nil {
			return nil
		}
		n := int(binary.LittleEndian.Uint16(b))
		if n == 0 || n > maxColumns {
			return violation("COLMETADATA of %d columns", n)
		}
		replaced := g.disposition == replace
		if !replaced && Rows(g.rows.Load()) == KeptRows && g.err == nil {
			if c.known && !c.replaced && n != len(c.list) {
				// The rows would have another number of columns than their reader expects.
				return violation("COLMETADATA of %d columns in the middle of a result set of %d", n, len(c.list))
			}
		}
		if err := g.account.describe(0); err != nil {
			g.fail(err)
		}
		*c = columns{list: c.list[:0], left: n, replaced: replaced}
		g.state = atColumn
	case atColumn, atReturnValueType: // [status], user type, flags, type
		n := 7
		if g.state == atReturnValueType {
			n = 8
		}
		b := g.take(n)
		if b == nil {
			return nil
		}
		const encrypted = 0x0800
		if binary.LittleEndian.Uint16(b[n-3:])&encrypted != 0 {
			return violation("%s of an encrypted column, which the login did not request", tokenName(g.token))
		}
		c.typ = b[n-1]
		c.cost += columnCost
		return g.describe(nil)
	case atColumnType:
		b := g.take(extraBytes(c.typ))
		if b == nil {
			return nil
		}
		return g.describe(b)
	case atColumnNames:
		const longest = 4096 // qualified name of an assembly
		switch {
		case c.shortTexts > 0:
			b := g.take(1)
			if b == nil {
				return nil
			}
			c.shortTexts--
			g.skip = 2 * int64(b[0])
		default:
			b := g.take(2)
			if b == nil {
				return nil
			}
			c.long--
			if g.skip = 2 * int64(binary.LittleEndian.Uint16(b)); g.skip > 2*longest {
				return violation("%s with a name of %d characters", tokenName(g.token), g.skip/2)
			}
		}
		c.cost += 2 * g.skip
		g.named()
	case atColumnName:
		b := g.take(1)
		if b == nil {
			return nil
		}
		g.skip = 2 * int64(b[0])
		c.cost += 2 * g.skip
		g.state = atColumn
		if c.left--; c.left == 0 {
			c.known = true
			g.state = atToken
		}
		return g.described()
	case atReturnValue: // ordinal, length of the name
		b := g.take(3)
		if b == nil {
			return nil
		}
		// RETURNVALUE follows the end of a result set, whose columns are not needed any more.
		*c = columns{list: c.list[:0], left: 1}
		g.skip = 2 * int64(b[2])
		g.state = atReturnValueType
	}
	return nil
}

// Descriptions of result sets up to freeColumns are not accounted for. Those in answers to the
// agent's queries may have up to ownColumns.
const (
	freeColumns = 64 << 10
	ownColumns  = 256 << 10
)

// described checks the cost of the description so far.
func (g *Guard) described() error {
	cost := g.columns.cost
	if g.disposition != keep || cost <= freeColumns {
		return nil
	}
	switch Rows(g.rows.Load()) {
	case AllRows:
	case OwnRows:
		if cost > ownColumns {
			return violation("COLMETADATA of %d bytes in the answer to a query of the agent", cost)
		}
	default:
		if err := g.account.describe(cost); err != nil {
			g.fail(err)
		}
	}
	return nil
}

// named advances after the names in a description.
func (g *Guard) named() {
	switch c := &g.columns; {
	case c.shortTexts+c.long > 0:
		g.state = atColumnNames
	case g.token == tokenReturnValue:
		g.state = atValue
	default:
		g.state = atColumnName
	}
}

// describe adds a column of the type c.typ. extra holds the extra bytes of its description; nil
// means that they must be read first.
func (g *Guard) describe(extra []byte) error {
	c := &g.columns
	if extra == nil && extraBytes(c.typ) > 0 {
		g.state = atColumnType
		return nil
	}
	wrong := func(what string, n int) error {
		return violation("%s with a type 0x%02X of %s %d", tokenName(g.token), c.typ, what, n)
	}
	col := column{kind: byteValue}
	switch t := c.typ; t {
	case typeDateN:
		col.max = 3
	case typeGUID, typeIntN, typeBitN, typeFltN, typeMoneyN, typeDateTimeN:
		if col.max = uint16(extra[0]); !sizeFits(t, extra[0]) {
			return wrong("length", int(extra[0]))
		}
	case typeTimeN, typeDateTime2N, typeDateTimeOffset:
		if extra[0] > 7 {
			return wrong("scale", int(extra[0]))
		}
		col.max = timeSize(t, extra[0])
	case typeDecimalN, typeNumericN:
		col.kind, col.max = decimalValue, uint16(extra[0])
		if extra[0] > 17 || extra[1] > 38 || extra[2] > extra[1] {
			return wrong(fmt.Sprintf("length %d, precision %d and scale", extra[0], extra[1]), int(extra[2]))
		}
	case typeBigVarBin, typeBigVarChar, typeNVarChar, typeBigBinary, typeBigChar, typeNChar:
		col.kind, col.max = shortValue, binary.LittleEndian.Uint16(extra)
		col.even = t == typeNVarChar || t == typeNChar
		const varying = 0xFFFF
		switch {
		case col.max == varying && (t == typeBigVarBin || t == typeBigVarChar || t == typeNVarChar):
			col.kind = chunkedValue
		case col.max > maxShort:
			return wrong("length", int(col.max))
		}
	case typeXML:
		col.kind, col.even = chunkedValue, true
		if extra[0] > 1 {
			return wrong("schema", int(extra[0]))
		}
		if extra[0] == 1 {
			c.shortTexts, c.long = 2, 1
		}
	case typeUDT:
		col.kind, col.max = chunkedValue, binary.LittleEndian.Uint16(extra)
		if col.max > maxShort && col.max != 0xFFFF {
			return wrong("length", int(col.max))
		}
		c.cost += int64(col.max)
		c.shortTexts, c.long = 3, 1
	case typeText, typeNText, typeImage:
		col.kind, col.even = textValue, t == typeNText
		c.long = int(extra[len(extra)-1])
	case typeVariant:
		col.kind = variantValue
		if n := binary.LittleEndian.Uint32(extra); n > maxVariant {
			return wrong("length", int(n))
		}
	default:
		size, ok := fixedSizes[t]
		if !ok {
			return violation("%s with a type 0x%02X, which this client does not know", tokenName(g.token), t)
		}
		col.kind, col.max = fixedValue, size
	}
	if col.kind != chunkedValue {
		c.cost += int64(col.max)
	}
	c.list = append(c.list, col)
	g.named()
	return nil
}

// sizeFits reports whether a type with several possible lengths may have the length n.
func sizeFits(t, n byte) bool {
	switch t {
	case typeGUID:
		return n == 16
	case typeIntN:
		return n == 1 || n == 2 || n == 4 || n == 8
	case typeBitN:
		return n == 1
	default: // FLTN, MONEYN, DATETIMEN
		return n == 4 || n == 8
	}
}

// timeSize returns the length of values of TIME, DATETIME2 and DATETIMEOFFSET.
func timeSize(t, scale byte) uint16 {
	n := uint16(5)
	switch {
	case scale <= 2:
		n = 3
	case scale <= 4:
		n = 4
	}
	switch t {
	case typeDateTime2N:
		n += 3
	case typeDateTimeOffset:
		n += 5
	}
	return n
}
