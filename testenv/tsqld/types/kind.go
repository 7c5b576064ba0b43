package types

import "strings"

// IsInteger reports bit, tinyint, smallint, int and bigint.
func (t Type) IsInteger() bool { return t.ID >= Bit && t.ID <= BigInt }

// IsExact reports integers, decimal and money: the numbers without rounding error.
func (t Type) IsExact() bool { return t.ID >= Bit && t.ID <= SmallMoney }

// IsMoney reports money and smallmoney.
func (t Type) IsMoney() bool { return t.ID == Money || t.ID == SmallMoney }

// IsApprox reports real and float.
func (t Type) IsApprox() bool { return t.ID == Real || t.ID == Float }

// IsNumber reports every numeric type, bit included.
func (t Type) IsNumber() bool { return t.ID >= Bit && t.ID <= Float }

// IsTemporal reports date, time and the types that combine them.
func (t Type) IsTemporal() bool { return t.ID >= Date && t.ID <= DateTimeOffset }

// IsLegacyTemporal reports datetime and smalldatetime, which take part in arithmetic.
func (t Type) IsLegacyTemporal() bool { return t.ID == DateTime || t.ID == SmallDateTime }

// IsString reports char, varchar, nchar and nvarchar, not text and ntext.
func (t Type) IsString() bool { return t.ID >= Char && t.ID <= NVarChar }

// IsCharacter reports every type whose value is a Go string with a collation: IsString, text and
// ntext.
func (t Type) IsCharacter() bool { return t.ID >= Char && t.ID <= NText }

// IsUnicode reports nchar, nvarchar and ntext.
func (t Type) IsUnicode() bool { return t.ID == NChar || t.ID == NVarChar || t.ID == NText }

// IsBinary reports binary and varbinary, not image and rowversion.
func (t Type) IsBinary() bool { return t.ID == Binary || t.ID == VarBinary }

// IsLOB reports text, ntext and image, which cannot be compared.
func (t Type) IsLOB() bool { return t.ID == Text || t.ID == NText || t.ID == Image }

// IsMax reports varchar(max), nvarchar(max) and varbinary(max).
func (t Type) IsMax() bool { return t.Length == Max }

// IsDecimalText reports a decimal kept as text because its precision exceeds 18.
func (t Type) IsDecimalText() bool { return t.ID == Decimal && t.Precision > intDecimal }

// Comparable reports whether values of t can be compared, sorted and grouped.
func (t Type) Comparable() bool { return t.ID != 0 && !t.IsLOB() && t.ID != XML }

// Storage returns the SQLite column type for values of t: "INTEGER", "REAL", "TEXT" or "BLOB".
func (t Type) Storage() string {
	switch {
	case t.IsDecimalText():
		return "TEXT"
	case t.IsExact(), t.ID == Null:
		return "INTEGER"
	case t.IsApprox():
		return "REAL"
	case t.ID == DateTimeOffset:
		return "BLOB"
	case t.IsTemporal():
		return "INTEGER"
	case t.IsCharacter(), t.ID == XML:
		return "TEXT"
	}
	return "BLOB"
}

// Names of this package's comparisons in SQLite; RTRIM is SQLite's own. Those of texts are in
// [SQLiteCollations].
const (
	CollationBin     = "RTRIM"
	CollationDecimal = "decimal"
)

// sqliteNames are the names in SQLite by kind of comparison. Files persist them.
var sqliteNames = func() (names [comparisons]string) {
	names[binaryOrder] = CollationBin
	for c := range binaryOrder {
		names[c] = strings.ToLower(strings.NewReplacer("_AS", "", "_", "").Replace(c.suffix()))
		names[c|dottedI] = "tr" + names[c]
	}
	return names
}()

// SQLiteCollations returns the comparisons of texts by their names in SQL texts ("ci", "cs", "ciai"
// and so on), each with a collation that uses it.
func SQLiteCollations() map[string]Collation {
	m := make(map[string]Collation, len(sqliteNames))
	for _, c := range Collations() {
		if name := sqliteNames[c.info().class]; name != CollationBin {
			m[name] = c
		}
	}
	return m
}

// CollationName returns the SQLite collation for values of t; "" if SQLite's own order of the
// storage class is right.
func (t Type) CollationName() string {
	switch {
	case t.IsDecimalText():
		return CollationDecimal
	case t.IsCharacter():
		return sqliteNames[t.Collation.info().class]
	}
	return ""
}

// Types with a constant. The lengths are those of common results of built-in functions.
var (
	BitType            = Type{ID: Bit}
	TinyIntType        = Type{ID: TinyInt}
	SmallIntType       = Type{ID: SmallInt}
	IntType            = Type{ID: Int}
	BigIntType         = Type{ID: BigInt}
	FloatType          = Type{ID: Float}
	MoneyType          = Type{ID: Money}
	DateType           = Type{ID: Date}
	DateTimeType       = Type{ID: DateTime}
	DateTime2Type      = Type{ID: DateTime2, Scale: 7}
	DateTimeOffsetType = Type{ID: DateTimeOffset, Scale: 7}
	GUIDType           = Type{ID: UniqueIdentifier}
	VariantType        = Type{ID: Variant}
	NullType           = Type{ID: Null}
	NVarCharMax        = Type{ID: NVarChar, Length: Max}
	SysNameType        = NVarCharOf(128) // the type sysname, of names
	VarCharMax         = Type{ID: VarChar, Length: Max}
	VarBinaryMax       = Type{ID: VarBinary, Length: Max}
)

// NVarCharOf returns nvarchar(n); lengths over 4000 become (max).
func NVarCharOf(n int) Type { return Type{ID: NVarChar, Length: cut(n, maxUnits)} }

// VarCharOf returns varchar(n); lengths over 8000 become (max).
func VarCharOf(n int) Type { return Type{ID: VarChar, Length: cut(n, maxBytes)} }

// VarBinaryOf returns varbinary(n); lengths over 8000 become (max).
func VarBinaryOf(n int) Type { return Type{ID: VarBinary, Length: cut(n, maxBytes)} }

// DecimalOf returns decimal(p,s).
func DecimalOf(p, s uint8) Type { return Type{ID: Decimal, Precision: p, Scale: s} }

// cut returns a valid length of a type: at least 1, and Max over the limit.
func cut(n, limit int) int {
	if n == Max || n > limit {
		return Max
	}
	return max(n, 1)
}
