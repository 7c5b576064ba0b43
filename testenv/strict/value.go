package strict

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// row reads a ROW or NBCROW.
func (r *Reader) row(compressed bool) {
	d, m := &r.d, &r.m
	if !m.result {
		d.fail("a row outside of a result set")
	}
	var nulls []byte
	if compressed {
		if r.version < 0x730B0003 && r.version != 0x08000000 {
			d.fail("an NBCROW for a client of TDS %#08x", r.version)
		}
		nulls = d.take((len(m.cols) + 7) / 8)
		if rest := len(m.cols) % 8; rest != 0 && nulls[len(nulls)-1]>>rest != 0 {
			d.fail("NULL bits beyond the last column")
		}
	}
	var vals []any
	for i := range m.cols {
		c := &m.cols[i]
		var raw []byte
		null := nulls != nil && nulls[i/8]&(1<<(i%8)) != 0
		if !null {
			raw, null = r.value(c)
			if null && compressed {
				d.fail("column %d (%q) is NULL without its bit in an NBCROW", i+1, c.Name)
			}
		}
		if null && !c.Nullable {
			d.fail("column %d (%q) is NULL, and announced as not nullable", i+1, c.Name)
		}
		if m.kept != nil {
			vals = append(vals, c.decode(raw, null))
		}
	}
	m.rows++
	if m.kept != nil {
		m.kept.Rows = append(m.kept.Rows, vals)
	}
}

// value reads one value, and checks it against its type. The bytes are valid until the next read.
func (r *Reader) value(c *Column) (raw []byte, null bool) {
	d := &r.d
	if n := fixedSizes[c.Type]; n != 0 {
		raw = d.take(n)
		d.check(c, raw)
		return raw, false
	}
	switch c.Type {
	case typeText, typeNText, typeImage:
		n := int(d.u8())
		if n == 0 {
			return nil, true
		}
		if n != 16 {
			d.fail("a text pointer of %d bytes", n)
		}
		d.take(n + 8)
		size := int(int32(d.u32()))
		if size < 0 {
			d.fail("%d bytes of text", size)
		}
		raw = d.take(size)
	case typeVariant:
		n := int(int32(d.u32()))
		if n == 0 {
			return nil, true
		}
		raw = d.take(n)
	case typeVarBinary, typeVarChar, typeBinary, typeChar, typeNVarChar, typeNChar, typeXML:
		if c.Size == unlimited {
			if raw, null = r.chunks(c); null {
				return nil, true
			}
			break
		}
		n := int(d.u16())
		if n == 0xFFFF {
			return nil, true
		}
		if n > c.Size {
			d.fail("column %q: %d bytes, where %d are announced", c.Name, n, c.Size)
		}
		raw = d.take(n)
	default:
		n := int(d.u8())
		if n == 0 {
			return nil, true
		}
		raw = d.take(n)
	}
	d.check(c, raw)
	return raw, false
}

// chunks reads a partially length-prefixed value (MS-TDS 2.2.5.2.3).
func (r *Reader) chunks(c *Column) (raw []byte, null bool) {
	d := &r.d
	total := d.u64()
	if total == math.MaxUint64 {
		return nil, true
	}
	known := total != math.MaxUint64-1
	if known && total > longSize {
		d.fail("column %q: %d bytes", c.Name, total)
	}
	raw = []byte{}
	for {
		n := int(d.u32())
		if n == 0 {
			break
		}
		if known && uint64(len(raw)+n) > total {
			d.fail("column %q: chunks of more than %d bytes", c.Name, total)
		}
		if n%2 != 0 && (c.Type == typeNVarChar || c.Type == typeXML) {
			d.fail("column %q: a chunk of %d bytes of UTF-16", c.Name, n)
		}
		if len(raw) == 0 {
			raw = d.take(n)
			raw = raw[:n:n]
			continue
		}
		raw = append(raw, d.take(n)...)
	}
	if known && uint64(len(raw)) != total {
		d.fail("column %q: chunks of %d bytes, where %d are announced", c.Name, len(raw), total)
	}
	return raw, false
}

// Limits of dates.
const (
	maxDays     = 3652058 // 9999-12-31, from 0001-01-01
	ticksPerDay = 86400 * 300
)

// check checks a value that is not NULL.
func (d *decoder) check(c *Column, raw []byte) {
	bad := false
	switch c.Type {
	case typeIntN, typeFloatN, typeMoneyN, typeDateTimeN, typeBitN, typeGUID, typeDate, typeTime, typeDateTime2, typeDTOffset:
		if len(raw) != c.Size {
			d.fail("column %q: %d bytes, where %d are announced", c.Name, len(raw), c.Size)
		}
	}
	switch c.Type {
	case typeBit, typeBitN:
		bad = raw[0] > 1
	case typeFloat4, typeFloat8, typeFloatN:
		x := float(raw)
		bad = math.IsNaN(x) || math.IsInf(x, 0)
	case typeDateTime, typeDateTime4, typeDateTimeN:
		if len(raw) == 4 {
			bad = binary.LittleEndian.Uint16(raw[2:]) >= 1440
			break
		}
		days := int32(binary.LittleEndian.Uint32(raw))
		bad = days < -53690 || days > 2958463 || binary.LittleEndian.Uint32(raw[4:]) >= ticksPerDay
	case typeDecimalN, typeNumericN:
		d.checkDecimal(c, raw)
	case typeDate:
		bad = u24(raw) > maxDays
	case typeTime:
		bad = timeOf(raw) >= 86400*pow10(c.scale)
	case typeDateTime2:
		bad = timeOf(raw[:len(raw)-3]) >= 86400*pow10(c.scale) || u24(raw[len(raw)-3:]) > maxDays
	case typeDTOffset:
		minutes := int16(binary.LittleEndian.Uint16(raw[len(raw)-2:]))
		bad = timeOf(raw[:len(raw)-5]) >= 86400*pow10(c.scale) || u24(raw[len(raw)-5:]) > maxDays || minutes < -840 || minutes > 840
	case typeBinary:
		bad = len(raw) != c.Size
	case typeChar:
		bad = len(raw) != c.Size
	case typeNChar:
		bad = len(raw) != c.Size
	case typeNVarChar, typeXML, typeNText:
		bad = len(raw)%2 != 0
	case typeVariant:
		d.checkVariant(c, raw)
	}
	if c.UTF8 && (c.Type == typeVarChar || c.Type == typeChar || c.Type == typeText) {
		bad = bad || !utf8.Valid(raw)
	}
	if bad {
		d.fail("column %q of type %#02x cannot have the value % x", c.Name, c.Type, raw[:min(len(raw), 40)])
	}
}

// checkDecimal checks the sign of a decimal, and that its 4, 8, 12 or 16 bytes are below 10 to the
// precision.
func (d *decoder) checkDecimal(c *Column, raw []byte) {
	if n := len(raw); n != 5 && n != 9 && n != 13 && n != 17 {
		d.fail("column %q: a decimal of %d bytes", c.Name, n)
	}
	if raw[0] > 1 {
		d.fail("column %q: a decimal with sign %d", c.Name, raw[0])
	}
	if c.precision <= 18 && len(raw) <= 9 || zero(raw[min(9, len(raw)):]) && c.precision <= 18 {
		var low [8]byte
		copy(low[:], raw[1:])
		if binary.LittleEndian.Uint64(low[:]) < uint64(pow10(c.precision)) {
			return
		}
	} else if magnitude(raw).Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.precision)), nil)) < 0 {
		return
	}
	d.fail("column %q: a decimal of more than %d digits: % x", c.Name, c.precision, raw)
}

// zero reports whether all bytes are 0.
func zero(raw []byte) bool {
	for _, b := range raw {
		if b != 0 {
			return false
		}
	}
	return true
}

// magnitude returns a decimal without its sign.
func magnitude(raw []byte) *big.Int {
	b := slices.Clone(raw[1:])
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// checkVariant checks the contents of a sql_variant (MS-TDS 2.2.5.5.4).
func (d *decoder) checkVariant(c *Column, raw []byte) {
	base, data := variant(d, c, raw)
	if data == nil {
		return
	}
	if n := fixedSizes[base.Type]; n != 0 && len(data) != n {
		d.fail("column %q: %d bytes of type %#02x in a sql_variant", c.Name, len(data), base.Type)
	}
	if (base.Type == typeDecimalN || base.Type == typeNumericN) && len(data) != decimalSize {
		d.fail("column %q: a decimal of %d bytes in a sql_variant, where 17 are due", c.Name, len(data))
	}
	if len(data) > base.Size {
		d.fail("column %q: %d bytes in a sql_variant of %d", c.Name, len(data), base.Size)
	}
	d.check(base, data)
}

// variant returns the base type and the data of a sql_variant.
func variant(d *decoder, c *Column, raw []byte) (*Column, []byte) {
	if len(raw) < 2 || len(raw) > variantSize+7 || 2+int(raw[1]) > len(raw) {
		d.fail("column %q: a sql_variant of %d bytes", c.Name, len(raw))
	}
	base := &Column{Name: c.Name, Type: raw[0]}
	props, data := raw[2:2+raw[1]], raw[2+raw[1]:]
	want := 0
	switch base.Type {
	case typeGUID:
		base.Size = 16
	case typeDate:
		base.Size = 3
	case typeTime, typeDateTime2, typeDTOffset:
		if want = 1; len(props) == want {
			base.scale = props[0]
			base.Size = temporalSize(base.Type, base.scale)
		}
	case typeDecimalN, typeNumericN:
		if want = 2; len(props) == want {
			base.precision, base.scale, base.Size = props[0], props[1], decimalSize
		}
	case typeVarBinary, typeBinary:
		if want = 2; len(props) == want {
			base.Size = int(binary.LittleEndian.Uint16(props))
		}
	case typeVarChar, typeChar, typeNVarChar, typeNChar:
		if want = 7; len(props) == want {
			base.UTF8 = binary.LittleEndian.Uint32(props)&(1<<26) != 0
			base.Size = int(binary.LittleEndian.Uint16(props[5:]))
		}
	default:
		if base.Size = fixedSizes[base.Type]; base.Size == 0 {
			d.fail("column %q: type %#02x in a sql_variant", c.Name, base.Type)
		}
	}
	if len(props) != want || base.Size == 0 || base.Size > maxSize {
		d.fail("column %q: type %#02x in a sql_variant with properties % x", c.Name, base.Type, props)
	}
	return base, data
}

// u24 reads three bytes.
func u24(raw []byte) int { return int(raw[0]) | int(raw[1])<<8 | int(raw[2])<<16 }

// timeOf reads a time of three to five bytes.
func timeOf(raw []byte) int64 {
	n := int64(0)
	for i := len(raw) - 1; i >= 0; i-- {
		n = n<<8 | int64(raw[i])
	}
	return n
}

// pow10 returns 10^n.
func pow10(n byte) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// float reads a float of four or eight bytes.
func float(raw []byte) float64 {
	if len(raw) == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(raw))
}

// decode returns a readable value: nil, int64, float64, []byte or a text. Decimals and money have
// their scale; dates and times follow ISO 8601 with the scale of the type; a sql_variant is decoded
// as its base type.
func (c *Column) decode(raw []byte, null bool) any {
	if null {
		return nil
	}
	switch c.Type {
	case typeBit, typeBitN, typeInt1, typeInt2, typeInt4, typeInt8, typeIntN:
		return integer(raw)
	case typeFloat4, typeFloat8, typeFloatN:
		return float(raw)
	case typeMoney, typeMoney4, typeMoneyN:
		n := int64(int32(binary.LittleEndian.Uint32(raw)))
		if len(raw) == 8 {
			n = n<<32 | int64(binary.LittleEndian.Uint32(raw[4:]))
		}
		return withPoint(big.NewInt(n), 4)
	case typeDecimalN, typeNumericN:
		n := magnitude(raw)
		if raw[0] == 0 {
			n.Neg(n)
		}
		return withPoint(n, int(c.scale))
	case typeGUID:
		return fmt.Sprintf("%08x-%04x-%04x-%x-%x", binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint16(raw[4:]), binary.LittleEndian.Uint16(raw[6:]), raw[8:10], raw[10:])
	case typeNVarChar, typeNChar, typeNText, typeXML:
		return fromUTF16(raw)
	case typeVarChar, typeChar, typeText:
		if c.UTF8 {
			return string(raw)
		}
		s, _ := charmap.Windows1252.NewDecoder().Bytes(raw) // every byte maps to a character
		return string(s)
	case typeVarBinary, typeBinary, typeImage:
		return slices.Clone(raw)
	case typeVariant:
		base, data := variant(&decoder{}, c, raw)
		return base.decode(data, false)
	}
	return c.instant(raw)
}

// integer reads an integer of one to eight bytes; one byte is unsigned.
func integer(raw []byte) int64 {
	switch len(raw) {
	case 1:
		return int64(raw[0])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(raw)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(raw)))
	}
	return int64(binary.LittleEndian.Uint64(raw))
}

// withPoint formats a scaled integer.
func withPoint(n *big.Int, scale int) string {
	digits := new(big.Int).Abs(n).String()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

// instant formats a date or time.
func (c *Column) instant(raw []byte) string {
	old, start := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func(raw []byte) time.Duration {
		return time.Duration(timeOf(raw) * pow10(9-c.scale))
	}
	fraction := ""
	if c.scale > 0 {
		fraction = "." + strings.Repeat("0", int(c.scale))
	}
	switch c.Type {
	case typeDate:
		return start.AddDate(0, 0, u24(raw)).Format("2006-01-02")
	case typeTime:
		return start.Add(clock(raw)).Format("15:04:05" + fraction)
	case typeDateTime2:
		return start.AddDate(0, 0, u24(raw[len(raw)-3:])).Add(clock(raw[:len(raw)-3])).Format("2006-01-02 15:04:05" + fraction)
	case typeDTOffset:
		zone := time.FixedZone("", 60*int(int16(binary.LittleEndian.Uint16(raw[len(raw)-2:]))))
		return start.AddDate(0, 0, u24(raw[len(raw)-5:])).Add(clock(raw[:len(raw)-5])).In(zone).Format("2006-01-02 15:04:05" + fraction + " -07:00")
	}
	if len(raw) == 4 {
		return old.AddDate(0, 0, int(binary.LittleEndian.Uint16(raw))).Add(time.Duration(binary.LittleEndian.Uint16(raw[2:])) * time.Minute).Format("2006-01-02 15:04")
	}
	ticks := time.Duration(binary.LittleEndian.Uint32(raw[4:]))
	return old.AddDate(0, 0, int(int32(binary.LittleEndian.Uint32(raw)))).Add((ticks*time.Second/300 + time.Millisecond/2).Truncate(time.Millisecond)).Format("2006-01-02 15:04:05.000")
}
