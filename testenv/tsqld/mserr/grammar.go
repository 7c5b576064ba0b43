package mserr

import "strings"

// Errors in the text of a batch, mostly of severity 15.

// Syntax is error 102: token is unexpected.
func Syntax(token string) *Error { return Of(102, token) }

// SyntaxKeyword is error 156, 102 where the token is a reserved keyword.
func SyntaxKeyword(keyword string) *Error { return Of(156, keyword) }

// SyntaxWith is error 319: WITH follows a statement that is not terminated.
func SyntaxWith() *Error { return Of(319) }

// TooManyTables is error 106; most is the maximum number of tables of a query.
func TooManyTables(most int) *Error { return Of(106, most) }

// UnclosedQuote is error 105; text is the text after the quotation mark.
func UnclosedQuote(text string) *Error { return Of(105, text) }

// UnclosedComment is error 113.
func UnclosedComment() *Error { return Of(113) }

// IdentifierTooLong is error 103; start is the beginning of the identifier.
func IdentifierTooLong(start string, maximum int) *Error { return Of(103, start, maximum) }

// OrderByNotInSetList is error 104: ORDER BY of a set operation names a column that is not in its
// select list.
func OrderByNotInSetList() *Error { return Of(104) }

// TooManyGroupingSets is error 10703; most is the maximum number.
func TooManyGroupingSets(most int) *Error { return Of(10703, most) }

// TooManyGroupingExpressions is error 10706; most is the maximum number.
func TooManyGroupingExpressions(most int) *Error { return Of(10706, most) }

// TooManyElements is error 1056; most is the maximum number of columns of a select list.
func TooManyElements(most int) *Error { return Of(1056, most) }

// OrderByPosition is error 108: an ordinal in ORDER BY outside the select list.
func OrderByPosition(n int64) *Error { return Of(108, n) }

// MoreInsertColumns is error 109: INSERT names more columns than VALUES has values.
func MoreInsertColumns() *Error { return Of(109) }

// FewerInsertColumns is error 110: INSERT names fewer columns than VALUES has values.
func FewerInsertColumns() *Error { return Of(110) }

// NotFirstInBatch is error 111; statement is its name in capitals, such as "CREATE PROCEDURE".
func NotFirstInBatch(statement string) *Error {
	return Of(111, statement).stateIf(statement == "CREATE TRIGGER", 6)
}

// SubqueryColumns is error 116: a scalar subquery with several columns.
func SubqueryColumns() *Error { return Of(116) }

// TooManyNameParts is error 117; kind is "object", "column" and the like.
func TooManyNameParts(kind, name string, maximum int) *Error {
	return Of(117, kind, name, maximum)
}

// NamedThenPositional is error 119: an unnamed argument after a named one; n counts arguments from
// 1.
func NamedThenPositional(n int) *Error { return Of(119, n) }

// SelectFewerThanInsert is error 120.
func SelectFewerThanInsert() *Error { return Of(120) }

// SelectMoreThanInsert is error 121.
func SelectMoreThanInsert() *Error { return Of(121) }

// NotAllowedHere is error 128: a column where only constants and variables are allowed.
func NotAllowedHere(name string) *Error { return Of(128, name) }

// AggregateInAggregate is error 130.
func AggregateInAggregate() *Error { return Of(130) }

// SizeExceedsMaximum is error 131.
func SizeExceedsMaximum(size int, name string, maximum int) *Error {
	return Of(131, size, name, maximum)
}

// DuplicateLabel is error 132.
func DuplicateLabel(label string) *Error { return Of(132, label) }

// UnknownLabel is error 133.
func UnknownLabel(label string) *Error { return Of(133, label) }

// DuplicateVariable is error 134; name includes the @.
func DuplicateVariable(name string) *Error { return Of(134, name) }

// BreakOutsideWhile is error 135.
func BreakOutsideWhile() *Error { return Of(135) }

// ContinueOutsideWhile is error 136.
func ContinueOutsideWhile() *Error { return Of(136) }

// UndeclaredVariable is error 137 for a variable that gets a value; name includes the @.
func UndeclaredVariable(name string) *Error { return Of(137, name) }

// UndeclaredOperand is error 137 for a variable in an expression; name includes the @.
func UndeclaredOperand(name string) *Error { return UndeclaredVariable(name).WithState(2) }

// UndeclaredTableVariable is error 1087; name includes the @.
func UndeclaredTableVariable(name string) *Error { return Of(1087, name) }

// AssignAndRetrieve is error 141.
func AssignAndRetrieve() *Error { return Of(141) }

// AggregateInGroupBy is error 144.
func AggregateInGroupBy() *Error { return Of(144) }

// OrderByDistinct is error 145.
func OrderByDistinct() *Error { return Of(145) }

// AggregateInWhere is error 147.
func AggregateInWhere() *Error { return Of(147) }

// AggregateInApply is error 4101.
func AggregateInApply() *Error { return Of(4101) }

// BadWaitForTime is error 148.
func BadWaitForTime(text string) *Error { return Of(148, text) }

// WaitForType is error 9815; name is the type of a variable of WAITFOR.
func WaitForType(name string) *Error { return Of(9815, name) }

// UnknownOption is error 155; kind names the family: "SET", "CURSOR", "datepart"...
func UnknownOption(option, kind string) *Error { return Of(155, option, kind) }

// AggregateInSet is error 157.
func AggregateInSet() *Error { return Of(157) }

// AggregateInOutput is error 158.
func AggregateInOutput() *Error { return Of(158) }

// GroupByConstant is error 164.
func GroupByConstant() *Error { return Of(164) }

// DatabaseNotAllowed is error 166: a statement whose object may not have a database prefix. The
// statements that create modules are named with ALTER.
func DatabaseNotAllowed(statement string) *Error {
	switch verb, kind, _ := strings.Cut(statement, " "); kind {
	case "VIEW", "FUNCTION", "PROCEDURE", "TRIGGER":
		if verb != "DROP" {
			statement = "CREATE/ALTER " + kind
		}
	}
	return Of(166, statement)
}

// DuplicateOrderBy is error 169.
func DuplicateOrderBy() *Error { return Of(169) }

// ArgumentCount is error 174: function requires exactly n arguments.
func ArgumentCount(function string, n int) *Error { return Of(174, function, n) }

// ReturnWithValue is error 178.
func ReturnWithValue() *Error { return Of(178) }

// OutputOfConstant is error 179.
func OutputOfConstant() *Error { return Of(179) }

// OutputNotDeclared is error 181.
func OutputNotDeclared() *Error { return Of(181) }

// ArgumentRange is error 189: function requires minimum to maximum arguments.
func ArgumentRange(function string, minimum, maximum int) *Error {
	return Of(189, function, minimum, maximum)
}

// NestedTooDeeply is error 191: the limit of the parser's recursion.
func NestedTooDeeply() *Error { return Of(191) }

// UnknownTableHint is error 321.
func UnknownTableHint(name string) *Error { return Of(321, name) }

// UnlockedTarget is error 1065.
func UnlockedTarget() *Error { return Of(1065) }

// NotRecognized is error 195; kind is "built-in function name", "function name" and the like.
func NotRecognized(name, kind string) *Error { return Of(195, name, kind) }

// InsertAssigns is error 199.
func InsertAssigns() *Error { return Of(199) }

// SetOperationCount is error 205.
func SetOperationCount() *Error { return Of(205) }

// InvalidLength is error 1001: a length or precision of a type below 1.
func InvalidLength(n int) *Error { return Of(1001, n) }

// InvalidScale is error 1002.
func InvalidScale(n int) *Error { return Of(1002, n) }

// NumberOutOfRange is error 1007: a decimal literal of more than 38 digits.
func NumberOutOfRange(text string) *Error { return Of(1007, text) }

// DuplicateCorrelation is error 1011.
func DuplicateCorrelation(name string) *Error { return Of(1011, name) }

// SameExposedNames is error 1013.
func SameExposedNames(a, b string) *Error { return Of(1013, a, b) }

// InvalidTopValue is error 1014.
func InvalidTopValue() *Error { return Of(1014) }

// AggregateInOn is error 1015.
func AggregateInOn() *Error { return Of(1015) }

// InvalidParameter is error 1023: a keyword argument (a datepart) that the function does not know;
// n counts from 1.
func InvalidParameter(n int, function string) *Error { return Of(1023, n, function) }

// OrderByWithoutTop is error 1033.
func OrderByWithoutTop() *Error { return Of(1033) }

// MissingName is error 1038.
func MissingName() *Error { return Of(1038) }

// SubqueryNotAllowed is error 1046.
func SubqueryNotAllowed() *Error { return Of(1046) }

// TopNotInteger is error 1060.
func TopNotInteger() *Error { return Of(1060) }

// NonBoolean is error 4145; token is what follows the expression.
func NonBoolean(token string) *Error { return Of(4145, token) }

// ThrowOutsideCatch is error 10704.
func ThrowOutsideCatch() *Error { return Of(10704) }

// RowConstructorCount is error 10709.
func RowConstructorCount() *Error { return Of(10709) }

// MergeSemicolon is error 10713.
func MergeSemicolon() *Error { return Of(10713) }

// ConditionAfterMergeClause is error 5324; clause is such as WHEN MATCHED.
func ConditionAfterMergeClause(clause string) *Error { return Of(5324, clause, clause) }

// RepeatedMergeAction is error 10714. SQL Server's text has the clause, such as WHEN MATCHED, where
// it says action, and the action, such as UPDATE, where it says clause.
func RepeatedMergeAction(clause, action string) *Error { return Of(10714, clause, action) }

// TooManyRowValues is error 10738.
func TooManyRowValues(maximum int) *Error { return Of(10738, maximum) }

// NegativeOffset is error 10742.
func NegativeOffset() *Error { return Of(10742) }

// NonPositiveFetch is error 10744.
func NonPositiveFetch() *Error { return Of(10744) }

// OverRequired is error 10753: a window function without OVER.
func OverRequired(function string) *Error { return Of(10753, function) }

// OverOrderRequired is error 4112: a window function whose OVER lacks ORDER BY.
func OverOrderRequired(function string) *Error { return Of(4112, function) }

// SeparatorNotConstant is error 8733.
func SeparatorNotConstant() *Error { return Of(8733) }

// NotWindowFunction is error 4113: OVER after a function that does not accept it.
func NotWindowFunction(function string) *Error { return Of(4113, function) }

// WindowPlace is error 4108.
func WindowPlace() *Error { return Of(4108) }

// WindowInWindow is error 4109.
func WindowInWindow() *Error { return Of(4109) }

// OffsetWithTop is error 10741.
func OffsetWithTop() *Error { return Of(10741) }

// NegativeTop is error 127.
func NegativeTop() *Error { return Of(127) }

// SelectIntoAssigns is error 194.
func SelectIntoAssigns() *Error { return Of(194) }

// SelectIntoPlace is error 196.
func SelectIntoPlace() *Error { return Of(196) }

// DuplicateCTE is error 239.
func DuplicateCTE(name string) *Error { return Of(239, name) }

// NoAnchor is error 246.
func NoAnchor(query string) *Error { return Of(246, query) }

// RecursiveUnionAll is error 252.
func RecursiveUnionAll(query string) *Error { return Of(252, query) }

// RecursiveTwice is error 253.
func RecursiveTwice(query string) *Error { return Of(253, query) }

// RecursiveDistinct is error 460.
func RecursiveDistinct(query string) *Error { return Of(460, query) }

// RecursiveTop is error 461.
func RecursiveTop(query string) *Error { return Of(461, query) }

// RecursiveOuterJoin is error 462.
func RecursiveOuterJoin(query string) *Error { return Of(462, query) }

// RecursiveGroupBy is error 467.
func RecursiveGroupBy(query string) *Error { return Of(467, query) }

// NotAFunction is error 215: arguments after the name of a table.
func NotAFunction(name string) *Error { return Of(215, name) }

// NoFunctionArguments is error 216: a table-valued function without parentheses.
func NoFunctionArguments(name string) *Error { return Of(216, name) }

// SelectInFunction is error 444.
func SelectInFunction() *Error { return Of(444) }

// FunctionWithoutReturn is error 455.
func FunctionWithoutReturn() *Error { return Of(455) }

// OutputInInsertExec is error 483.
func OutputInInsertExec() *Error { return Of(483) }

// InvalidRowCount is error 507.
func InvalidRowCount() *Error { return Of(507) }

// ShowPlanNotAlone is error 1067.
func ShowPlanNotAlone() *Error { return Of(1067) }
