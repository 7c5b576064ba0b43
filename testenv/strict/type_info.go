package strict

// Type tokens (MS-TDS 2.2.5.4).
const (
	typeInt1      = 0x30
	typeBit       = 0x32
	typeInt2      = 0x34
	typeInt4      = 0x38
	typeDateTime4 = 0x3A
	typeFloat4    = 0x3B
	typeMoney     = 0x3C
	typeDateTime  = 0x3D
	typeFloat8    = 0x3E
	typeMoney4    = 0x7A
	typeInt8      = 0x7F
	typeGUID      = 0x24
	typeIntN      = 0x26
	typeBitN      = 0x68
	typeDecimalN  = 0x6A
	typeNumericN  = 0x6C
	typeFloatN    = 0x6D
	typeMoneyN    = 0x6E
	typeDateTimeN = 0x6F
	typeDate      = 0x28
	typeTime      = 0x29
	typeDateTime2 = 0x2A
	typeDTOffset  = 0x2B
	typeVarBinary = 0xA5
	typeVarChar   = 0xA7
	typeBinary    = 0xAD
	typeChar      = 0xAF
	typeNVarChar  = 0xE7
	typeNChar     = 0xEF
	typeXML       = 0xF1
	typeText      = 0x23
	typeImage     = 0x22
	typeNText     = 0x63
	typeVariant   = 0x62
)

// Limits.
const (
	unlimited   = 0xFFFF // the size of a (max) type
	maxSize     = 8000
	variantSize = 8009
	decimalSize = 17
	longSize    = 1<<31 - 1
)

// fixedSizes are the types without a length, and their sizes (MS-TDS 2.2.5.4.2).
var fixedSizes = [256]int{typeInt1: 1, typeBit: 1, typeInt2: 2, typeInt4: 4, typeDateTime4: 4, typeFloat4: 4, typeMoney: 8, typeDateTime: 8,
	typeFloat8: 8, typeMoney4: 4, typeInt8: 8}

// Column is a column of a result set, or a return value.
type Column struct {
	Name     string
	Type     byte // token of its type
	Size     int  // largest value in bytes
	Nullable bool
	UTF8     bool // its characters are UTF-8
	Table    string

	precision, scale byte
	param            bool // a return value
}

// Flags of a column (MS-TDS 2.2.7.4).
const (
	flagNullable = 0x0001
	flagUpdate   = 0x000C
	flagIdentity = 0x0010
	flagComputed = 0x0020
	flagHidden   = 0x2000
	flagKey      = 0x4000
	flagUnknown  = 0x8000 // it is unknown whether the column is nullable
	// flagsAllowed excludes the flags of CLR types, sparse column sets and encrypted columns, which
	// the server does not have.
	flagsAllowed = 0x0001 | 0x0002 | flagUpdate | flagIdentity | flagComputed | flagHidden | flagKey | flagUnknown
)

// colMetadata reads COLMETADATA.
func (r *Reader) colMetadata() {
	d, m := &r.d, &r.m
	if m.result {
		d.fail("a result set inside of another")
	}
	n := int(d.u16())
	if n == 0 || n > 4096 {
		d.fail("%d columns", n)
	}
	m.cols = make([]Column, n)
	for i := range m.cols {
		c := &m.cols[i]
		user := r.userType()
		r.flags(c)
		r.typeInfo(c, user)
		switch c.Type {
		case typeText, typeNText, typeImage:
			c.Table = r.tableName(d, r.wide())
		}
		c.Name = d.bVarchar()
	}
	m.result, m.rows, m.tables = true, 0, 0
	if r.OnResult != nil {
		m.kept = &Result{Columns: m.cols}
	}
}

// userType reads a user type.
func (r *Reader) userType() uint32 {
	if r.wide() {
		return r.d.u32()
	}
	return uint32(r.d.u16())
}

// flags reads the flags of a column.
func (r *Reader) flags(c *Column) {
	flags := r.d.u16()
	if flags&^flagsAllowed != 0 || flags&flagUpdate == flagUpdate {
		r.d.fail("a column with flags %#04x", flags)
	}
	c.Nullable = flags&(flagNullable|flagUnknown) != 0
}

// typeInfo reads a TYPE_INFO.
func (r *Reader) typeInfo(c *Column, user uint32) {
	d := &r.d
	c.Type = d.u8()
	if c.Size = fixedSizes[c.Type]; c.Size != 0 {
		// SqlClient reads a value with its length if the flag is nullable, and always for a return
		// value.
		if c.Nullable || c.param {
			d.fail("type %#02x, which has no NULL, where the value may be NULL", c.Type)
		}
		return
	}
	switch c.Type {
	case typeGUID, typeIntN, typeBitN, typeFloatN, typeMoneyN, typeDateTimeN:
		r.byteLength(c)
	case typeDecimalN, typeNumericN:
		c.Size, c.precision, c.scale = int(d.u8()), d.u8(), d.u8()
		if c.Size != decimalSize || c.precision == 0 || c.precision > 38 || c.scale > c.precision {
			d.fail("decimal(%d, %d) of %d bytes, where 17 are due", c.precision, c.scale, c.Size)
		}
	case typeDate:
		c.Size = 3
	case typeTime, typeDateTime2, typeDTOffset:
		if c.scale = d.u8(); c.scale > 7 {
			d.fail("type %#02x with scale %d", c.Type, c.scale)
		}
		c.Size = temporalSize(c.Type, c.scale)
	case typeVarBinary, typeVarChar, typeBinary, typeChar, typeNVarChar, typeNChar:
		r.shortLength(c)
	case typeXML:
		c.Size = unlimited
		if d.u8() != 0 {
			d.fail("xml with a schema collection")
		}
	case typeText, typeNText, typeImage:
		if c.param {
			d.fail("a return value of type %#02x", c.Type)
		}
		c.Size = int(d.u32())
		if want := map[byte]int{typeText: longSize, typeImage: longSize, typeNText: longSize - 1}[c.Type]; c.Size != want {
			d.fail("type %#02x of %d bytes", c.Type, c.Size)
		}
		if c.Type != typeImage {
			r.collation(c)
		}
	case typeVariant:
		if c.Size = int(d.u32()); c.Size != variantSize {
			d.fail("sql_variant of %d bytes", c.Size)
		}
	default:
		d.fail("type %#02x", c.Type)
	}
	if r.version < 0x730A0003 && r.version != 0x08000000 && c.Type >= typeDate && c.Type <= typeDTOffset && c.Type != typeInt1 {
		d.fail("type %#02x for a client of TDS %#08x", c.Type, r.version)
	}
	if !r.wide() && (c.Type == typeXML || c.Size == unlimited) {
		d.fail("a (max) type for a client of TDS %#08x", r.version)
	}
	if user == 80 && (c.Type != typeBinary || c.Size != 8) {
		d.fail("timestamp as type %#02x of %d bytes", c.Type, c.Size)
	}
}

// temporalSize is the size of a value of time, datetime2 or datetimeoffset (MS-TDS 2.2.5.5.1.8).
func temporalSize(t, scale byte) int {
	n := 5
	switch {
	case scale <= 2:
		n = 3
	case scale <= 4:
		n = 4
	}
	switch t {
	case typeDateTime2:
		return n + 3
	case typeDTOffset:
		return n + 5
	}
	return n
}

// byteLength reads the size of the types with one byte of length. A column of integers, bits,
// floats, money or datetimes that is never NULL must have a type without a length instead:
// SqlClient decides by the flag.
func (r *Reader) byteLength(c *Column) {
	d := &r.d
	c.Size = int(d.u8())
	ok := false
	switch c.Type {
	case typeGUID:
		ok = c.Size == 16
	case typeIntN:
		ok = c.Size == 1 || c.Size == 2 || c.Size == 4 || c.Size == 8
	case typeBitN:
		ok = c.Size == 1
	default:
		ok = c.Size == 4 || c.Size == 8
	}
	if !ok {
		d.fail("type %#02x of %d bytes", c.Type, c.Size)
	}
	if !c.Nullable && c.Type != typeGUID {
		d.fail("type %#02x, which has a length, for a column that is not nullable", c.Type)
	}
}

// shortLength reads size and collation of the types with two bytes of length.
func (r *Reader) shortLength(c *Column) {
	d := &r.d
	c.Size = int(d.u16())
	wide := c.Type == typeNVarChar || c.Type == typeNChar
	fixed := c.Type == typeBinary || c.Type == typeChar || c.Type == typeNChar
	switch {
	case c.Size == unlimited && fixed, c.Size != unlimited && (c.Size == 0 || c.Size > maxSize), c.Size != unlimited && wide && c.Size%2 != 0:
		d.fail("type %#02x of %d bytes", c.Type, c.Size)
	}
	if c.Type != typeVarBinary && c.Type != typeBinary {
		r.collation(c)
	}
}

// collation reads a collation: 20 bits of LCID, flags, version, and the sort id of a SQL collation.
func (r *Reader) collation(c *Column) {
	info, sortID := r.d.u32(), r.d.u8()
	if lcid := info & 0xFFFFF; lcid == 0 && sortID == 0 {
		r.d.fail("characters without a collation")
	}
	c.UTF8 = info&(1<<26) != 0
}

// returnValue reads a RETURNVALUE (MS-TDS 2.2.7.19).
func (r *Reader) returnValue() {
	d := &r.d
	if r.m.result {
		d.fail("a RETURNVALUE inside a result set")
	}
	d.u16()
	c := Column{Name: d.bVarchar(), param: true}
	if status := d.u8(); status != 1 && status != 2 {
		d.fail("a return value with status %#02x", status)
	}
	user := r.userType()
	r.flags(&c)
	c.Nullable = true
	r.typeInfo(&c, user)
	raw, null := r.value(&c)
	if r.OnReturn != nil {
		r.OnReturn(c, c.decode(raw, null))
	}
}
