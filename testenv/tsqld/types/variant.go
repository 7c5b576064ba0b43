package types

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// variantHeader is the size of an encoded Type: ID, Length (4, big-endian), Precision, Scale, a
// byte with the high bits of Collation above the bit of Numeric, and the low byte of Collation.
const variantHeader = 9

// VariantPack packs a value of type t as a sql_variant: the encoded type, and then eight big-endian
// bytes of an int64 or float64, or the text or bytes unchanged. NULL stays NULL. Error 206 for the
// types that sql_variant cannot hold: (max), text, ntext, image, xml, rowversion and sql_variant
// itself.
func VariantPack(v Value, t Type) (Value, error) {
	if v == nil {
		return nil, nil
	}
	if t.ID == Variant {
		return v, nil
	}
	if t.IsLOB() || t.IsMax() || t.ID == XML || t.ID == RowVersion || t.ID == 0 || t.ID == Null {
		return nil, mserr.TypeClash(t.String(), "sql_variant")
	}
	b := make([]byte, variantHeader, variantHeader+16)
	b[0] = byte(t.ID)
	binary.BigEndian.PutUint32(b[1:], uint32(int32(t.Length)))
	b[5], b[6], b[7], b[8] = t.Precision, t.Scale, byte(BitOf(t.Numeric))|byte(t.Collation>>8<<1), byte(t.Collation)
	switch v := v.(type) {
	case int64:
		return binary.BigEndian.AppendUint64(b, uint64(v)), nil
	case float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v)), nil
	case string:
		return append(b, v...), nil
	case []byte:
		return append(b, v...), nil
	}
	return nil, mserr.TypeClash(t.String(), "sql_variant")
}

// VariantUnpack is the inverse of VariantPack. Malformed bytes are an error.
func VariantUnpack(v Value) (Type, Value, error) {
	if v == nil {
		return NullType, nil, nil
	}
	b, ok := v.([]byte)
	if !ok || len(b) < variantHeader {
		return Type{}, nil, mserr.ConversionError("sql_variant", "value")
	}
	t := Type{
		ID: ID(b[0]), Length: int(int32(binary.BigEndian.Uint32(b[1:]))), Precision: b[5], Scale: b[6],
		Numeric: b[7]&1 != 0, Collation: Collation(b[7]>>1)<<8 | Collation(b[8]),
	}
	b = b[variantHeader:]
	switch t.Storage() {
	case "TEXT":
		return t, string(b), nil
	case "BLOB":
		return t, b, nil
	}
	if len(b) != 8 {
		return Type{}, nil, mserr.ConversionError("sql_variant", "value")
	}
	n := binary.BigEndian.Uint64(b)
	if t.IsApprox() {
		return t, math.Float64frombits(n), nil
	}
	return t, int64(n), nil
}

// variantFamily returns the rank of the type's family, by which sql_variants of different base
// types compare ("sql_variant (Transact-SQL)", hierarchy of the data type families).
func variantFamily(t Type) int {
	switch {
	case t.IsTemporal():
		return 5
	case t.IsApprox():
		return 4
	case t.IsExact():
		return 3
	case t.ID == UniqueIdentifier:
		return 1
	case t.IsString():
		return 2
	}
	return 0
}

// compareVariants orders two packed values: by family, then texts of different collations by
// collation, and all others by their common type ("sql_variant (Transact-SQL)").
func compareVariants(a, b []byte) int {
	ta, va, errA := VariantUnpack(a)
	tb, vb, errB := VariantUnpack(b)
	if errA != nil || errB != nil {
		return 0
	}
	if fa, fb := variantFamily(ta), variantFamily(tb); fa != fb {
		if fa < fb {
			return -1
		}
		return 1
	}
	if ta.IsCharacter() && tb.IsCharacter() && ta.Collation != tb.Collation {
		return cmp.Compare(ta.Collation, tb.Collation)
	}
	if ta.IsExact() && tb.IsExact() && (ta.ID == Decimal || tb.ID == Decimal) { // no common type holds the digits of both
		return compareExact(va, ta, vb, tb)
	}
	t, err := common2(ta, tb)
	if err != nil {
		return 0
	}
	va, errA = Convert(va, ta, t, NoStyle)
	vb, errB = Convert(vb, tb, t, NoStyle)
	if errA != nil || errB != nil {
		return 0
	}
	return Compare(va, vb, t)
}

// compareExact compares exact numbers.
func compareExact(a Value, ta Type, b Value, tb Type) int {
	da, okA := asDecimal(ta)
	db, okB := asDecimal(tb)
	if !okA || !okB {
		return 0
	}
	x, y := DecimalUnscaled(a, da), DecimalUnscaled(b, db)
	if x == nil || y == nil {
		return 0
	}
	top := max(da.Scale, db.Scale)
	return rescale(x, da.Scale, top).Cmp(rescale(y, db.Scale, top))
}

// CollationVariant is the name of the SQLite collation that orders the hexadecimal texts of packed
// sql_variants.
const CollationVariant = "tsql_variant"

// CompareVariantHex implements [CollationVariant].
func CompareVariantHex(a, b string) int {
	x, errA := hex.DecodeString(a)
	y, errB := hex.DecodeString(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return compareVariants(x, y)
}
