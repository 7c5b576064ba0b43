package mserr

import (
	"fmt"
	"strings"
)

// Errors of data types and values. Types have the names of Type.Name, without a length.

// TypeClash is error 206: two types without a conversion.
func TypeClash(from, to string) *Error {
	return New(206, 16, "Operand type clash: %s is incompatible with %s", from, to).WithState(2)
}

// Overflow220 is error 220: an integer that does not fit a smaller integer type.
func Overflow220(to string, value int64) *Error {
	e := New(220, 16, "Arithmetic overflow error for data type %s, value = %d.", to, value)
	if to == "tinyint" {
		return e.WithState(2)
	}
	return e
}

// Overflow232 is error 232: a float that does not fit an integer type, or the length of char or
// varchar.
func Overflow232(to string, value float64) *Error {
	text := fmt.Sprintf("%f", value)
	if whole := strings.IndexByte(strings.TrimPrefix(text, "-"), '.'); whole > 17 { // 17 significant digits
		mantissa, _, _ := strings.Cut(fmt.Sprintf("%.16e", value), "e")
		text = strings.Replace(mantissa, ".", "", 1) + strings.Repeat("0", whole-17) + ".000000"
	}
	e := New(232, 16, "Arithmetic overflow error for type %s, value = %s.", to, text)
	switch to {
	case "tinyint":
		return e
	case "int":
		return e.WithState(3)
	}
	return e.WithState(2)
}

// MoneySyntax is error 235, 293 for smallmoney; to is the type's name.
func MoneySyntax(to string) *Error {
	if to == "smallmoney" {
		return New(293, 16, "Cannot convert char value to smallmoney. The char value has incorrect syntax.").WithState(0)
	}
	return New(235, 16, "Cannot convert a char value to money. The char value has incorrect syntax.").WithState(0)
}

// MoneyOverflow is error 236, 294 for smallmoney: a text with an amount out of range.
func MoneyOverflow(to string) *Error {
	number := int32(236)
	if to == "smallmoney" {
		number = 294
	}
	return New(number, 16, "The conversion from char data type to %s resulted in a %s overflow error.", to, to)
}

// RecursiveTypes is error 240.
func RecursiveTypes(column, query string) *Error {
	return New(240, 16, "Types don't match between the anchor and the recursive part in column "+
		"\"%s\" of recursive query \"%s\".", column, query)
}

// DateConversion is error 241.
func DateConversion() *Error {
	return New(241, 16, "Conversion failed when converting date and/or time from character string.")
}

// DateOutOfRange is error 242.
func DateOutOfRange(from, to string) *Error {
	return New(242, 16, "The conversion of a %s data type to a %s data type resulted in an "+
		"out-of-range value.", from, to).WithState(3)
}

// UnknownSystemType is error 243.
func UnknownSystemType(name string) *Error {
	return New(243, 16, "Type %s is not a defined system type.", name)
}

// CharOverflow is error 244: digits too large for tinyint (column "INT1") or smallint ("INT2").
func CharOverflow(from, value, column string) *Error {
	e := New(244, 16, "The conversion of the %s value '%s' overflowed an %s column. Use a larger "+
		"integer column.", from, value, column)
	if column == "INT2" {
		return e.WithState(2)
	}
	return e
}

// ConversionFailed is error 245; value is the text that could not be converted.
func ConversionFailed(from, value, to string) *Error {
	return New(245, 16, "Conversion failed when converting the %s value '%s' to data type %s.", from, value, to)
}

// IntOverflow is error 248.
func IntOverflow(from, value string) *Error {
	return New(248, 16, "The conversion of the %s value '%s' overflowed an int column.", from, value)
}

// ImplicitConversion is error 257.
func ImplicitConversion(from, to string) *Error {
	return New(257, 16, "Implicit conversion from data type %s to %s is not allowed. Use the CONVERT "+
		"function to run this query.", from, to).WithState(3)
}

// ExplicitConversion is error 529.
func ExplicitConversion(from, to string) *Error {
	return New(529, 16, "Explicit conversion from data type %s to %s is not allowed.", from, to).WithState(2)
}

// InvalidStyle is error 281.
func InvalidStyle(style int, from string) *Error {
	return New(281, 16, "%d is not a valid style number when converting from %s to a character string.", style, from)
}

// StyleNotSupported is error 9809.
func StyleNotSupported(style int, from, to string) *Error {
	return New(9809, 16, "The style %d is not supported for conversions from %s to %s.", style, from, to)
}

// LOBCompare is error 306.
func LOBCompare() *Error {
	return New(306, 16, "The text, ntext, and image data types cannot be compared or sorted, except "+
		"when using IS NULL or LIKE operator.").WithState(2)
}

// SmallDateTimeConversion is error 295.
func SmallDateTimeConversion() *Error {
	return New(295, 16, "Conversion failed when converting character string to smalldatetime data type.").WithState(3)
}

// IncompatibleTypes is error 402; operator is "add", "equal to", "greater than", "'='" and the
// like.
func IncompatibleTypes(a, b, operator string) *Error {
	return New(402, 16, "The data types %s and %s are incompatible in the %s operator.", a, b, operator)
}

// OrderByConstant is error 408; n counts from 1.
func OrderByConstant(n int) *Error {
	return New(408, 16, "A constant expression was encountered in the ORDER BY list, position %d.", n)
}

// NotDistinct is error 421.
func NotDistinct(name string) *Error {
	return New(421, 16, "The %s data type cannot be selected as DISTINCT because it is not comparable.", name)
}

// InvalidCollation is error 448.
func InvalidCollation(name string) *Error { return New(448, 16, "Invalid collation '%s'.", name) }

// CollateTwice is error 445: COLLATE of a value that has a COLLATE clause already.
func CollateTwice() *Error {
	return New(445, 16, "COLLATE clause cannot be used on expressions containing a COLLATE clause.")
}

// CollateConflict is error 449: COLLATE of a value that has a COLLATE clause with another
// collation.
func CollateConflict(a, b string) *Error {
	return New(449, 16, "Collation conflict caused by collate clauses with different collation '%s' and '%s'.", a, b)
}

// NoCollation is error 4191: the operand of a collation-sensitive operation has no collation.
// operation is "patindex", "equal to" and the like.
func NoCollation(operation string) *Error {
	return New(4191, 16, "Cannot resolve collation conflict for %s operation.", operation).WithState(9)
}

// CollationConflict is error 468; operation is "equal to", "UNION" and the like.
func CollationConflict(a, b, operation string) *Error {
	return New(468, 16, "Cannot resolve the collation conflict between \"%s\" and \"%s\" in the %s "+
		"operation.", a, b, operation).WithState(9)
}

// CollationConflictColumn is error 451; operator is "add", "UNION ALL" and the like, clause SELECT
// or ORDER BY, column counts from 1.
func CollationConflictColumn(a, b, operator, clause string, column int) *Error {
	return New(451, 16, "Cannot resolve collation conflict between \"%s\" and \"%s\" in %s operator "+
		"occurring in %s statement column %d.", a, b, operator, clause, column)
}

// InvalidCollateType is error 447.
func InvalidCollateType(name string) *Error {
	return New(447, 16, "Expression type %s is invalid for COLLATE clause.", name).WithState(0)
}

// UnresolvedVariant is error 456.
func UnresolvedVariant(from, a, b, operator string) *Error {
	return New(456, 16, "Implicit conversion of %s value to sql_variant cannot be performed because the "+
		"resulting collation is unresolved due to collation conflict between \"%s\" and \"%s\" "+
		"in %s operator.", from, a, b, operator)
}

// UnresolvedCollation is error 457.
func UnresolvedCollation(from, to, a, b, operator string) *Error {
	return New(457, 16, "Implicit conversion of %s value to %s cannot be performed because the "+
		"collation of the value is unresolved due to a collation conflict between \"%s\" and \"%s\" "+
		"in %s operator.", from, to, a, b, operator)
}

// MoneySpaceIn is error 237: a money value that does not fit int or smallmoney.
func MoneySpaceIn(to string, state uint8) *Error {
	return New(237, 16, "There is insufficient result space to convert a money value to %s.", to).WithState(state)
}

// InvalidEscape is error 506; predicate is "LIKE".
func InvalidEscape(escape, predicate string) *Error {
	return New(506, 16, "The invalid escape character \"%s\" was specified in a %s predicate.", escape, predicate).WithState(2)
}

// DateOverflow is error 517.
func DateOverflow(name string) *Error {
	return New(517, 16, "Adding a value to a '%s' column caused an overflow.", name).WithState(3)
}

// BelowMinimumDate is error 9837 of DATETRUNC; the state tells the data type.
func BelowMinimumDate(state uint8) *Error {
	return New(9837, 16, "An invalid date value was encountered: The date value is less than the minimum "+
		"date value allowed for the data type.").WithState(state)
}

// BucketOverflow is error 9835 of DATE_BUCKET; name is that of the data type.
func BucketOverflow(name string) *Error {
	return New(9835, 16, "Calculating date bucket for '%s' column caused an overflow.", name)
}

// DateDiffOverflow is error 535.
func DateDiffOverflow() *Error {
	return New(535, 16, "The datediff function resulted in an overflow. The number of dateparts "+
		"separating two date/time instances is too large. Try to use datediff with a less precise "+
		"datepart.").WithState(0)
}

// InvalidLengthOf is error 536: a negative length given to function.
func InvalidLengthOf(function string) *Error {
	return New(536, 16, "Invalid length parameter passed to the %s function.", function)
}

// InvalidSubstring is error 537: a negative length given to LEFT or SUBSTRING.
func InvalidSubstring(state uint8) *Error {
	return New(537, 16, "Invalid length parameter passed to the LEFT or SUBSTRING function.").WithState(state)
}

// InvalidTimeZone is error 9820.
func InvalidTimeZone(name string) *Error {
	return New(9820, 16, "The time zone parameter '%s' provided to AT TIME ZONE clause is invalid.", name)
}

// InvalidOffset is error 9812.
func InvalidOffset(function string) *Error {
	return New(9812, 16, "The timezone provided to builtin function %s is invalid.", function)
}

// InvalidDatePart is error 155 of the date functions.
func InvalidDatePart(part, function string) *Error {
	return New(155, 15, "'%s' is not a recognized %s option.", part, function)
}

// DatePartNotSupported is error 9810.
func DatePartNotSupported(part, function, name string) *Error {
	return New(9810, 16, "The datepart %s is not supported by date function %s for data type %s.", part, function, name)
}

// InvalidDateParts is error 289; name is "date", "datetime2" and the like.
func InvalidDateParts(name string) *Error {
	states := map[string]uint8{"date": 1, "time": 2, "datetime": 3, "smalldatetime": 4, "datetime2": 5, "datetimeoffset": 6}
	return New(289, 16, "Cannot construct data type %s, some of the arguments have values which are not valid.", name).
		WithState(states[name])
}

// ConversionError is error 8114.
func ConversionError(from, to string) *Error {
	return New(8114, 16, "Error converting data type %s to %s.", from, to).WithState(5)
}

// ArithmeticOverflow is error 8115. from is "expression" for the result of arithmetic.
func ArithmeticOverflow(from, to string) *Error {
	return New(8115, 16, "Arithmetic overflow error converting %s to data type %s.", from, to).WithState(2)
}

// IdentityOverflow is error 8115 for the identity values of a column of type to. It ends the
// batch.
func IdentityOverflow(to string) *Error { return ArithmeticOverflow("IDENTITY", to).WithState(1) }

// ArithmeticOccurred is error 3606, an informational message after [IdentityOverflow].
func ArithmeticOccurred() *Error {
	return New(3606, 0, "Arithmetic overflow occurred.").WithState(0)
}

// NoIdentityValue is error 339.
func NoIdentityValue() *Error {
	return New(339, 16, "DEFAULT or NULL are not allowed as explicit identity values.")
}

// InvalidArgumentType is error 8116; n counts from 1.
func InvalidArgumentType(name string, n int, function string) *Error {
	return New(8116, 16, "Argument data type %s is invalid for argument %d of %s function.", name, n, function)
}

// InvalidOperandType is error 8117; operator is "add", "sum", "minus" and the like.
func InvalidOperandType(name, operator string) *Error {
	return New(8117, 16, "Operand data type %s is invalid for %s operator.", name, operator)
}

// InvalidCaseNulls is error 8133.
func InvalidCaseNulls() *Error {
	return New(8133, 16, "At least one of the result expressions in a CASE specification must be an "+
		"expression other than the NULL constant.")
}

// DivideByZero is error 8134.
func DivideByZero() *Error { return New(8134, 16, "Divide by zero error encountered.") }

// Truncated is error 8152, for places without a column name.
func Truncated() *Error {
	return New(8152, 16, "String or binary data would be truncated.").WithState(30)
}

// TruncatedColumn is error 2628; table is its three-part name, value the part that fits.
func TruncatedColumn(table, column, value string) *Error {
	return New(2628, 16, "String or binary data would be truncated in table '%s', column '%s'. "+
		"Truncated value: '%s'.", table, column, value)
}

// GUIDConversion is error 8169.
func GUIDConversion() *Error {
	return New(8169, 16, "Conversion failed when converting from a character string to uniqueidentifier.").WithState(2)
}

// GUIDSpace is error 8170.
func GUIDSpace() *Error {
	return New(8170, 16, "Insufficient result space to convert uniqueidentifier value to char.").WithState(2)
}

// MoneySpace is error 234, 292 for smallmoney: a value does not fit the character type to.
func MoneySpace(from, to string) *Error {
	number := int32(234)
	if from == "smallmoney" {
		number = 292
	}
	return New(number, 16, "There is insufficient result space to convert a %s value to %s.", from, to).WithState(2)
}

// CoalesceNulls is error 4127.
func CoalesceNulls() *Error {
	return New(4127, 16, "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.")
}

// NullIfNull is error 4151.
func NullIfNull() *Error {
	return New(4151, 16, "The type of the first argument to NULLIF cannot be the NULL constant "+
		"because the type of the first argument has to be known.")
}

// InvalidFloatOperation is error 3623: a domain error of a mathematical function.
func InvalidFloatOperation() *Error {
	return New(3623, 16, "An invalid floating point operation occurred.")
}

// AggregateStrings is error 9829: the result of STRING_AGG or STRING_ESCAPE exceeds 8000 bytes.
func AggregateStrings(function string) *Error {
	return New(9829, 16, "%s aggregation result exceeded the limit of 8000 bytes. Use LOB types to "+
		"avoid result truncation.", function)
}

// TranslateLengths is error 9828.
func TranslateLengths(unicode bool) *Error {
	e := New(9828, 16, "The second and third arguments of the TRANSLATE built-in function must "+
		"contain an equal number of characters.")
	if unicode {
		return e.WithState(3)
	}
	return e
}

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
func JSONPath(character string, position int) *Error {
	return New(13607, 16, "JSON path is not properly formatted. Unexpected character '%s' is found "+
		"at position %d.", character, position).WithState(4)
}

// JSONProperty is error 13608: a strict path names a property that the text does not have.
func JSONProperty() *Error {
	return New(13608, 16, "Property cannot be found on the specified JSON path.").WithState(2)
}

// JSONText is error 13609; position counts UTF-16 units from 0.
func JSONText(character string, position int) *Error {
	return New(13609, 16, "JSON text is not properly formatted. Unexpected character '%s' is found "+
		"at position %d.", character, position).WithState(4)
}

// JSONScalar is error 13623: a strict path of JSON_VALUE ends at an object, array or too long
// value.
func JSONScalar() *Error {
	return New(13623, 16, "Scalar value cannot be found in the specified JSON path.").WithState(2)
}

// JSONObject is error 13624: a strict path of JSON_QUERY ends at a scalar.
func JSONObject() *Error {
	return New(13624, 16, "Object or array cannot be found in the specified JSON path.").WithState(2)
}

// JSONTruncated is error 13625: a strict path of JSON_VALUE ends at a text over 4000 characters.
func JSONTruncated() *Error {
	return New(13625, 16, "String value in the specified JSON path would be truncated.")
}

// JSONUnnamed is error 13605.
func JSONUnnamed() *Error {
	return New(13605, 16, "Column expressions and data sources without names or aliases cannot be "+
		"formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table.")
}

// JSONConflict is error 13601.
func JSONConflict(property string) *Error {
	return New(13601, 16, "Property '%s' cannot be generated in JSON output due to a conflict with "+
		"another column name or alias. Use different names and aliases for each column in SELECT "+
		"list.", property)
}

// JSONNeedsTable is error 13600: FOR JSON AUTO without a FROM clause.
func JSONNeedsTable() *Error {
	return New(13600, 16, "FOR JSON AUTO requires at least one table for generating JSON objects. "+
		"Use FOR JSON PATH or add a FROM clause with a table name.")
}

// JSONAsJSON is error 13618.
func JSONAsJSON() *Error {
	return New(13618, 16, "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.")
}

// XMLCompare is error 305.
func XMLCompare() *Error {
	return New(305, 16, "The XML data type cannot be compared or sorted, except when using the IS NULL operator.")
}

// BeforeHijri is error 9814.
func BeforeHijri() *Error {
	return New(9814, 16, "The date provided is before the start of the Hijri calendar which in "+
		"Microsoft's 'Kuwaiti Algorithm' is July 15th, 622 C.E. (Julian calendar) or July 18th, 622 "+
		"C.E (proleptic Gregorian calendar).")
}

// UnknownCulture is error 9818.
func UnknownCulture(culture string) *Error {
	return New(9818, 16, "The culture parameter '%s' provided in the function call is not supported.", culture)
}
