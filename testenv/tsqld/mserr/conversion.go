package mserr

import (
	"fmt"
	"strings"
)

// Errors of data types and values. Types have the names of Type.Name, without a length.
var (
	// TypeClash: two types without a conversion.
	TypeClash         = of[func(from, to string) *Error](206)
	RecursiveTypes    = of[func(column, query string) *Error](240)
	DateConversion    = of[func() *Error](241)
	DateOutOfRange    = of[func(from, to string) *Error](242)
	UnknownSystemType = of[func(name string) *Error](243)
	// ConversionFailed: value is the text that could not be converted.
	ConversionFailed        = of[func(from, value, to string) *Error](245)
	IntOverflow             = of[func(from, value string) *Error](248)
	ImplicitConversion      = of[func(from, to string) *Error](257)
	ExplicitConversion      = of[func(from, to string) *Error](529)
	InvalidStyle            = of[func(style int, from string) *Error](281)
	StyleNotSupported       = of[func(style int, from, to string) *Error](9809)
	LOBCompare              = of[func() *Error](306)
	SmallDateTimeConversion = of[func() *Error](295)
	// IncompatibleTypes: operator is "add", "equal to", "greater than", "'='" and the like.
	IncompatibleTypes = of[func(a, b, operator string) *Error](402)
	OrderByConstant   = of[func(n int) *Error](408)
	NotDistinct       = of[func(name string) *Error](421)
	InvalidCollation  = of[func(name string) *Error](448)
	// CollateTwice: COLLATE of a value that has a COLLATE clause already.
	CollateTwice = of[func() *Error](445)
	// CollateConflict: COLLATE of a value that has a COLLATE clause with another collation.
	CollateConflict = of[func(a, b string) *Error](449)
	// NoCollation: the operand of a collation-sensitive operation has no collation. operation is
	// "patindex", "equal to" and the like.
	NoCollation = of[func(operation string) *Error](4191)
	// CollationConflict: operation is "equal to", "UNION" and the like.
	CollationConflict = of[func(a, b, operation string) *Error](468)
	// CollationConflictColumn: operator is "add", "UNION ALL" and the like, clause SELECT or
	// ORDER BY, column counts from 1.
	CollationConflictColumn = of[func(a, b, operator, clause string, column int) *Error](451)
	InvalidCollateType      = of[func(name string) *Error](447)
	UnresolvedVariant       = of[func(from, a, b, operator string) *Error](456)
	UnresolvedCollation     = of[func(from, to, a, b, operator string) *Error](457)
	// InvalidEscape: predicate is "LIKE".
	InvalidEscape = of[func(escape, predicate string) *Error](506)
	DateOverflow  = of[func(name string) *Error](517)
	// BucketOverflow: of DATE_BUCKET; name is that of the data type.
	BucketOverflow   = of[func(name string) *Error](9835)
	DateDiffOverflow = of[func() *Error](535)
	// InvalidLengthOf: a negative length given to function.
	InvalidLengthOf = of[func(function string) *Error](536)
	InvalidTimeZone = of[func(name string) *Error](9820)
	InvalidOffset   = of[func(function string) *Error](9812)
	// InvalidDatePart: of the date functions.
	InvalidDatePart      = of[func(part, function string) *Error](155)
	DatePartNotSupported = of[func(part, function, name string) *Error](9810)
	ConversionError      = of[func(from, to string) *Error](8114)
	// ArithmeticOverflow: from is "expression" for the result of arithmetic.
	ArithmeticOverflow = of[func(from, to string) *Error](8115)
	// ArithmeticOccurred: an informational message after [IdentityOverflow].
	ArithmeticOccurred  = of[func() *Error](3606)
	NoIdentityValue     = of[func() *Error](339)
	InvalidArgumentType = of[func(name string, n int, function string) *Error](8116)
	// InvalidOperandType: operator is "add", "sum", "minus" and the like.
	InvalidOperandType = of[func(name, operator string) *Error](8117)
	InvalidCaseNulls   = of[func() *Error](8133)
	DivideByZero       = of[func() *Error](8134)
	// Truncated: for places without a column name.
	Truncated = of[func() *Error](8152)
	// TruncatedColumn: table is its three-part name, value the part that fits.
	TruncatedColumn = of[func(table, column, value string) *Error](2628)
	GUIDConversion  = of[func() *Error](8169)
	GUIDSpace       = of[func() *Error](8170)
	CoalesceNulls   = of[func() *Error](4127)
	NullIfNull      = of[func() *Error](4151)
	// InvalidFloatOperation: a domain error of a mathematical function.
	InvalidFloatOperation = of[func() *Error](3623)
	// AggregateStrings: the result of STRING_AGG or STRING_ESCAPE exceeds 8000 bytes.
	AggregateStrings = of[func(function string) *Error](9829)
	// JSONPath: position counts UTF-16 units from 0.
	JSONPath = of[func(character string, position int) *Error](13607)
	// JSONProperty: a strict path names a property that the text does not have.
	JSONProperty = of[func() *Error](13608)
	// JSONText: position counts UTF-16 units from 0.
	JSONText = of[func(character string, position int) *Error](13609)
	// JSONScalar: a strict path of JSON_VALUE ends at an object, array or too long value.
	JSONScalar = of[func() *Error](13623)
	// JSONObject: a strict path of JSON_QUERY ends at a scalar.
	JSONObject = of[func() *Error](13624)
	// JSONTruncated: a strict path of JSON_VALUE ends at a text over 4000 characters.
	JSONTruncated = of[func() *Error](13625)
	JSONUnnamed   = of[func() *Error](13605)
	JSONConflict  = of[func(property string) *Error](13601)
	// JSONNeedsTable: FOR JSON AUTO without a FROM clause.
	JSONNeedsTable = of[func() *Error](13600)
	JSONAsJSON     = of[func() *Error](13618)
	XMLCompare     = of[func() *Error](305)
	BeforeHijri    = of[func() *Error](9814)
	UnknownCulture = of[func(culture string) *Error](9818)
)

// Overflow220 is error 220: an integer that does not fit a smaller integer type.
func Overflow220(to string, value int64) *Error {
	return Of(220, to, value).stateIf(to == "tinyint", 2)
}

// Overflow232 is error 232: a float that does not fit an integer type, or the length of char or
// varchar.
func Overflow232(to string, value float64) *Error {
	text := fmt.Sprintf("%f", value)
	if whole := strings.IndexByte(strings.TrimPrefix(text, "-"), '.'); whole > 17 { // 17 significant digits
		mantissa, _, _ := strings.Cut(fmt.Sprintf("%.16e", value), "e")
		text = strings.Replace(mantissa, ".", "", 1) + strings.Repeat("0", whole-17) + ".000000"
	}
	return Of(232, to, text).stateIf(to == "tinyint", 1).stateIf(to == "int", 3)
}

// MoneySyntax is error 235, 293 for smallmoney; to is the type's name.
func MoneySyntax(to string) *Error {
	if to == "smallmoney" {
		return Of(293)
	}
	return Of(235)
}

// MoneyOverflow is error 236, 294 for smallmoney: a text with an amount out of range.
func MoneyOverflow(to string) *Error {
	if to == "smallmoney" {
		return Of(294, to, to)
	}
	return Of(236, to, to)
}

// CharOverflow is error 244: digits too large for tinyint (column "INT1") or smallint ("INT2").
func CharOverflow(from, value, column string) *Error {
	return Of(244, from, value, column).stateIf(column == "INT2", 2)
}

// MoneySpaceIn is error 237: a money value that does not fit int or smallmoney.
func MoneySpaceIn(to string, state uint8) *Error { return Of(237, to).WithState(state) }

// BelowMinimumDate is error 9837 of DATETRUNC; the state tells the data type.
func BelowMinimumDate(state uint8) *Error { return Of(9837).WithState(state) }

// InvalidSubstring is error 537: a negative length given to LEFT or SUBSTRING.
func InvalidSubstring(state uint8) *Error { return Of(537).WithState(state) }

// InvalidDateParts is error 289; name is "date", "datetime2" and the like.
func InvalidDateParts(name string) *Error {
	states := map[string]uint8{"date": 1, "time": 2, "datetime": 3, "smalldatetime": 4, "datetime2": 5, "datetimeoffset": 6}
	return Of(289, name).WithState(states[name])
}

// IdentityOverflow is error 8115 for the identity values of a column of type to. It ends the
// batch.
func IdentityOverflow(to string) *Error { return ArithmeticOverflow("IDENTITY", to).WithState(1) }

// MoneySpace is error 234, 292 for smallmoney: a value does not fit the character type to.
func MoneySpace(from, to string) *Error {
	if from == "smallmoney" {
		return Of(292, from, to)
	}
	return Of(234, from, to)
}

// TranslateLengths is error 9828.
func TranslateLengths(unicode bool) *Error { return Of(9828).stateIf(unicode, 3) }

// XMLParse is one of the errors 9400 to 9460 of malformed XML; line and character count from 1.
// problem is the text of the message: "unexpected end of input" (9400), "end tag does not match
// start tag" (9436), "unable to switch the encoding" (9402), "text/xmldeclaration not at the
// beginning of input" (9438); for others the number is 9420.
func XMLParse(line, character int, problem string) *Error {
	number := int32(9420)
	switch problem {
	case XMLUnexpectedEnd:
		number = 9400
	case XMLEndTag:
		number = 9436
	case XMLEncoding:
		number = 9402
	case XMLDeclaration:
		number = 9438
	}
	return New(number, 16, "XML parsing: line %d, character %d, %s", line, character, problem)
}

// The problems that XMLParse has numbers for.
const (
	XMLUnexpectedEnd = "unexpected end of input"
	XMLEndTag        = "end tag does not match start tag"
	XMLEncoding      = "unable to switch the encoding"
	XMLDeclaration   = "text/xmldeclaration not at the beginning of input"
	XMLIllegal       = "illegal xml character"
)
