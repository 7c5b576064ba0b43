package tds

import (
	"encoding/binary"
	"math/big"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// smallPrecision is the largest precision whose values are scaled int64 numbers (package types).
const smallPrecision = 18

// small10 holds the powers of ten up to 10^18.
var small10 = func() (p [smallPrecision + 1]uint64) {
	p[0] = 1
	for i := range smallPrecision {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// appendDecimal appends sign (1 for positive) and magnitude, little-endian, in size bytes (MS-TDS
// 2.2.5.5.1.6).
func appendDecimal(b []byte, t types.Type, v types.Value, size int) ([]byte, error) {
	ti := typeInfo{typ: t}
	n := new(big.Int)
	switch v := v.(type) {
	case int64:
		if t.Precision > smallPrecision {
			return b, formError(ti, v)
		}
		sign, magnitude := byte(1), uint64(v)
		if v < 0 {
			sign, magnitude = 0, -magnitude
		}
		if magnitude >= small10[t.Precision] {
			return b, valueErrorf(ti, "it has more digits than the precision")
		}
		var wide [maxDecimalSize - 1]byte
		binary.LittleEndian.PutUint64(wide[:], magnitude)
		return append(append(b, sign), wide[:size-1]...), nil
	case string:
		whole, fraction, _ := strings.Cut(v, ".")
		if len(fraction) != int(t.Scale) || t.Precision <= smallPrecision {
			return b, valueErrorf(ti, "its text does not have the scale")
		}
		if _, ok := n.SetString(whole+fraction, 10); !ok {
			return b, valueErrorf(ti, "its text is not a number")
		}
	default:
		return b, formError(ti, v)
	}
	if n.CmpAbs(pow10(t.Precision)) >= 0 {
		return b, valueErrorf(ti, "it has more digits than the precision")
	}
	sign := byte(1)
	if n.Sign() < 0 {
		sign = 0
	}
	at := len(b) + 1
	b = append(append(b, sign), make([]byte, size-1)...)
	n.Abs(n).FillBytes(b[at:])
	slices.Reverse(b[at:])
	return b, nil
}

// decodeDecimal decodes sign and magnitude into the Go type of the precision.
func decodeDecimal(ti typeInfo, raw []byte) (types.Value, error) {
	if len(raw) < 2 || len(raw) > 17 {
		return nil, sizeError(ti)
	}
	magnitude := slices.Clone(raw[1:])
	slices.Reverse(magnitude)
	n := new(big.Int).SetBytes(magnitude)
	if n.CmpAbs(pow10(ti.typ.Precision)) >= 0 {
		return nil, valueErrorf(ti, "it has more digits than the precision")
	}
	negative := raw[0] == 0 && n.Sign() != 0
	if ti.typ.Precision <= smallPrecision {
		if negative {
			return -n.Int64(), nil
		}
		return n.Int64(), nil
	}
	digits := n.String()
	if scale := int(ti.typ.Scale); scale > 0 {
		if missing := scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if negative {
		digits = "-" + digits
	}
	return digits, nil
}

// pow10 returns 10^n.
func pow10(n uint8) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
