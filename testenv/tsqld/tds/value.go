package tds

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/types/xmltext"
)

// Marks of partially length-prefixed values (MS-TDS 2.2.5.2.3).
const (
	plpNull    = math.MaxUint64
	plpUnknown = math.MaxUint64 - 1
)

// lobNull is the length of a NULL text, ntext or image parameter.
const lobNull = math.MaxUint32

// textPointer precedes the data of a text, ntext or image column: the length of the pointer, the
// pointer and a timestamp. Clients ignore all of them.
var textPointer = append([]byte{16}, make([]byte, 16+8)...)

// appendNull appends a NULL. The type must allow NULL.
func appendNull(b []byte, ti typeInfo, f form) []byte {
	switch ti.token {
	case tokText, tokNText, tokImage:
		if f == formColumn {
			return append(b, 0)
		}
		return binary.LittleEndian.AppendUint32(b, lobNull)
	case tokVariant:
		return binary.LittleEndian.AppendUint32(b, 0)
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary, tokXML:
		if ti.plp() {
			return binary.LittleEndian.AppendUint64(b, plpNull)
		}
		return binary.LittleEndian.AppendUint16(b, 0xFFFF)
	case tokNull:
		return b
	default:
		return append(b, 0)
	}
}

// nullSize returns how many bytes appendNull needs in a row.
func nullSize(ti typeInfo) int {
	var room [8]byte
	return len(appendNull(room[:0], ti, formColumn))
}

// appendValue appends a value with its length. The error is a [*ValueError].
func appendValue(b []byte, ti typeInfo, f form, v types.Value) ([]byte, error) {
	if v == nil {
		if ti.isFixed() {
			return b, valueErrorf(ti, "it is NULL in a column announced as not nullable")
		}
		return appendNull(b, ti, f), nil
	}
	switch ti.token {
	case tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime:
		return appendData(b, ti, v)
	case tokText, tokNText, tokImage:
		if f == formColumn {
			b = append(b, textPointer...)
		}
		return appendSized(b, ti, v, 4)
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary, tokXML:
		if ti.plp() {
			return appendPLP(b, ti, v)
		}
		return appendSized(b, ti, v, 2)
	case tokVariant:
		return appendVariant(b, v)
	default:
		return appendSized(b, ti, v, 1)
	}
}

// appendSized appends the length in width bytes and the value.
func appendSized(b []byte, ti typeInfo, v types.Value, width int) ([]byte, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0)[:at+width]
	b, err := appendData(b, ti, v)
	if err != nil {
		return b[:at], err
	}
	n := len(b) - at - width
	if n > ti.size {
		return b[:at], &ValueError{Type: ti.String(), Why: "it is longer than the type"}
	}
	switch width {
	case 1:
		b[at] = byte(n)
	case 2:
		binary.LittleEndian.PutUint16(b[at:], uint16(n))
	default:
		binary.LittleEndian.PutUint32(b[at:], uint32(n))
	}
	return b, nil
}

// appendPLP appends the value as one chunk of known length.
func appendPLP(b []byte, ti typeInfo, v types.Value) ([]byte, error) {
	at := len(b)
	b = append(b, make([]byte, 12)...)
	b, err := appendData(b, ti, v)
	if err != nil {
		return b[:at], err
	}
	n := len(b) - at - 12
	if n > maxLOB {
		return b[:at], &ValueError{Type: ti.String(), Why: "it is longer than 2 GB"}
	}
	binary.LittleEndian.PutUint64(b[at:], uint64(n))
	if n == 0 { // no chunk: the reserved zero length is the end mark
		return b, nil
	}
	binary.LittleEndian.PutUint32(b[at+8:], uint32(n))
	return append(b, 0, 0, 0, 0), nil
}

// appendData appends the bytes of a value that is not NULL, without its length.
func appendData(b []byte, ti typeInfo, v types.Value) ([]byte, error) {
	if ti.asSQL {
		s, err := temporalText(ti.typ, v)
		if err != nil {
			return b, err
		}
		return appendUTF16(b, s), nil
	}
	switch ti.token {
	case tokIntN, tokInt1, tokInt2, tokInt4, tokInt8, tokBit, tokBitN:
		return appendInteger(b, ti, v)
	case tokDecimalN, tokNumericN, tokOldDecimal, tokOldNumeric:
		return appendDecimal(b, ti.typ, v, decimalSize(ti.typ.Precision))
	case tokMoneyN, tokMoney, tokMoney4:
		return appendMoney(b, ti, v)
	case tokFloatN, tokFloat4, tokFloat8:
		x, ok := v.(float64)
		if !ok {
			return b, formError(ti, v)
		}
		if ti.size == 4 {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x))), nil
		}
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)), nil
	case tokDateTimeN, tokDateTime, tokDateTime4, tokDate, tokTime, tokDateTime2, tokDTOffset:
		return appendTemporal(b, ti, v)
	case tokGUID:
		raw, _ := v.([]byte)
		if len(raw) != 16 {
			return b, formError(ti, v)
		}
		return append(b, types.GUIDToWire(raw)...), nil
	case tokBigVarChar, tokBigChar, tokText, tokVarChar, tokChar:
		s, ok := v.(string)
		if !ok {
			return b, formError(ti, v)
		}
		if ti.utf8 {
			return append(b, s...), nil
		}
		return append1252(b, s), nil
	case tokNVarChar, tokNChar, tokNText, tokXML:
		s, ok := v.(string)
		if !ok {
			return b, formError(ti, v)
		}
		return appendUTF16(b, s), nil
	case tokBigVarBin, tokBigBinary, tokImage, tokVarBinary, tokBinary:
		raw, ok := v.([]byte)
		if !ok {
			return b, formError(ti, v)
		}
		return append(b, raw...), nil
	default:
		return b, formError(ti, v)
	}
}

// formError reports a value whose Go type is not that of package types.
func formError(ti typeInfo, v types.Value) error {
	return valueErrorf(ti, "invalid Go type %T", v)
}

// appendInteger appends an integer or bit in the type's width.
func appendInteger(b []byte, ti typeInfo, v types.Value) ([]byte, error) {
	n, ok := v.(int64)
	if !ok {
		return b, formError(ti, v)
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch {
	case ti.typ.ID == types.Bit:
		lo, hi = 0, 1
	case ti.size == 1:
		lo, hi = 0, math.MaxUint8
	case ti.size == 2:
		lo, hi = math.MinInt16, math.MaxInt16
	case ti.size == 4:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	if n < lo || n > hi {
		return b, valueErrorf(ti, "it is out of range")
	}
	switch ti.size {
	case 1:
		return append(b, byte(n)), nil
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(n)), nil
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(n)), nil
	default:
		return binary.LittleEndian.AppendUint64(b, uint64(n)), nil
	}
}

// appendMoney appends money (high half first) or smallmoney (MS-TDS 2.2.5.5.1.2).
func appendMoney(b []byte, ti typeInfo, v types.Value) ([]byte, error) {
	n, ok := v.(int64)
	if !ok {
		return b, formError(ti, v)
	}
	if ti.size == 4 {
		if n != int64(int32(n)) {
			return b, valueErrorf(ti, "it is out of range")
		}
		return binary.LittleEndian.AppendUint32(b, uint32(n)), nil
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(n>>32))
	return binary.LittleEndian.AppendUint32(b, uint32(n)), nil
}

// readValue reads a value with its length, and pads char, nchar and binary. A value that its type
// does not allow sets a [*ValueError] at the decoder; a length that its type does not allow sets a
// [*LengthError].
func readValue(d *decoder, ti typeInfo, f form) types.Value {
	var raw []byte
	switch ti.token {
	case tokNull:
		return nil
	case tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime:
		raw = d.take(ti.size)
	case tokText, tokNText, tokImage:
		if f == formColumn {
			n := int(d.u8())
			if n == 0 {
				return nil
			}
			d.take(n + 8)
		}
		n := d.u32()
		if n == lobNull {
			return nil
		}
		if n > maxLOB {
			d.failf("%s of %d bytes", ti, n)
		}
		raw = d.take(int(n))
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary, tokXML:
		if ti.plp() {
			var null bool
			if raw, null = readPLP(d, ti); null {
				return nil
			}
			break
		}
		n := int(d.u16())
		if n == 0xFFFF {
			return nil
		}
		if n > ti.size {
			d.fail(&LengthError{Token: ti.token})
		}
		raw = pad(ti, d.take(n))
	case tokVariant:
		return readVariant(d)
	default:
		n := int(d.u8())
		if n == 0 {
			return nil
		}
		if !ti.allows(n) {
			d.fail(&LengthError{Token: ti.token})
		}
		raw = pad(ti, d.take(n))
	}
	if d.err != nil {
		return nil
	}
	v, err := decodeData(ti, raw)
	if err != nil {
		d.fail(err)
		return nil
	}
	return v
}

// readPLP joins the chunks of a value; null is true for NULL. The result is valid until the
// decoder's next call.
func readPLP(d *decoder, ti typeInfo) (raw []byte, null bool) {
	total := d.u64()
	switch {
	case d.err != nil:
		return nil, false
	case total == plpNull:
		return nil, true
	case total != plpUnknown && total > maxLOB:
		d.failf("%s of %d bytes", ti, total)
		return nil, false
	}
	raw = []byte{}
	for {
		n := d.u32()
		if n == 0 || d.err != nil {
			break
		}
		if uint64(len(raw))+uint64(n) > maxLOB {
			d.failf("%s with chunks of more than 2 GB", ti)
			break
		}
		chunk := d.take(int(n))
		if len(raw) == 0 && d.more == nil { // a view, valid as long as the message
			raw = chunk[:len(chunk):len(chunk)]
			continue
		}
		raw = append(raw, chunk...)
	}
	if d.err == nil && total != plpUnknown && uint64(len(raw)) != total {
		d.failf("%s of %d bytes with chunks of %d", ti, total, len(raw))
	}
	return raw, false
}

// decodeData converts the bytes of a value that is not NULL. It keeps no reference to raw.
func decodeData(ti typeInfo, raw []byte) (types.Value, error) {
	switch ti.token {
	case tokIntN, tokBitN, tokInt1, tokBit, tokInt2, tokInt4, tokInt8:
		return decodeInteger(ti, raw)
	case tokDecimalN, tokNumericN, tokOldDecimal, tokOldNumeric:
		return decodeDecimal(ti, raw)
	case tokMoneyN, tokMoney, tokMoney4:
		switch len(raw) {
		case 4:
			return int64(int32(binary.LittleEndian.Uint32(raw))), nil
		case 8:
			return int64(binary.LittleEndian.Uint32(raw))<<32 | int64(binary.LittleEndian.Uint32(raw[4:])), nil
		}
	case tokFloatN, tokFloat4, tokFloat8:
		var x float64
		switch len(raw) {
		case 4:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		case 8:
			x = math.Float64frombits(binary.LittleEndian.Uint64(raw))
		default:
			return nil, sizeError(ti)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, valueErrorf(ti, "it is not a finite number")
		}
		return x, nil
	case tokDateTimeN, tokDateTime, tokDateTime4, tokDate, tokTime, tokDateTime2, tokDTOffset:
		return decodeTemporal(ti, raw)
	case tokGUID:
		if len(raw) == 16 {
			return types.GUIDFromWire(raw), nil
		}
	case tokBigVarChar, tokBigChar, tokText, tokVarChar, tokChar:
		if ti.utf8 {
			return string([]rune(string(raw))), nil // replaces invalid UTF-8
		}
		return decode1252(raw), nil
	case tokNVarChar, tokNChar, tokNText, tokXML:
		if len(raw)%2 != 0 {
			return nil, sizeError(ti)
		}
		if ti.token == tokXML {
			text, err := xmltext.Parse(decodeUTF16(raw), "utf-16", types.NoStyle, nil)
			if err != nil {
				return nil, err
			}
			return text, nil
		}
		return decodeUTF16(raw), nil
	case tokBigVarBin, tokBigBinary, tokImage, tokVarBinary, tokBinary:
		return append(make([]byte, 0, len(raw)), raw...), nil
	}
	return nil, sizeError(ti)
}

// maxDecimalBytes is the size of a decimal of 38 digits, sign included.
const maxDecimalBytes = 17

// allows reports whether a value with one byte of length may have n bytes. A client may send more
// bytes of a decimal than its precision needs: SqlClient always sends 17.
func (t typeInfo) allows(n int) bool {
	switch t.token {
	case tokDecimalN, tokNumericN, tokOldDecimal, tokOldNumeric:
		return n <= maxDecimalBytes
	case tokChar, tokVarChar, tokBinary, tokVarBinary:
		return n <= t.size
	}
	return n == t.size || t.token == tokGUID && n == 16
}

// pad extends a value of char, nchar or binary to its full length, as SQL Server does with values
// from clients (SET ANSI_PADDING, which is always ON).
func pad(ti typeInfo, raw []byte) []byte {
	var with []byte
	switch ti.token {
	case tokBigChar, tokChar:
		with = []byte{' '}
	case tokNChar:
		with = []byte{' ', 0}
	case tokBigBinary, tokBinary:
		with = []byte{0}
	default:
		return raw
	}
	missing := ti.typ.Length*len(with) - len(raw)
	if ti.plp() || missing <= 0 {
		return raw
	}
	return append(raw[:len(raw):len(raw)], bytes.Repeat(with, missing/len(with))...)
}

// sizeError reports a value with a length that its type cannot have.
func sizeError(ti typeInfo) error { return &LengthError{Token: ti.token} }

// decodeInteger decodes an integer or bit. tinyint is unsigned, and every bit except 0 is 1.
func decodeInteger(ti typeInfo, raw []byte) (types.Value, error) {
	switch len(raw) {
	case 1:
		if ti.typ.ID == types.Bit && raw[0] != 0 {
			return int64(1), nil
		}
		return int64(raw[0]), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(raw))), nil
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(raw))), nil
	case 8:
		return int64(binary.LittleEndian.Uint64(raw)), nil
	default:
		return nil, sizeError(ti)
	}
}
