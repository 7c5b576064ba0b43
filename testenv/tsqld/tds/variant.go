package tds

import (
	"encoding/binary"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// variantInfo returns the form of a base type inside a sql_variant, and its properties (MS-TDS
// 2.2.5.5.4).
func variantInfo(t types.Type) (typeInfo, []byte, error) {
	ti, err := wireType(t, formParam, Version74)
	if err != nil {
		return ti, nil, err
	}
	var props []byte
	ti = ti.fixed()
	switch ti.token {
	case tokTime, tokDateTime2, tokDTOffset:
		props = []byte{t.Scale}
	case tokDecimalN, tokNumericN:
		props = []byte{t.Precision, t.Scale}
	case tokBigVarBin, tokBigBinary:
		props = binary.LittleEndian.AppendUint16(nil, uint16(ti.size))
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar:
		props = binary.LittleEndian.AppendUint16(appendCollation(nil, t.Collation), uint16(ti.size))
	case tokDate, tokGUID, tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime:
	default:
		return ti, nil, valueErrorf(ti, "sql_variant cannot hold it")
	}
	if ti.plp() {
		return ti, nil, valueErrorf(ti, "sql_variant cannot hold it")
	}
	return ti, props, nil
}

// appendVariant appends a sql_variant with its length in four bytes.
func appendVariant(b []byte, v types.Value) ([]byte, error) {
	outer := typeInfo{typ: types.Type{ID: types.Variant}}
	t, val, err := types.VariantUnpack(v)
	if err != nil {
		return b, valueErrorf(outer, "%v", err)
	}
	if val == nil {
		return binary.LittleEndian.AppendUint32(b, 0), nil
	}
	ti, props, err := variantInfo(t)
	if err != nil {
		return b, err
	}
	at := len(b)
	b = append(b, 0, 0, 0, 0, ti.token, byte(len(props)))
	b = append(b, props...)
	start := len(b)
	if ti.token == tokDecimalN || ti.token == tokNumericN {
		b, err = appendDecimal(b, t, val, maxDecimalSize) // SqlClient always reads 17 bytes, whatever the length is
	} else {
		b, err = appendData(b, ti, val)
	}
	if err != nil {
		return b[:at], err
	}
	if len(b)-start > ti.size {
		return b[:at], valueErrorf(ti, "it is longer than the type")
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b, nil
}

// readVariant reads a sql_variant into its packed form.
func readVariant(d *decoder) types.Value {
	n := d.u32()
	if n == 0 || d.err != nil {
		return nil
	}
	if n < 2 || n > maxVariantSize+16 {
		d.failf("sql_variant of %d bytes", n)
		return nil
	}
	e := newDecoder("sql_variant", d.take(int(n)))
	ti := typeInfo{token: e.u8()}
	props := newDecoder("sql_variant properties", e.bytes(int(e.u8())))
	switch ti.token {
	case tokDecimalN, tokNumericN:
		ti.typ = types.Type{ID: types.Decimal, Precision: props.u8(), Scale: props.u8(), Numeric: ti.token == tokNumericN}
		if p := ti.typ.Precision; p == 0 || p > 38 || ti.typ.Scale > p {
			e.failf("decimal with precision %d and scale %d", p, ti.typ.Scale)
		}
	case tokTime, tokDateTime2, tokDTOffset:
		readTemporalInfo(props, &ti)
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary:
		// Here the collation comes before the size.
		var c types.Collation
		if ti.token != tokBigVarBin && ti.token != tokBigBinary {
			c, ti.utf8 = readCollation(props)
		}
		size := int(props.u16())
		head := binary.LittleEndian.AppendUint16(nil, uint16(size))
		readShortLenInfo(newDecoder(e.what, append(head, 0, 0, 0, 0, 0)), &ti)
		ti.typ.Collation = c
		if size > maxShortSize {
			e.failf("%s of %d bytes", ti, size)
		}
	case tokGUID:
		ti.typ.ID, ti.size = types.UniqueIdentifier, 16
	case tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime, tokDate:
		ti = readTypeInfo(newDecoder(e.what, []byte{ti.token}), formParam)
	default:
		e.failf("base type token %#02x", ti.token)
	}
	if props.err != nil {
		e.fail(props.err)
	}
	if e.err != nil {
		d.fail(e.err)
		return nil
	}
	raw := e.take(e.left())
	switch ti.token {
	case tokBigVarChar, tokBigChar, tokNVarChar, tokNChar, tokBigVarBin, tokBigBinary:
		if len(raw) > ti.size {
			d.fail(sizeError(ti))
			return nil
		}
		raw = pad(ti, raw)
	case tokInt1, tokBit, tokInt2, tokInt4, tokInt8, tokFloat4, tokFloat8, tokMoney4, tokMoney, tokDateTime4, tokDateTime:
		if len(raw) != ti.size {
			d.fail(sizeError(ti))
			return nil
		}
	}
	if raw == nil {
		raw = []byte{}
	}
	val, err := decodeData(ti, raw)
	if err != nil {
		d.fail(err)
		return nil
	}
	packed, err := types.VariantPack(val, ti.typ)
	if err != nil {
		d.fail(valueErrorf(ti, "%v", err))
		return nil
	}
	return packed
}
