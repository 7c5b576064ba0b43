package types

import (
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// typeInfo is a row of sys.types and the rules of the type's arguments.
type typeInfo struct {
	name       string
	systemID   uint8 // sys.types.system_type_id
	maxLength  int16 // sys.types.max_length in bytes; for types with arguments the maximum
	precision  uint8 // sys.types.precision
	scale      uint8 // sys.types.scale
	precedence uint8 // 1 is the highest; 0 means none (Null)
}

// infos are the rows of sys.types that the server has, by ID. Ids and precisions: "sys.types
// (Transact-SQL)"; precedence: "Data type precedence (Transact-SQL)".
var infos = [...]typeInfo{
	Bit:              {"bit", 104, 1, 1, 0, 19},
	TinyInt:          {"tinyint", 48, 1, 3, 0, 18},
	SmallInt:         {"smallint", 52, 2, 5, 0, 17},
	Int:              {"int", 56, 4, 10, 0, 16},
	BigInt:           {"bigint", 127, 8, 19, 0, 15},
	Decimal:          {"decimal", 106, 17, 38, 38, 12},
	Money:            {"money", 60, 8, 19, 4, 13},
	SmallMoney:       {"smallmoney", 122, 4, 10, 4, 14},
	Real:             {"real", 59, 4, 24, 0, 11},
	Float:            {"float", 62, 8, 53, 0, 10},
	Date:             {"date", 40, 3, 10, 0, 8},
	Time:             {"time", 41, 5, 16, 7, 9},
	DateTime:         {"datetime", 61, 8, 23, 3, 6},
	SmallDateTime:    {"smalldatetime", 58, 4, 16, 0, 7},
	DateTime2:        {"datetime2", 42, 8, 27, 7, 5},
	DateTimeOffset:   {"datetimeoffset", 43, 10, 34, 7, 4},
	Char:             {"char", 175, 8000, 0, 0, 28},
	VarChar:          {"varchar", 167, 8000, 0, 0, 27},
	NChar:            {"nchar", 239, 8000, 0, 0, 26},
	NVarChar:         {"nvarchar", 231, 8000, 0, 0, 25},
	Text:             {"text", 35, 16, 0, 0, 21},
	NText:            {"ntext", 99, 16, 0, 0, 20},
	Binary:           {"binary", 173, 8000, 0, 0, 30},
	VarBinary:        {"varbinary", 165, 8000, 0, 0, 29},
	Image:            {"image", 34, 16, 0, 0, 22},
	UniqueIdentifier: {"uniqueidentifier", 36, 16, 0, 0, 24},
	RowVersion:       {"timestamp", 189, 8, 0, 0, 23},
	XML:              {"xml", 241, -1, 0, 0, 3},
	Variant:          {"sql_variant", 98, 8016, 0, 0, 2},
	Null:             {"NULL", 0, 0, 0, 0, 0},
}

// synonyms are the other names of types ("Data type synonyms").
var synonyms = map[string]ID{
	"bit": Bit, "tinyint": TinyInt, "smallint": SmallInt, "int": Int, "integer": Int, "bigint": BigInt,
	"decimal": Decimal, "dec": Decimal, "numeric": Decimal, "money": Money, "smallmoney": SmallMoney,
	"real": Real, "float": Float, "double precision": Float,
	"date": Date, "time": Time, "datetime": DateTime, "smalldatetime": SmallDateTime, "datetime2": DateTime2,
	"datetimeoffset": DateTimeOffset,
	"char":           Char, "character": Char, "varchar": VarChar, "char varying": VarChar, "character varying": VarChar,
	"nchar": NChar, "national char": NChar, "national character": NChar,
	"nvarchar": NVarChar, "national char varying": NVarChar, "national character varying": NVarChar,
	"text": Text, "ntext": NText, "national text": NText,
	"binary": Binary, "varbinary": VarBinary, "binary varying": VarBinary, "image": Image,
	"uniqueidentifier": UniqueIdentifier, "timestamp": RowVersion, "rowversion": RowVersion,
	"xml": XML, "sql_variant": Variant,
}

// SysName is the type of identifiers, an alias of nvarchar(128) NOT NULL.
var SysName = Type{ID: NVarChar, Length: 128}

// Limits of declared lengths, in characters (Unicode: UTF-16 units) or bytes.
const (
	maxBytes    = 8000
	maxUnits    = 4000
	castLength  = 30 // default length of character and binary types in CAST and CONVERT
	maxDecimal  = 38 // largest precision of a decimal
	intDecimal  = 18 // largest precision of a decimal kept as int64
	maxTimeFrac = 7
)

// Named returns the type name(args...) of a column, variable or parameter. Character and binary
// types without a length have length 1, decimal is decimal(18,0), and the time types have 7
// fractional digits. The argument Max stands for (max). name is matched in any case, without
// brackets, and may be a synonym or sysname.
//
// Errors: 243 for an unknown name; 1001, 1002, 131, 2716, 2750 and 2751 for invalid arguments.
func Named(name string, args ...int) (Type, error) { return named(name, 1, args) }

// NamedForCast is Named with the defaults of CAST and CONVERT: a missing length is 30.
func NamedForCast(name string, args ...int) (Type, error) { return named(name, castLength, args) }

// Known reports whether name is a system type, a synonym of one or sysname.
func Known(name string) bool {
	name = canonicalName(name)
	_, ok := synonyms[name]
	return ok || name == "sysname"
}

// Canonical returns SQL Server's name of a known type: "int" for "integer", "timestamp" for
// "rowversion".
func Canonical(name string) string {
	key := canonicalName(name)
	switch id := synonyms[key]; {
	case key == "numeric", key == "sysname":
		return key
	case id == RowVersion:
		return "timestamp"
	case id != 0:
		return infos[id].name
	}
	return name
}

// canonicalName returns name in lower case, with single blanks.
func canonicalName(name string) string {
	return strings.Join(strings.Fields(strings.ToLower(name)), " ")
}

func named(name string, defaultLength int, args []int) (Type, error) {
	key := canonicalName(name)
	if key == "sysname" {
		if len(args) > 0 {
			return Type{}, mserr.WidthNotAllowed(1, name)
		}
		return SysName, nil
	}
	id, ok := synonyms[key]
	if !ok {
		return Type{}, mserr.UnknownSystemType(name)
	}
	t := Type{ID: id}
	switch id {
	case Char, VarChar, NChar, NVarChar, Binary, VarBinary:
		return lengthType(t, key, defaultLength, args)
	case Decimal:
		return decimalType(t, key, args)
	case Float:
		return floatType(t, key, args)
	case Time, DateTime2, DateTimeOffset:
		t.Scale = maxTimeFrac
		if len(args) > 1 {
			return Type{}, mserr.WidthNotAllowed(1, name)
		}
		if len(args) == 1 {
			if args[0] < 0 || args[0] > maxTimeFrac {
				return Type{}, mserr.InvalidScale(args[0])
			}
			t.Scale = uint8(args[0])
		}
		return t, nil
	case XML: // an argument would be a schema collection, not a number
	}
	if len(args) > 0 {
		return Type{}, mserr.WidthNotAllowed(1, name)
	}
	return t, nil
}

// lengthType applies the length of a character or binary type.
func lengthType(t Type, name string, defaultLength int, args []int) (Type, error) {
	if len(args) > 1 {
		return Type{}, mserr.WidthNotAllowed(1, name)
	}
	limit := maxBytes
	if t.ID == NChar || t.ID == NVarChar {
		limit = maxUnits
	}
	t.Length = defaultLength
	if len(args) == 1 {
		t.Length = args[0]
	}
	switch {
	case t.Length == Max:
		if t.ID == Char || t.ID == NChar || t.ID == Binary {
			return Type{}, mserr.Syntax("max")
		}
	case t.Length <= 0:
		return Type{}, mserr.InvalidLength(t.Length)
	case t.Length > limit:
		return Type{}, mserr.SizeExceedsMaximum(t.Length, name, limit)
	}
	return t, nil
}

// decimalType applies precision and scale.
func decimalType(t Type, name string, args []int) (Type, error) {
	t.Numeric = name == "numeric"
	t.Precision = intDecimal
	if len(args) > 2 {
		return Type{}, mserr.WidthNotAllowed(1, name)
	}
	if len(args) > 0 {
		switch {
		case args[0] < 1:
			return Type{}, mserr.InvalidLength(args[0])
		case args[0] > maxDecimal:
			return Type{}, mserr.PrecisionTooLarge(1, args[0], maxDecimal)
		}
		t.Precision = uint8(args[0])
	}
	if len(args) > 1 {
		switch {
		case args[1] < 0:
			return Type{}, mserr.InvalidScale(args[1])
		case args[1] > int(t.Precision):
			return Type{}, mserr.ScaleExceedsPrecision(1, args[1], int(t.Precision))
		}
		t.Scale = uint8(args[1])
	}
	return t, nil
}

// floatType maps float(1..24) to real and float(25..53) to float.
func floatType(t Type, name string, args []int) (Type, error) {
	if len(args) == 0 {
		return t, nil
	}
	if len(args) > 1 || name != "float" {
		return Type{}, mserr.WidthNotAllowed(1, name)
	}
	switch n := args[0]; {
	case n < 1:
		return Type{}, mserr.InvalidLength(n)
	case n > 53:
		return Type{}, mserr.PrecisionTooLarge(1, n, 53)
	case n <= 24:
		t.ID = Real
	}
	return t, nil
}

// MessageName returns the name in the messages of the compiler (206, 257, 402, 529, 8116, 8117):
// the name, and (max), as in "varbinary(max)".
func (t Type) MessageName() string {
	if t.Length == Max && (t.IsString() || t.IsBinary()) {
		return t.Name() + "(max)"
	}
	return t.Name()
}

// Name returns the type's name without arguments, as in error messages and sys.types: "nvarchar",
// "numeric", "timestamp" for rowversion. The name of the zero Type is "".
func (t Type) Name() string {
	if t.ID == Decimal && t.Numeric {
		return "numeric"
	}
	if int(t.ID) < len(infos) {
		return infos[t.ID].name
	}
	return ""
}

// String returns the type's declaration: "nvarchar(128)", "decimal(18,4)", "datetime2(7)". Named
// accepts the output of String.
func (t Type) String() string {
	name := t.Name()
	switch t.ID {
	case Char, VarChar, NChar, NVarChar, Binary, VarBinary:
		if t.Length == Max {
			return name + "(max)"
		}
		return name + "(" + strconv.Itoa(t.Length) + ")"
	case Decimal:
		return name + "(" + strconv.Itoa(int(t.Precision)) + "," + strconv.Itoa(int(t.Scale)) + ")"
	case Time, DateTime2, DateTimeOffset:
		return name + "(" + strconv.Itoa(int(t.Scale)) + ")"
	}
	return name
}

// Key returns String, followed by ";" and the name of the collation if it is not the default.
// [ParseType] is its inverse. It is used in keys of functions and in persisted definitions.
func (t Type) Key() string {
	if t.Collation != CI {
		return t.String() + ";" + t.Collation.String()
	}
	return t.String()
}

// ParseType reads the output of [Type.Key] and [Type.String].
func ParseType(s string) (Type, error) {
	s, collation, _ := strings.Cut(s, ";")
	t, err := parseType(s)
	if err != nil {
		return Type{}, err
	}
	switch collation {
	case "":
	case "cs": // the form of earlier versions
		t.Collation = CS
	case "bin":
		t.Collation = Bin
	default:
		if t.Collation, _ = CollationByName(collation); t.Collation == CI {
			return Type{}, mserr.InvalidCollation(collation)
		}
	}
	return t, nil
}

// parseType reads a type without a collation.
func parseType(s string) (Type, error) {
	if s == infos[Null].name {
		return NullType, nil
	}
	name, rest, ok := strings.Cut(s, "(")
	if !ok {
		return Named(name)
	}
	rest, ok = strings.CutSuffix(rest, ")")
	if !ok {
		return Type{}, mserr.Syntax(s)
	}
	var args []int
	for a := range strings.SplitSeq(rest, ",") {
		a = strings.TrimSpace(a)
		if strings.EqualFold(a, "max") {
			args = append(args, Max)
			continue
		}
		n, err := strconv.Atoi(a)
		if err != nil || n < 0 {
			return Type{}, mserr.Syntax(s)
		}
		args = append(args, n)
	}
	return Named(name, args...)
}

// SystemTypeID returns sys.types.system_type_id; decimal and numeric differ (106, 108).
func (t Type) SystemTypeID() uint8 {
	if t.ID == Decimal && t.Numeric {
		return 108
	}
	if int(t.ID) < len(infos) {
		return infos[t.ID].systemID
	}
	return 0
}

// UserTypeID returns sys.types.user_type_id of a system type, which equals its system_type_id.
func (t Type) UserTypeID() int { return int(t.SystemTypeID()) }

// MaxLength returns max_length of sys.columns: the storage size in bytes, -1 for (max) and xml, 16
// for text, ntext and image.
func (t Type) MaxLength() int16 {
	switch t.ID {
	case Char, VarChar, Binary, VarBinary:
		return int16(t.Length)
	case NChar, NVarChar:
		if t.Length == Max {
			return Max
		}
		return int16(2 * t.Length)
	case Decimal:
		switch {
		case t.Precision <= 9:
			return 5
		case t.Precision <= 19:
			return 9
		case t.Precision <= 28:
			return 13
		}
		return 17
	case Time:
		return 3 + fractionBytes(t.Scale)
	case DateTime2:
		return 6 + fractionBytes(t.Scale)
	case DateTimeOffset:
		return 8 + fractionBytes(t.Scale)
	}
	if int(t.ID) < len(infos) {
		return infos[t.ID].maxLength
	}
	return 0
}

// fractionBytes returns the size of a time type beyond its size at scale 0 to 2.
func fractionBytes(scale uint8) int16 {
	switch {
	case scale <= 2:
		return 0
	case scale <= 4:
		return 1
	}
	return 2
}

// SysPrecision returns precision of sys.columns: digits of a number, characters of a date's text,
// else 0.
func (t Type) SysPrecision() uint8 {
	frac := t.Scale
	if frac > 0 {
		frac++ // the point
	}
	switch t.ID {
	case Decimal:
		return t.Precision
	case Time:
		return 8 + frac
	case DateTime2:
		return 19 + frac
	case DateTimeOffset:
		return 26 + frac
	}
	if int(t.ID) < len(infos) {
		return infos[t.ID].precision
	}
	return 0
}

// SysScale returns scale of sys.columns: digits after the point, also of seconds.
func (t Type) SysScale() uint8 {
	switch t.ID {
	case Decimal, Time, DateTime2, DateTimeOffset:
		return t.Scale
	}
	if int(t.ID) < len(infos) {
		return infos[t.ID].scale
	}
	return 0
}

// ByID returns the system types in the order of sys.types (by user_type_id). numeric has a row of
// its own; sysname (user_type_id 256) is not included.
func ByID() []Type {
	return []Type{
		{ID: Image}, {ID: Text}, {ID: UniqueIdentifier}, {ID: Date}, {ID: Time, Scale: 7}, {ID: DateTime2, Scale: 7},
		{ID: DateTimeOffset, Scale: 7}, {ID: TinyInt}, {ID: SmallInt}, {ID: Int}, {ID: SmallDateTime}, {ID: Real},
		{ID: Money}, {ID: DateTime}, {ID: Float}, {ID: Variant}, {ID: NText}, {ID: Bit},
		{ID: Decimal, Precision: 38, Scale: 38}, {ID: Decimal, Precision: 38, Scale: 38, Numeric: true}, {ID: SmallMoney},
		{ID: BigInt}, {ID: VarBinary, Length: 8000}, {ID: VarChar, Length: 8000}, {ID: Binary, Length: 8000},
		{ID: Char, Length: 8000}, {ID: RowVersion}, {ID: NVarChar, Length: 4000}, {ID: NChar, Length: 4000}, {ID: XML},
	}
}

// Precedence orders types for mixed operations: the operand with the lower number wins. Null loses
// to all.
func (t Type) Precedence() int {
	if t.ID == 0 || t.ID == Null || int(t.ID) >= len(infos) {
		return 255
	}
	return int(infos[t.ID].precedence)
}
