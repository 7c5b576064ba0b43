package tds

import (
	"encoding/binary"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Type tokens (MS-TDS 2.2.5.4).
const (
	tokNull       = 0x1F
	tokInt1       = 0x30
	tokBit        = 0x32
	tokInt2       = 0x34
	tokInt4       = 0x38
	tokDateTime4  = 0x3A
	tokFloat4     = 0x3B
	tokMoney      = 0x3C
	tokDateTime   = 0x3D
	tokFloat8     = 0x3E
	tokMoney4     = 0x7A
	tokInt8       = 0x7F
	tokGUID       = 0x24
	tokIntN       = 0x26
	tokOldDecimal = 0x37
	tokOldNumeric = 0x3F
	tokBitN       = 0x68
	tokDecimalN   = 0x6A
	tokNumericN   = 0x6C
	tokFloatN     = 0x6D
	tokMoneyN     = 0x6E
	tokDateTimeN  = 0x6F
	tokDate       = 0x28
	tokTime       = 0x29
	tokDateTime2  = 0x2A
	tokDTOffset   = 0x2B
	tokChar       = 0x2F // one byte of length, before TDS 7
	tokVarChar    = 0x27
	tokBinary     = 0x2D
	tokVarBinary  = 0x25
	tokBigVarBin  = 0xA5
	tokBigVarChar = 0xA7
	tokBigBinary  = 0xAD
	tokBigChar    = 0xAF
	tokNVarChar   = 0xE7
	tokNChar      = 0xEF
	tokXML        = 0xF1
	tokUDT        = 0xF0
	tokTVP        = 0xF3
	tokText       = 0x23
	tokImage      = 0x22
	tokNText      = 0x63
	tokVariant    = 0x62
)

// Limits of sizes in bytes (MS-TDS 2.2.5.4.3).
const (
	plpSize        = 0xFFFF // size in TYPE_INFO of a (max) type
	maxShortSize   = 8000   // largest size of the types with two bytes of length
	maxVariantSize = 8009   // SQL Server's announced size of sql_variant
	maxDecimalSize = 17     // SQL Server's announced size of decimals of every precision, and their size in a sql_variant
	maxLOB         = 1<<31 - 1
)

// userTypeTimestamp is the UserType that distinguishes rowversion from binary(8).
const userTypeTimestamp = 80

// form is the place of a TYPE_INFO and its values. text, ntext and image differ by it.
type form uint8

const (
	formParam  form = iota // RPC parameter, RETURNVALUE, column of a table-valued parameter
	formColumn             // COLMETADATA and ROW; also those that a client sends in a bulk load
)

// typeInfo is a TYPE_INFO and its [types.Type].
type typeInfo struct {
	token byte
	size  int // largest value in bytes; plpSize for (max) types and xml; the width of fixed ones; maxDecimalSize for decimals
	typ   types.Type
	utf8  bool // char and varchar data is UTF-8, by the collation
	asSQL bool // the client's version does not have the type, so it is sent as nvarchar
}

// plp reports whether values are partially length-prefixed.
func (t typeInfo) plp() bool { return t.size == plpSize }

// String returns the name of the type, for errors.
func (t typeInfo) String() string { return t.typ.String() }

// timeSize returns the size of a time in bytes by its scale (MS-TDS 2.2.5.5.1.8).
func timeSize(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	default:
		return 5
	}
}

// decimalSize returns the size of a decimal in bytes by its precision, sign included (MS-TDS
// 2.2.5.5.1.6).
func decimalSize(precision uint8) int {
	switch {
	case precision <= 9:
		return 5
	case precision <= 19:
		return 9
	case precision <= 28:
		return 13
	default:
		return 17
	}
}

// wireForms are the tokens and sizes of types that have one form, by ID.
var wireForms = [256]nullable{
	types.Bit: {tokBitN, 1}, types.TinyInt: {tokIntN, 1}, types.SmallInt: {tokIntN, 2}, types.Int: {tokIntN, 4},
	types.Null: {tokIntN, 4}, types.BigInt: {tokIntN, 8}, types.Money: {tokMoneyN, 8}, types.SmallMoney: {tokMoneyN, 4},
	types.Real: {tokFloatN, 4}, types.Float: {tokFloatN, 8}, types.DateTime: {tokDateTimeN, 8},
	types.SmallDateTime: {tokDateTimeN, 4}, types.UniqueIdentifier: {tokGUID, 16}, types.RowVersion: {tokBigBinary, 8},
	types.Variant: {tokVariant, maxVariantSize},
}

// wireType returns the form of t for a client of version v. A type that v does not have is sent as
// SQL Server's substitute for it (MS-TDS 2.2.5.4, "down-level").
func wireType(t types.Type, f form, v Version) (typeInfo, error) {
	ti := typeInfo{typ: t}
	if known := wireForms[t.ID]; known.token != 0 {
		ti.token, ti.size = known.token, known.size
		return ti, nil
	}
	switch t.ID {
	case types.Decimal:
		if t.Precision == 0 || t.Precision > 38 || t.Scale > t.Precision {
			return ti, &ValueError{Type: t.String(), Why: "precision or scale out of range"}
		}
		ti.token, ti.size = tokDecimalN, maxDecimalSize
		if t.Numeric {
			ti.token = tokNumericN
		}
	case types.Date, types.Time, types.DateTime2, types.DateTimeOffset:
		return wireTemporal(ti, v)
	case types.Char, types.VarChar, types.Binary, types.VarBinary, types.NChar, types.NVarChar, types.Text, types.NText, types.Image, types.XML:
		return wireString(ti, f, v), nil
	default:
		return ti, &ValueError{Type: t.String(), Why: "the type cannot be sent"}
	}
	return ti, nil
}

// nullable is a type whose values have a length, so that they can be NULL.
type nullable struct {
	token byte
	size  int
}

// fixedTokens are the fixed-length types, whose values have no length (MS-TDS 2.2.5.4.1).
var fixedTokens = map[nullable]byte{
	{tokIntN, 1}: tokInt1, {tokIntN, 2}: tokInt2, {tokIntN, 4}: tokInt4, {tokIntN, 8}: tokInt8, {tokBitN, 1}: tokBit,
	{tokFloatN, 4}: tokFloat4, {tokFloatN, 8}: tokFloat8, {tokMoneyN, 4}: tokMoney4, {tokMoneyN, 8}: tokMoney,
	{tokDateTimeN, 4}: tokDateTime4, {tokDateTimeN, 8}: tokDateTime,
}

// fixed returns the form of a column that is never NULL: a fixed-length type. SqlClient derives the
// form from the column's nullable flag and ignores the token. Other types have one form only.
func (t typeInfo) fixed() typeInfo {
	if token, ok := fixedTokens[nullable{t.token, t.size}]; ok {
		t.token = token
	}
	return t
}

// isFixed reports whether values have no length, and therefore no NULL.
func (t typeInfo) isFixed() bool {
	switch t.token {
	case tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime:
		return true
	default:
		return false
	}
}

// wireTemporal completes the types of TDS 7.3.
func wireTemporal(ti typeInfo, v Version) (typeInfo, error) {
	if ti.typ.Scale > 7 {
		return ti, &ValueError{Type: ti.String(), Why: "scale out of range"}
	}
	n := timeSize(ti.typ.Scale)
	text := 0 // length of the text form at scale 7, SQL Server's announced size
	switch ti.typ.ID {
	case types.Date:
		ti.token, ti.size, text = tokDate, 3, 10
	case types.Time:
		ti.token, ti.size, text = tokTime, n, 16
	case types.DateTime2:
		ti.token, ti.size, text = tokDateTime2, n+3, 27
	default:
		ti.token, ti.size, text = tokDTOffset, n+5, 34
	}
	if !v.since73() {
		ti.token, ti.size, ti.asSQL = tokNVarChar, 2*text, true
	}
	return ti, nil
}

// wireString completes character and binary types.
func wireString(ti typeInfo, f form, v Version) typeInfo {
	unit, lob := 1, byte(tokText)
	switch ti.typ.ID {
	case types.Char:
		ti.token = tokBigChar
	case types.VarChar, types.Text:
		ti.token = tokBigVarChar
	case types.NChar:
		ti.token, unit, lob = tokNChar, 2, tokNText
	case types.NVarChar, types.NText:
		ti.token, unit, lob = tokNVarChar, 2, tokNText
	case types.XML:
		ti.token, unit, lob = tokXML, 2, tokNText
	case types.Binary:
		ti.token, lob = tokBigBinary, tokImage
	case types.VarBinary, types.Image:
		ti.token, lob = tokBigVarBin, tokImage
	}
	ti.utf8 = ti.typ.Collation.IsUTF8()
	// An empty literal has length 0, which the wire does not allow.
	ti.size = unit * max(ti.typ.Length, 1)
	long := ti.typ.Length == types.Max || ti.size > maxShortSize || ti.typ.ID == types.XML
	old := ti.typ.ID == types.Text || ti.typ.ID == types.NText || ti.typ.ID == types.Image
	switch {
	case f == formColumn && (old || long && !v.since72()):
		ti.token, ti.size = lob, maxLOB
	case (old || long) && v.since72():
		ti.size = plpSize
		switch ti.token { // char(n) is never that long
		case tokBigChar:
			ti.token = tokBigVarChar
		case tokNChar:
			ti.token = tokNVarChar
		case tokBigBinary:
			ti.token = tokBigVarBin
		}
	case old || long: // a RETURNVALUE of TDS 7.1 cannot be longer
		ti.size = maxShortSize
		if ti.token == tokXML {
			ti.token = tokNVarChar
		}
	}
	return ti
}

// appendTypeInfo appends the TYPE_INFO. In a column, a table name follows text, ntext and image.
func appendTypeInfo(b []byte, ti typeInfo) []byte {
	b = append(b, ti.token)
	switch ti.token {
	case tokDate, tokNull, tokInt1, tokBit, tokInt2, tokInt4, tokDateTime4, tokFloat4, tokMoney, tokDateTime, tokFloat8, tokMoney4, tokInt8:
	case tokTime, tokDateTime2, tokDTOffset:
		b = append(b, ti.typ.Scale)
	case tokDecimalN, tokNumericN:
		b = append(b, byte(ti.size), ti.typ.Precision, ti.typ.Scale)
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar:
		b = binary.LittleEndian.AppendUint16(b, uint16(ti.size))
		b = appendCollation(b, ti.typ.Collation)
	case tokBigVarBin, tokBigBinary:
		b = binary.LittleEndian.AppendUint16(b, uint16(ti.size))
	case tokXML:
		b = append(b, 0) // no schema
	case tokText, tokNText, tokImage:
		size := uint32(maxLOB)
		if ti.token == tokNText {
			size--
		}
		b = binary.LittleEndian.AppendUint32(b, size)
		if ti.token != tokImage {
			b = appendCollation(b, ti.typ.Collation)
		}
	case tokVariant:
		b = binary.LittleEndian.AppendUint32(b, uint32(ti.size))
	default: // one byte of size
		b = append(b, byte(ti.size))
	}
	return b
}

// readTypeInfo reads a TYPE_INFO from a client. In the columns of a bulk load (formColumn) a table
// name as US_VARCHAR follows text, ntext and image.
func readTypeInfo(d *decoder, f form) typeInfo {
	ti := typeInfo{token: d.u8()}
	fixed := func(id types.ID, size int) { ti.typ.ID, ti.size = id, size }
	switch ti.token {
	case tokNull:
		fixed(types.Null, 0)
	case tokInt1:
		fixed(types.TinyInt, 1)
	case tokBit:
		fixed(types.Bit, 1)
	case tokInt2:
		fixed(types.SmallInt, 2)
	case tokInt4:
		fixed(types.Int, 4)
	case tokInt8:
		fixed(types.BigInt, 8)
	case tokFloat4:
		fixed(types.Real, 4)
	case tokFloat8:
		fixed(types.Float, 8)
	case tokMoney4:
		fixed(types.SmallMoney, 4)
	case tokMoney:
		fixed(types.Money, 8)
	case tokDateTime4:
		fixed(types.SmallDateTime, 4)
	case tokDateTime:
		fixed(types.DateTime, 8)
	case tokDate:
		fixed(types.Date, 3)
	case tokTime, tokDateTime2, tokDTOffset:
		readTemporalInfo(d, &ti)
	case tokGUID, tokIntN, tokBitN, tokFloatN, tokMoneyN, tokDateTimeN:
		readByteLenInfo(d, &ti)
	case tokDecimalN, tokNumericN, tokOldDecimal, tokOldNumeric:
		size := int(d.u8())
		ti.typ = types.Type{ID: types.Decimal, Precision: d.u8(), Scale: d.u8(), Numeric: ti.token == tokNumericN || ti.token == tokOldNumeric}
		ti.size = size
		if p := ti.typ.Precision; p == 0 || p > 38 || ti.typ.Scale > p || size < 2 || size > 17 {
			d.failf("decimal of %d bytes with precision %d and scale %d", size, p, ti.typ.Scale)
		}
	case tokChar, tokVarChar, tokBinary, tokVarBinary:
		ti.size = int(d.u8())
		ti.typ.ID = map[byte]types.ID{tokChar: types.Char, tokVarChar: types.VarChar, tokBinary: types.Binary, tokVarBinary: types.VarBinary}[ti.token]
		ti.typ.Length = max(ti.size, 1)
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary:
		readShortLenInfo(d, &ti)
	case tokXML:
		ti.typ.ID, ti.size = types.XML, plpSize
		if d.u8() != 0 { // a schema collection; its name is not used
			d.bVarchar()
			d.bVarchar()
			d.usVarchar()
		}
	case tokText, tokNText, tokImage:
		ti.size = maxLOB
		ti.typ.ID = map[byte]types.ID{tokText: types.Text, tokNText: types.NText, tokImage: types.Image}[ti.token]
		d.u32()
		if ti.token != tokImage {
			ti.typ.Collation, ti.utf8 = readCollation(d)
		}
		if f == formColumn {
			d.usVarchar()
		}
	case tokVariant:
		ti.typ.ID, ti.size = types.Variant, maxVariantSize
		d.u32()
	case tokUDT:
		d.failf("CLR user-defined types are not supported by tsqld")
	default:
		d.failf("unknown type token %#02x", ti.token)
	}
	return ti
}

// readTemporalInfo reads the scale of time, datetime2 and datetimeoffset.
func readTemporalInfo(d *decoder, ti *typeInfo) {
	scale := d.u8()
	if scale > 7 {
		d.failf("time with scale %d", scale)
		return
	}
	ti.typ.Scale = scale
	ti.size = timeSize(scale)
	switch ti.token {
	case tokTime:
		ti.typ.ID = types.Time
	case tokDateTime2:
		ti.typ.ID, ti.size = types.DateTime2, ti.size+3
	default:
		ti.typ.ID, ti.size = types.DateTimeOffset, ti.size+5
	}
}

// readByteLenInfo reads the size of the types with one byte of length. The size selects one of
// several SQL types.
func readByteLenInfo(d *decoder, ti *typeInfo) {
	ti.size = int(d.u8())
	ids := map[[2]int]types.ID{
		{tokGUID, 16}: types.UniqueIdentifier, {tokGUID, 0}: types.UniqueIdentifier,
		{tokIntN, 1}: types.TinyInt, {tokIntN, 2}: types.SmallInt, {tokIntN, 4}: types.Int, {tokIntN, 8}: types.BigInt,
		{tokBitN, 1}: types.Bit, {tokFloatN, 4}: types.Real, {tokFloatN, 8}: types.Float,
		{tokMoneyN, 4}: types.SmallMoney, {tokMoneyN, 8}: types.Money,
		{tokDateTimeN, 4}: types.SmallDateTime, {tokDateTimeN, 8}: types.DateTime,
	}
	id, ok := ids[[2]int{int(ti.token), ti.size}]
	if !ok {
		d.failf("type token %#02x with %d bytes", ti.token, ti.size)
	}
	ti.typ.ID = id
}

// readShortLenInfo reads size and collation of the character and binary types with two bytes of
// length.
func readShortLenInfo(d *decoder, ti *typeInfo) {
	ti.size = int(d.u16())
	unit := 1
	switch ti.token {
	case tokBigVarChar:
		ti.typ.ID = types.VarChar
	case tokBigChar:
		ti.typ.ID = types.Char
	case tokNVarChar:
		ti.typ.ID, unit = types.NVarChar, 2
	case tokNChar:
		ti.typ.ID, unit = types.NChar, 2
	case tokBigVarBin:
		ti.typ.ID = types.VarBinary
	default:
		ti.typ.ID = types.Binary
	}
	if ti.token != tokBigVarBin && ti.token != tokBigBinary {
		ti.typ.Collation, ti.utf8 = readCollation(d)
	}
	switch {
	case ti.size == plpSize:
		ti.typ.Length = types.Max
		// T-SQL has no char(max), but clients may declare it for a parameter.
		switch ti.typ.ID {
		case types.Char:
			ti.typ.ID = types.VarChar
		case types.NChar:
			ti.typ.ID = types.NVarChar
		case types.Binary:
			ti.typ.ID = types.VarBinary
		}
	case ti.size > maxShortSize:
		d.failf("type token %#02x with %d bytes", ti.token, ti.size)
	default:
		ti.typ.Length = max(ti.size/unit, 1) // empty values have size 0
	}
}
