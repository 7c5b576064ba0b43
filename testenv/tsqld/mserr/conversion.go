package mserr

import (
	"fmt"
	"strings"
)

// Errors of data types and values. Types have the names of Type.Name, without a length.

// TypeClash is error 206: two types without a conversion.
func TypeClash(from, to string) *Error { return Of(206, from, to) }

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

// RecursiveTypes is error 240.
func RecursiveTypes(column, query string) *Error { return Of(240, column, query) }

// DateConversion is error 241.
func DateConversion() *Error { return Of(241) }

// DateOutOfRange is error 242.
func DateOutOfRange(from, to string) *Error { return Of(242, from, to) }

// UnknownSystemType is error 243.
func UnknownSystemType(name string) *Error { return Of(243, name) }

// CharOverflow is error 244: digits too large for tinyint (column "INT1") or smallint ("INT2").
func CharOverflow(from, value, column string) *Error {
	return Of(244, from, value, column).stateIf(column == "INT2", 2)
}

// ConversionFailed is error 245; value is the text that could not be converted.
func ConversionFailed(from, value, to string) *Error { return Of(245, from, value, to) }

// IntOverflow is error 248.
func IntOverflow(from, value string) *Error { return Of(248, from, value) }

// ImplicitConversion is error 257.
func ImplicitConversion(from, to string) *Error { return Of(257, from, to) }

// ExplicitConversion is error 529.
func ExplicitConversion(from, to string) *Error { return Of(529, from, to) }

// InvalidStyle is error 281.
func InvalidStyle(style int, from string) *Error { return Of(281, style, from) }

// StyleNotSupported is error 9809.
func StyleNotSupported(style int, from, to string) *Error { return Of(9809, style, from, to) }

// LOBCompare is error 306.
func LOBCompare() *Error { return Of(306) }

// SmallDateTimeConversion is error 295.
func SmallDateTimeConversion() *Error { return Of(295) }

// IncompatibleTypes is error 402; operator is "add", "equal to", "greater than", "'='" and the
// like.
func IncompatibleTypes(a, b, operator string) *Error { return Of(402, a, b, operator) }

// OrderByConstant is error 408; n counts from 1.
func OrderByConstant(n int) *Error { return Of(408, n) }

// NotDistinct is error 421.
func NotDistinct(name string) *Error { return Of(421, name) }

// InvalidCollation is error 448.
func InvalidCollation(name string) *Error { return Of(448, name) }

// CollateTwice is error 445: COLLATE of a value that has a COLLATE clause already.
func CollateTwice() *Error { return Of(445) }

// CollateConflict is error 449: COLLATE of a value that has a COLLATE clause with another
// collation.
func CollateConflict(a, b string) *Error { return Of(449, a, b) }

// NoCollation is error 4191: the operand of a collation-sensitive operation has no collation.
// operation is "patindex", "equal to" and the like.
func NoCollation(operation string) *Error { return Of(4191, operation) }

// CollationConflict is error 468; operation is "equal to", "UNION" and the like.
func CollationConflict(a, b, operation string) *Error { return Of(468, a, b, operation) }

// CollationConflictColumn is error 451; operator is "add", "UNION ALL" and the like, clause SELECT
// or ORDER BY, column counts from 1.
func CollationConflictColumn(a, b, operator, clause string, column int) *Error {
	return Of(451, a, b, operator, clause, column)
}

// InvalidCollateType is error 447.
func InvalidCollateType(name string) *Error { return Of(447, name) }

// UnresolvedVariant is error 456.
func UnresolvedVariant(from, a, b, operator string) *Error { return Of(456, from, a, b, operator) }

// UnresolvedCollation is error 457.
func UnresolvedCollation(from, to, a, b, operator string) *Error {
	return Of(457, from, to, a, b, operator)
}

// MoneySpaceIn is error 237: a money value that does not fit int or smallmoney.
func MoneySpaceIn(to string, state uint8) *Error { return Of(237, to).WithState(state) }

// InvalidEscape is error 506; predicate is "LIKE".
func InvalidEscape(escape, predicate string) *Error { return Of(506, escape, predicate) }

// DateOverflow is error 517.
func DateOverflow(name string) *Error { return Of(517, name) }

// BelowMinimumDate is error 9837 of DATETRUNC; the state tells the data type.
func BelowMinimumDate(state uint8) *Error { return Of(9837).WithState(state) }

// BucketOverflow is error 9835 of DATE_BUCKET; name is that of the data type.
func BucketOverflow(name string) *Error { return Of(9835, name) }

// DateDiffOverflow is error 535.
func DateDiffOverflow() *Error { return Of(535) }

// InvalidLengthOf is error 536: a negative length given to function.
func InvalidLengthOf(function string) *Error { return Of(536, function) }

// InvalidSubstring is error 537: a negative length given to LEFT or SUBSTRING.
func InvalidSubstring(state uint8) *Error { return Of(537).WithState(state) }

// InvalidTimeZone is error 9820.
func InvalidTimeZone(name string) *Error { return Of(9820, name) }

// InvalidOffset is error 9812.
func InvalidOffset(function string) *Error { return Of(9812, function) }

// InvalidDatePart is error 155 of the date functions.
func InvalidDatePart(part, function string) *Error { return Of(155, part, function) }

// DatePartNotSupported is error 9810.
func DatePartNotSupported(part, function, name string) *Error {
	return Of(9810, part, function, name)
}

// InvalidDateParts is error 289; name is "date", "datetime2" and the like.
func InvalidDateParts(name string) *Error {
	states := map[string]uint8{"date": 1, "time": 2, "datetime": 3, "smalldatetime": 4, "datetime2": 5, "datetimeoffset": 6}
	return Of(289, name).WithState(states[name])
}

// ConversionError is error 8114.
func ConversionError(from, to string) *Error { return Of(8114, from, to) }

// ArithmeticOverflow is error 8115. from is "expression" for the result of arithmetic.
func ArithmeticOverflow(from, to string) *Error { return Of(8115, from, to) }

// IdentityOverflow is error 8115 for the identity values of a column of type to. It ends the
// batch.
func IdentityOverflow(to string) *Error { return ArithmeticOverflow("IDENTITY", to).WithState(1) }

// ArithmeticOccurred is error 3606, an informational message after [IdentityOverflow].
func ArithmeticOccurred() *Error { return Of(3606) }

// NoIdentityValue is error 339.
func NoIdentityValue() *Error { return Of(339) }

// InvalidArgumentType is error 8116; n counts from 1.
func InvalidArgumentType(name string, n int, function string) *Error {
	return Of(8116, name, n, function)
}

// InvalidOperandType is error 8117; operator is "add", "sum", "minus" and the like.
func InvalidOperandType(name, operator string) *Error { return Of(8117, name, operator) }

// InvalidCaseNulls is error 8133.
func InvalidCaseNulls() *Error { return Of(8133) }

// DivideByZero is error 8134.
func DivideByZero() *Error { return Of(8134) }

// Truncated is error 8152, for places without a column name.
func Truncated() *Error { return Of(8152) }

// TruncatedColumn is error 2628; table is its three-part name, value the part that fits.
func TruncatedColumn(table, column, value string) *Error { return Of(2628, table, column, value) }

// GUIDConversion is error 8169.
func GUIDConversion() *Error { return Of(8169) }

// GUIDSpace is error 8170.
func GUIDSpace() *Error { return Of(8170) }

// MoneySpace is error 234, 292 for smallmoney: a value does not fit the character type to.
func MoneySpace(from, to string) *Error {
	if from == "smallmoney" {
		return Of(292, from, to)
	}
	return Of(234, from, to)
}

// CoalesceNulls is error 4127.
func CoalesceNulls() *Error { return Of(4127) }

// NullIfNull is error 4151.
func NullIfNull() *Error { return Of(4151) }

// InvalidFloatOperation is error 3623: a domain error of a mathematical function.
func InvalidFloatOperation() *Error { return Of(3623) }

// AggregateStrings is error 9829: the result of STRING_AGG or STRING_ESCAPE exceeds 8000 bytes.
func AggregateStrings(function string) *Error { return Of(9829, function) }

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

// JSONPath is error 13607; position counts UTF-16 units from 0.
func JSONPath(character string, position int) *Error { return Of(13607, character, position) }

// JSONProperty is error 13608: a strict path names a property that the text does not have.
func JSONProperty() *Error { return Of(13608) }

// JSONText is error 13609; position counts UTF-16 units from 0.
func JSONText(character string, position int) *Error { return Of(13609, character, position) }

// JSONScalar is error 13623: a strict path of JSON_VALUE ends at an object, array or too long
// value.
func JSONScalar() *Error { return Of(13623) }

// JSONObject is error 13624: a strict path of JSON_QUERY ends at a scalar.
func JSONObject() *Error { return Of(13624) }

// JSONTruncated is error 13625: a strict path of JSON_VALUE ends at a text over 4000 characters.
func JSONTruncated() *Error { return Of(13625) }

// JSONUnnamed is error 13605.
func JSONUnnamed() *Error { return Of(13605) }

// JSONConflict is error 13601.
func JSONConflict(property string) *Error { return Of(13601, property) }

// JSONNeedsTable is error 13600: FOR JSON AUTO without a FROM clause.
func JSONNeedsTable() *Error { return Of(13600) }

// JSONAsJSON is error 13618.
func JSONAsJSON() *Error { return Of(13618) }

// XMLCompare is error 305.
func XMLCompare() *Error { return Of(305) }

// BeforeHijri is error 9814.
func BeforeHijri() *Error { return Of(9814) }

// UnknownCulture is error 9818.
func UnknownCulture(culture string) *Error { return Of(9818, culture) }
