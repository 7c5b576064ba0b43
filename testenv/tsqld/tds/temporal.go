package tds

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Units of time. A tick is 100 ns.
const (
	ticksPerSecond = 10_000_000
	ticksPerMinute = 60 * ticksPerSecond
	ticksPerDay    = 24 * 60 * ticksPerMinute

	days1900 = 693595  // days from 0001-01-01 to 1900-01-01, day 0 of datetime
	minDays  = -53690  // 1753-01-01, the first datetime, from 1900
	maxDays  = 3652058 // 9999-12-31, the last date of all types

	thirdsPerDay = 24 * 60 * 60 * 300 // the unit of datetime is 1/300 s

	offsetBias = 840 // 14 hours in minutes, added to the offset in the stored form
)

// pow10Int are the powers of ten up to the seven digits of a tick.
var pow10Int = [8]int64{1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000}

// appendTemporal appends a date or time (MS-TDS 2.2.5.5.1.8).
func appendTemporal(b []byte, ti typeInfo, v types.Value) ([]byte, error) {
	if ti.token == tokDTOffset {
		raw, _ := v.([]byte)
		if len(raw) != 10 {
			return b, formError(ti, v)
		}
		ticks := int64(binary.BigEndian.Uint64(raw))
		offset := int(binary.BigEndian.Uint16(raw[8:])) - offsetBias
		if err := checkTicks(ti, ticks, maxDays); err != nil {
			return b, err
		}
		b = appendTime(b, ticks%ticksPerDay, ti.typ.Scale)
		b = appendDays(b, ticks/ticksPerDay)
		return binary.LittleEndian.AppendUint16(b, uint16(int16(offset))), nil
	}
	ticks, ok := v.(int64)
	if !ok {
		return b, formError(ti, v)
	}
	last := int64(maxDays)
	if ti.token == tokTime {
		last = 0
	}
	if err := checkTicks(ti, ticks, last); err != nil {
		return b, err
	}
	days, rest := ticks/ticksPerDay, ticks%ticksPerDay
	switch ti.token {
	case tokDate:
		return appendDays(b, days), nil
	case tokTime:
		return appendTime(b, rest, ti.typ.Scale), nil
	case tokDateTime2:
		return appendDays(appendTime(b, rest, ti.typ.Scale), days), nil
	}
	days -= days1900
	if ti.size == 4 {
		if days < 0 || days > 0xFFFF {
			return b, valueErrorf(ti, "it is out of range")
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(days))
		return binary.LittleEndian.AppendUint16(b, uint16(rest/ticksPerMinute)), nil
	}
	// Rounded, because the stored ticks are a multiple of 1/300 s, truncated or rounded to 100 ns.
	thirds := (rest*3 + 50_000) / 100_000
	if thirds == thirdsPerDay {
		thirds, days = 0, days+1
	}
	if days < minDays {
		return b, valueErrorf(ti, "it is out of range")
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(days)))
	return binary.LittleEndian.AppendUint32(b, uint32(thirds)), nil
}

// checkTicks checks that ticks lie between 0 and the end of day last.
func checkTicks(ti typeInfo, ticks, last int64) error {
	if ticks < 0 || ticks/ticksPerDay > last {
		return valueErrorf(ti, "it is out of range")
	}
	return nil
}

// appendTime appends a time of day in units of the scale.
func appendTime(b []byte, ticks int64, scale uint8) []byte {
	units := ticks / pow10Int[7-scale]
	for range timeSize(scale) {
		b = append(b, byte(units))
		units >>= 8
	}
	return b
}

// appendDays appends days since 0001-01-01 in three bytes.
func appendDays(b []byte, days int64) []byte {
	return append(b, byte(days), byte(days>>8), byte(days>>16))
}

// decodeTemporal reads a date or time.
func decodeTemporal(ti typeInfo, raw []byte) (types.Value, error) {
	switch ti.token {
	case tokDateTimeN, tokDateTime, tokDateTime4:
		return decodeDateTime(ti, raw)
	}
	if len(raw) != ti.size {
		return nil, sizeError(ti)
	}
	var ticks, days int64
	if ti.token != tokDate {
		n := timeSize(ti.typ.Scale)
		for i := n - 1; i >= 0; i-- {
			ticks = ticks<<8 | int64(raw[i])
		}
		ticks *= pow10Int[7-ti.typ.Scale]
		raw = raw[n:]
	}
	if ti.token != tokTime {
		days = int64(raw[0]) | int64(raw[1])<<8 | int64(raw[2])<<16
	}
	if ticks >= ticksPerDay || days > maxDays {
		return nil, valueErrorf(ti, "it is out of range")
	}
	ticks += days * ticksPerDay
	if ti.token != tokDTOffset {
		return ticks, nil
	}
	offset := int(int16(binary.LittleEndian.Uint16(raw[3:])))
	local := ticks + int64(offset)*ticksPerMinute
	if offset < -offsetBias || offset > offsetBias || checkTicks(ti, local, maxDays) != nil {
		return nil, valueErrorf(ti, "its offset is out of range")
	}
	v := binary.BigEndian.AppendUint64(make([]byte, 0, 10), uint64(ticks))
	return binary.BigEndian.AppendUint16(v, uint16(offset+offsetBias)), nil
}

// decodeDateTime reads datetime (8 bytes) or smalldatetime (4 bytes).
func decodeDateTime(ti typeInfo, raw []byte) (types.Value, error) {
	switch len(raw) {
	case 4:
		days, minutes := int64(binary.LittleEndian.Uint16(raw)), int64(binary.LittleEndian.Uint16(raw[2:]))
		if minutes >= 24*60 {
			return nil, valueErrorf(ti, "it is out of range")
		}
		return (days+days1900)*ticksPerDay + minutes*ticksPerMinute, nil
	case 8:
		days, thirds := int64(int32(binary.LittleEndian.Uint32(raw))), int64(binary.LittleEndian.Uint32(raw[4:]))
		if days < minDays || days+days1900 > maxDays || thirds >= thirdsPerDay {
			return nil, valueErrorf(ti, "it is out of range")
		}
		return (days+days1900)*ticksPerDay + thirdsToTicks(thirds), nil
	default:
		return nil, sizeError(ti)
	}
}

// thirdsToTicks converts 1/300 s to the nearest 100 ns.
func thirdsToTicks(thirds int64) int64 { return (thirds*100_000 + 1) / 3 }

// temporalText returns a date or time as text, for clients of a version before 7.3.
func temporalText(t types.Type, v types.Value) (string, error) {
	ti := typeInfo{typ: t}
	var ticks int64
	offset := ""
	switch v := v.(type) {
	case int64:
		ticks = v
	case []byte:
		if t.ID != types.DateTimeOffset || len(v) != 10 {
			return "", formError(ti, v)
		}
		minutes := int64(binary.BigEndian.Uint16(v[8:])) - offsetBias
		ticks = int64(binary.BigEndian.Uint64(v)) + minutes*ticksPerMinute
		sign := '+'
		if minutes < 0 {
			sign, minutes = '-', -minutes
		}
		offset = fmt.Sprintf(" %c%02d:%02d", sign, minutes/60, minutes%60)
	default:
		return "", formError(ti, v)
	}
	if err := checkTicks(ti, ticks, maxDays); err != nil {
		return "", err
	}
	at := time.Date(1, 1, 1+int(ticks/ticksPerDay), 0, 0, int(ticks%ticksPerDay/ticksPerSecond), 0, time.UTC)
	layout := map[types.ID]string{types.Date: time.DateOnly, types.Time: time.TimeOnly}[t.ID]
	if layout == "" {
		layout = time.DateTime
	}
	var s strings.Builder
	s.WriteString(at.Format(layout))
	if t.Scale > 0 && t.ID != types.Date {
		fmt.Fprintf(&s, ".%0*d", int(t.Scale), ticks%ticksPerSecond/pow10Int[7-t.Scale])
	}
	s.WriteString(offset)
	return s.String(), nil
}
