package types

// Value is nil, int64, float64, string or []byte; the package comment lists the Go type of each SQL
// type.
type Value = any

// ID is a family of types; the zero ID is invalid.
type ID uint8

// The types, in no particular order; precedence is a table of its own.
const (
	Bit ID = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Decimal // also numeric; see Type.Numeric
	Money
	SmallMoney
	Real
	Float
	Date
	Time
	DateTime
	SmallDateTime
	DateTime2
	DateTimeOffset
	Char
	VarChar
	NChar
	NVarChar
	Text
	NText
	Binary
	VarBinary
	Image
	UniqueIdentifier
	RowVersion
	XML
	Variant // sql_variant
	Null    // type of a bare NULL; converts to every type, becomes int where a column needs a type
)

// Max is the Length of varchar(max), nvarchar(max) and varbinary(max).
const Max = -1

// Type describes a column, variable, parameter or expression. It is comparable with ==.
type Type struct {
	ID        ID
	Length    int   // char, varchar: bytes of the code page or of UTF-8; nchar, nvarchar: UTF-16 units; binary, varbinary: bytes; Max for (max); else 0
	Precision uint8 // decimal: 1 to 38
	Scale     uint8 // decimal: 0 to Precision; time, datetime2, datetimeoffset: 0 to 7
	Numeric   bool  // decimal declared as numeric
	Collation Collation
}

// Column is a column of a result set, a table or a table type as a client sees it.
type Column struct {
	Name     string
	Type     Type
	Nullable bool
	Identity bool // the column is an IDENTITY column
	Computed bool // a computed column, or an expression of a query
	// Origin is the table column behind a result column; nil if clients do not get it.
	Origin *Origin `json:"-"`
}

// Origin is the origin of a result column. Clients get it for text, ntext and image, and for every
// column in browse mode (SET NO_BROWSETABLE ON).
type Origin struct {
	Browse bool     // the result set is in browse mode
	Table  []string // name of the table as in the statement: database, schema and name, or fewer parts; empty for an expression
	Column string   // its column
	Key    bool     // part of the key of the table
	Hidden bool     // not in the select list; added because it is part of the key
}
