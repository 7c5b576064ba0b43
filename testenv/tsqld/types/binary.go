package types

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// toBinary returns the internal form of a value, the result of CAST AS varbinary. Numbers are
// truncated and padded with zeros on the left, other values on the right.
func toBinary(v Value, from, to Type, style int) (Value, error) {
	switch {
	case from.IsCharacter():
		s, _ := v.(string)
		switch style {
		case NoStyle, 0:
		case 1, 2:
			b, ok := parseHex(s, style == 1)
			if !ok {
				return nil, mserr.ConversionError(from.Name(), to.Name())
			}
			return fitBytes(b, to), nil
		default:
			return nil, mserr.StyleNotSupported(style, from.Name(), to.Name())
		}
		if from.IsUnicode() {
			return fitBytes(ToUTF16(s), to), nil
		}
		return fitBytes(ToCodePage(s, from.Collation), to), nil
	case from.ID == XML:
		s, _ := v.(string)
		return fitBytes(append([]byte{0xFF, 0xFE}, ToUTF16(s)...), to), nil
	case from.ID == UniqueIdentifier:
		b, _ := v.([]byte)
		return fitBytes(GUIDToWire(b), to), nil
	case from.IsTemporal():
		return fitTemporalBytes(temporalBytes(v, from), from, to), nil
	case from.IsNumber():
		return fitNumberBytes(numberBytes(v, from), from, to), nil
	}
	b, _ := v.([]byte)
	return fitBytes(b, to), nil
}

// parseHex reads hexadecimal digits, after 0x if prefixed is set.
func parseHex(s string, prefixed bool) ([]byte, bool) {
	if prefixed {
		if len(s) < 2 || s[0] != '0' || s[1]|0x20 != 'x' {
			return nil, false
		}
		s = s[2:]
	}
	b, err := hex.DecodeString(s)
	return b, err == nil
}

// numberBytes returns the big-endian form of integers, money and floats. The form of decimals is
// precision, scale, 0, 1 for a positive sign, and little-endian words of 4 bytes.
func numberBytes(v Value, from Type) []byte {
	switch {
	case from.IsApprox():
		f, _ := v.(float64)
		if from.ID == Real {
			return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(f)))
		}
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
	case from.ID == Decimal:
		u := DecimalUnscaled(v, from)
		if u == nil {
			u = new(big.Int)
		}
		b := []byte{from.Precision, from.Scale, 0, 1}
		if u.Sign() < 0 {
			b[3] = 0
		}
		words := (from.MaxLength() - 1) / 4
		mag := make([]byte, 4*words)
		new(big.Int).Abs(u).FillBytes(mag)
		for i := len(mag) - 1; i >= 0; i-- {
			b = append(b, mag[i])
		}
		return b
	}
	n, _ := v.(int64)
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	return b[8-int(from.MaxLength()):]
}

// fitNumberBytes truncates or pads on the left, decimals on the right.
func fitNumberBytes(b []byte, from, to Type) []byte {
	if from.ID == Decimal {
		return fitBytes(b, to)
	}
	n := to.Length
	if to.ID == RowVersion {
		n = 8
	}
	switch {
	case to.ID == Image, n == Max:
		return b
	case len(b) >= n:
		return b[len(b)-n:]
	case to.ID == VarBinary:
		return b
	}
	return append(make([]byte, n-len(b)), b...)
}

// temporalBytes returns the form of a date or time: datetime as two big-endian words (days, 1/300
// s), smalldatetime as two half words (days, minutes), the others with the scale before their form
// on the wire (MS-TDS 2.2.5.5.1.8).
func temporalBytes(v Value, from Type) []byte {
	ticks, _ := v.(int64)
	switch from.ID {
	case DateTime:
		days, n := DateTimeParts(ticks)
		b := binary.BigEndian.AppendUint32(nil, uint32(days))
		return binary.BigEndian.AppendUint32(b, n)
	case SmallDateTime:
		b := binary.BigEndian.AppendUint16(nil, uint16(ticks/TicksPerDay-days1900))
		return binary.BigEndian.AppendUint16(b, uint16(ticks%TicksPerDay/TicksPerMinute))
	case Date:
		return appendLittle(nil, uint64(ticks/TicksPerDay), 3)
	}
	offset := 0
	if raw, ok := v.([]byte); ok {
		ticks, offset = SplitOffset(raw)
	}
	b := []byte{from.Scale}
	b = appendLittle(b, uint64(ticks%TicksPerDay/pow10[maxTimeFrac-from.Scale]), int(3+fractionBytes(from.Scale)))
	if from.ID == Time {
		return b
	}
	b = appendLittle(b, uint64(ticks/TicksPerDay), 3)
	if from.ID == DateTimeOffset {
		b = appendLittle(b, uint64(int64(offset)), 2)
	}
	return b
}

// appendLittle appends the low n bytes of u, least significant first.
func appendLittle(b []byte, u uint64, n int) []byte {
	for range n {
		b = append(b, byte(u))
		u >>= 8
	}
	return b
}

// fitTemporalBytes truncates or pads datetime and smalldatetime on the left, the others on the
// right.
func fitTemporalBytes(b []byte, from, to Type) []byte {
	if from.IsLegacyTemporal() {
		return fitNumberBytes(b, from, to)
	}
	return fitBytes(b, to)
}

// binaryToNumber reads bytes as a number: integers and money from the right end, decimals in the
// form of numberBytes.
func binaryToNumber(b []byte, from, to Type) (Value, error) {
	switch {
	case to.ID == Decimal:
		return binaryToDecimal(b, from, to)
	case to.IsApprox():
		return nil, mserr.ExplicitConversion(from.MessageName(), to.MessageName())
	}
	if to.ID == Bit {
		for _, c := range b {
			if c != 0 {
				return int64(1), nil
			}
		}
		return int64(0), nil
	}
	size := int(to.MaxLength())
	if len(b) > size {
		b = b[len(b)-size:]
	}
	var u uint64
	for _, c := range b {
		u = u<<8 | uint64(c)
	}
	if len(b) == size && to.ID != TinyInt { // sign extension
		shift := 64 - 8*size
		return int64(u<<shift) >> shift, nil
	}
	return int64(u), nil
}

// binaryToDecimal reads precision, scale, sign and magnitude; error 8114 for other bytes.
func binaryToDecimal(b []byte, from, to Type) (Value, error) {
	bad := func() error { return mserr.ConversionError(from.Name(), "numeric") }
	if len(b) < 5 || b[0] < 1 || b[0] > maxDecimal || b[1] > b[0] || len(b) > 4+16 {
		return nil, bad()
	}
	mag := make([]byte, 0, 16)
	for i := len(b) - 1; i >= 4; i-- {
		mag = append(mag, b[i])
	}
	u := new(big.Int).SetBytes(mag)
	if b[3] == 0 {
		u.Neg(u)
	}
	own := DecimalOf(b[0], b[1])
	v, ok := DecimalValue(u, own)
	if !ok {
		return nil, bad()
	}
	return convertDecimal(v, own, to)
}

// binaryToTemporal is the inverse of temporalBytes; short values of datetime are padded on the
// left.
func binaryToTemporal(b []byte, from, to Type) (Value, error) {
	bad := func() error { return mserr.DateConversion() }
	little := func(n int) (uint64, bool) {
		if len(b) < n {
			return 0, false
		}
		var u uint64
		for i := n - 1; i >= 0; i-- {
			u = u<<8 | uint64(b[i])
		}
		b = b[n:]
		return u, true
	}
	switch to.ID {
	case DateTime:
		b = fitNumberBytes(b, from, Type{ID: Binary, Length: 8})
		ticks, ok := DateTimeFromParts(int32(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint32(b[4:]))
		if !ok {
			return nil, mserr.ArithmeticOverflow(from.Name(), to.Name())
		}
		return ticks, nil
	case SmallDateTime:
		b = fitNumberBytes(b, from, Type{ID: Binary, Length: 4})
		minutes := int64(binary.BigEndian.Uint16(b[2:]))
		ticks, ok := FitTemporal((int64(binary.BigEndian.Uint16(b))+days1900)*TicksPerDay+minutes*TicksPerMinute, to)
		if !ok || minutes >= 24*60 {
			return nil, mserr.ArithmeticOverflow(from.Name(), to.Name())
		}
		return ticks, nil
	case Date:
		days, ok := little(3)
		if !ok || days > maxDays || len(b) != 0 {
			return nil, bad()
		}
		return int64(days) * TicksPerDay, nil
	}
	scale, ok := little(1)
	if !ok || scale > maxTimeFrac {
		return nil, bad()
	}
	clock, ok := little(int(3 + fractionBytes(uint8(scale))))
	ticks := int64(clock) * pow10[maxTimeFrac-scale]
	if !ok || ticks >= TicksPerDay {
		return nil, bad()
	}
	own := Type{ID: to.ID, Scale: uint8(scale)}
	if to.ID == Time {
		if len(b) != 0 {
			return nil, bad()
		}
		return temporalToTemporal(ticks, own, to)
	}
	days, ok := little(3)
	if !ok || days > maxDays {
		return nil, bad()
	}
	ticks += int64(days) * TicksPerDay
	if to.ID == DateTime2 {
		if len(b) != 0 {
			return nil, bad()
		}
		return temporalToTemporal(ticks, own, to)
	}
	raw, ok := little(2)
	offset := int(int16(raw))
	if !ok || offset < -maxOffset || offset > maxOffset || len(b) != 0 {
		return nil, bad()
	}
	return temporalToTemporal(MakeOffset(ticks, offset), own, to)
}
