package types

import (
	"cmp"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// Holds reports whether a comparison operator of T-SQL or XQuery is true for the result of Compare.
func Holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>", "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// BitOf returns a bool as a value of type bit.
func BitOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Compare orders two values of the same type and returns -1, 0 or 1. NULL comes first. Character
// values compare by t.Collation without trailing blanks, binary values as if padded with zero
// bytes, datetimeoffset by its instant in UTC, and sql_variant by its family and then by value.
func Compare(a, b Value, t Type) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch x := a.(type) {
	case int64:
		y, _ := b.(int64)
		return cmp.Compare(x, y)
	case float64:
		y, _ := b.(float64)
		return cmp.Compare(x, y)
	case string:
		y, _ := b.(string)
		if t.ID == Decimal {
			return CompareDecimalText(x, y)
		}
		return Collate(x, y, t.Collation)
	case []byte:
		y, _ := b.([]byte)
		switch t.ID {
		case Variant:
			return compareVariants(x, y)
		case DateTimeOffset:
			ux, _ := SplitOffset(x)
			uy, _ := SplitOffset(y)
			return cmp.Compare(ux, uy)
		}
		return comparePadded(x, y)
	}
	return 0
}

// comparePadded compares bytes; the shorter value is padded with zeros.
func comparePadded(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	for _, c := range a[n:] {
		if c != 0 {
			return 1
		}
	}
	for _, c := range b[n:] {
		if c != 0 {
			return -1
		}
	}
	return 0
}

// WriteKey writes the [Key] of a value. It writes the keys of long texts in pieces, so that w can
// end them.
func WriteKey(w io.Writer, v Value, t Type) error {
	if s, ok := v.(string); ok && t.ID != Decimal {
		return writeCollationKey(w, s, t.Collation)
	}
	_, err := io.WriteString(w, Key(v, t))
	return err
}

// Key returns a text that is equal for two values if and only if Compare returns 0 for them. It
// serves grouping and distinct values in Go maps. NULL has no key: the caller must handle it.
func Key(v Value, t Type) string {
	switch x := v.(type) {
	case int64:
		return scaledText(x, 0)
	case float64:
		if x == 0 {
			x = 0 // -0 equals 0
		}
		return FormatNumber(x, FloatType, 3)
	case string:
		if t.ID == Decimal {
			if x = strings.TrimPrefix(x, "-"); isZeroText(x) {
				return "0"
			}
			return v.(string)
		}
		return CollationKey(x, t.Collation)
	case []byte:
		switch t.ID {
		case DateTimeOffset:
			return string(x[:min(8, len(x))])
		case Variant:
			inner, y, err := VariantUnpack(x)
			if err != nil {
				return string(x)
			}
			return string(rune('0'+variantFamily(inner))) + variantKey(y, inner)
		}
		return strings.TrimRight(string(x), "\x00")
	}
	return ""
}

// variantKey returns the key of a value of a sql_variant within its family.
func variantKey(v Value, t Type) string {
	switch {
	case t.IsExact():
		d, ok := asDecimal(t)
		if u := DecimalUnscaled(v, d); ok && u != nil {
			return new(big.Rat).SetFrac(u, bigPow10[d.Scale]).RatString()
		}
	case t.IsCharacter():
		return strconv.Itoa(int(t.Collation)) + "|" + Key(v, t)
	case t.IsTemporal():
		if o, err := Convert(v, t, Type{ID: DateTimeOffset, Scale: 7}, NoStyle); err == nil {
			return Key(o, Type{ID: DateTimeOffset, Scale: 7})
		}
	}
	return Key(v, t)
}
